/* SPDX-License-Identifier: MIT */
/*
 * Two tiers of ten hues. They were found by a search in OKLab for the largest smallest distance
 * between any two of a tier, seen with normal sight and through the matrices of Machado, Oliveira
 * and Fernandes (2009) for protanopia, deuteranopia and tritanopia. tests/unit/test_palette.c holds
 * the distances.
 */
#include "draw/palette.h"
#include "support/compiler.h"
#include "support/hash.h"

#define TIERS                                                                                      \
    .deep = {0x587dd4ff, 0xca671aff, 0x00a59cff, 0x7e5c91ff, 0x639f70ff,                           \
             0x9a914dff, 0xab3d70ff, 0x0186b0ff, 0x5f5ebeff, 0x668a08ff},                          \
    .pale = {0x92cdffff, 0xe19956ff, 0x72e7c2ff, 0xe8b2e5ff, 0x9cb485ff,                           \
             0xc7c18cff, 0xcf9ab1ff, 0x77b5cbff, 0xa4aeffff, 0xc3da7eff}

static const struct mt_theme THEMES[] = {
    [MT_THEME_LIGHT] = {.background = 0xffffffff,
                        .panel = 0xf8f9fbff,
                        .text = 0x1b2330ff,
                        .muted = 0x5b6675ff,
                        .faint = 0x818b99ff,
                        .grid = 0xe3e7edff,
                        .frame = 0xb9c1ccff,
                        .older = 0xa9b1bdff,
                        .others = 0xc6ccd5ff,
                        .free = 0xffffffff,
                        .empty = 0xdceaf6ff,
                        .gap = 0xeceff3ff,
                        .line = 0x2a3342ff,
                        .trouble = 0xc8102eff,
                        .good = 0x1f77b4ff,
                        .rounding = 0x6d0f1fff,
                        TIERS},
    [MT_THEME_DARK] = {.background = 0x14181fff,
                       .panel = 0x1a1f28ff,
                       .text = 0xe9edf3ff,
                       .muted = 0xa3adbbff,
                       .faint = 0x76818fff,
                       .grid = 0x2a313cff,
                       .frame = 0x4a5462ff,
                       .older = 0x5a6370ff,
                       .others = 0x434b57ff,
                       .free = 0x0f1218ff,
                       .empty = 0x1c2c3dff,
                       .gap = 0x232a34ff,
                       .line = 0xf2f5f9ff,
                       .trouble = 0xff5d6cff,
                       .good = 0x6cb6ffff,
                       .rounding = 0xffb9bfff,
                       TIERS},
};

const struct mt_theme *mt_theme_get(enum mt_theme_name name)
{
    return &THEMES[name == MT_THEME_DARK ? MT_THEME_DARK : MT_THEME_LIGHT];
}

uint64_t mt_stack_hue_hash(const struct mt_snapshot *s, uint32_t stack)
{
    uint64_t h = 0x6d656d; /* fixed: the seed of the run must not change colours */
    if (stack == 0 || stack >= s->n_stacks) {
        return h;
    }
    const struct mt_stack *k = &s->stacks[stack];
    for (uint32_t i = 0; i < k->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[k->first + i]];
        struct mt_str name = mt_snapshot_str(s, f->name);
        struct mt_str file = mt_str_basename(mt_snapshot_str(s, f->filename));
        h = mt_hash_bytes(name.p, name.n, h);
        h = mt_hash_bytes(file.p, file.n, h);
        h = mt_hash_mix(h, (uint64_t)(int64_t)f->line);
    }
    return h;
}

void mt_palette_hues(const struct mt_snapshot *s, const uint32_t *stacks, size_t n, uint8_t *hues)
{
    unsigned taken = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned hue = (unsigned)(mt_stack_hue_hash(s, stacks[i]) % MT_HUES);
        if (taken == (1u << MT_HUES) - 1) {
            taken = 0; /* a second round */
        }
        while (taken & (1u << hue)) {
            hue = (hue + 1) % MT_HUES;
        }
        taken |= 1u << hue;
        hues[i] = (uint8_t)hue;
    }
}

uint32_t mt_palette_color(const struct mt_theme *t, uint8_t hue, bool pale)
{
    return pale ? t->pale[hue % MT_HUES] : t->deep[hue % MT_HUES];
}

uint32_t mt_palette_ink(uint32_t background)
{
    /* Weights of ITU-R BT.601; the threshold keeps black on all pale colours. */
    unsigned r = background >> 24, g = background >> 16 & 255, b = background >> 8 & 255;
    return (299 * r + 587 * g + 114 * b) / 1000 > 128 ? 0x10161fff : 0xffffffff;
}
