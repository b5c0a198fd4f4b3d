/* SPDX-License-Identifier: MIT */
/*
 * The first timeline gives each stack a hue and lets neighbours take turns in lightness. Stacks
 * that come later take what is left of hues and lightnesses, starting at the hue of their own hash.
 */
#include "draw/stack_colors.h"
#include "support/compiler.h"

#define MOST_BANDS 66 /* of a timeline: 64 stacks, the older and the others */
#define ALL_TAKEN ((1u << 2 * MT_HUES) - 1)

/* Indexes of the bands that are stacks, the largest first. */
static size_t by_size(const struct mt_timeline *t, size_t *order)
{
    size_t n = 0;
    for (size_t i = 0; i < t->bands.n && i < MOST_BANDS; i++) {
        if (t->bands.v[i].stack >= MT_BAND_OLDER) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && t->bands.v[order[at - 1]].at_peak < t->bands.v[i].at_peak; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return n;
}

static void put(struct mt_stack_colors *c, uint64_t key, unsigned slot)
{
    c->taken |= 1u << slot;
    c->failed |= !mt_vec_push(&c->list, ((struct mt_stack_color){key, slot}));
}

void mt_stack_colors_add_bands(struct mt_stack_colors *c, const struct mt_snapshot *s,
                               const struct mt_timeline *t)
{
    uint32_t stacks[MOST_BANDS] = {0};
    uint8_t hues[MOST_BANDS] = {0};
    size_t order[MOST_BANDS], n = by_size(t, order);
    for (size_t i = 0; i < n; i++) {
        stacks[i] = t->bands.v[order[i]].stack;
    }
    if (c->list.n > 0) {
        mt_stack_colors_add(c, s, stacks, n);
        return;
    }
    mt_palette_hues(s, stacks, n, hues);
    for (size_t i = 0; i < n; i++) {
        put(c, mt_stack_hue_hash(s, stacks[i]), hues[i] * 2u + (order[i] % 2 != 0));
    }
}

/* The slots of those stacks that have a colour. */
static unsigned slots_of(const struct mt_stack_colors *c, const struct mt_snapshot *s,
                         const uint32_t *stacks, size_t n)
{
    unsigned slots = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_stack_color *has = mt_stack_colors_find(c, s, stacks[i]);
        slots |= has ? 1u << has->slot : 0;
    }
    return slots;
}

/* The nearest slot that is free, from that of the hash on; some bit of `used` is clear. */
static unsigned free_slot(uint64_t hash, unsigned pale, unsigned used)
{
    unsigned hue = (unsigned)(hash % MT_HUES);
    while (used & (1u << (hue * 2 + pale))) {
        pale ^= 1;
        if (used & (1u << (hue * 2 + pale))) {
            hue = (hue + 1) % MT_HUES;
        }
    }
    return hue * 2 + pale;
}

void mt_stack_colors_add(struct mt_stack_colors *c, const struct mt_snapshot *s,
                         const uint32_t *stacks, size_t n)
{
    unsigned here = slots_of(c, s, stacks, n);
    for (size_t i = 0; i < n; i++) {
        if (mt_stack_colors_find(c, s, stacks[i])) {
            continue;
        }
        here = here == ALL_TAKEN ? 0 : here;
        c->taken = (c->taken | here) == ALL_TAKEN ? 0 : c->taken;
        uint64_t hash = mt_stack_hue_hash(s, stacks[i]);
        unsigned slot = free_slot(hash, i % 2, c->taken | here);
        here |= 1u << slot;
        put(c, hash, slot);
    }
}

void mt_stack_colors_share(struct mt_stack_colors *c, const struct mt_snapshot *s, uint32_t stack,
                           unsigned slot)
{
    put(c, mt_stack_hue_hash(s, stack), slot);
}

const struct mt_stack_color *mt_stack_colors_find(const struct mt_stack_colors *c,
                                                  const struct mt_snapshot *s, uint32_t stack)
{
    uint64_t key = c->list.n ? mt_stack_hue_hash(s, stack) : 0;
    for (size_t i = 0; i < c->list.n; i++) {
        if (c->list.v[i].key == key) {
            return &c->list.v[i];
        }
    }
    return NULL;
}

uint32_t mt_stack_color_of(const struct mt_theme *theme, const struct mt_stack_color *color)
{
    return mt_palette_color(theme, (uint8_t)(color->slot / 2), color->slot % 2 != 0);
}
