/* SPDX-License-Identifier: MIT */
/*
 * The first timeline gives each stack a hue and lets neighbours take turns in lightness. Stacks
 * that come later take what is left of hues and lightnesses, starting at the hue of their own hash.
 */
#include "stack_colors.h"

#include <memtool/compiler.h>

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

static void put(struct mt_stack_colors *c, const struct mt_theme *theme, uint32_t stack,
                unsigned hue, bool pale)
{
    c->taken |= 1u << (hue * 2 + pale);
    c->stacks[c->n] = stack;
    c->colors[c->n++] = mt_palette_color(theme, (uint8_t)hue, pale);
}

void mt_stack_colors_add_bands(struct mt_stack_colors *c, const struct mt_theme *theme,
                               const struct mt_snapshot *s, const struct mt_timeline *t)
{
    uint32_t stacks[MOST_BANDS] = {0};
    uint8_t hues[MOST_BANDS] = {0};
    size_t order[MOST_BANDS], n = by_size(t, order);
    for (size_t i = 0; i < n; i++) {
        stacks[i] = t->bands.v[order[i]].stack;
    }
    if (c->n > 0) {
        mt_stack_colors_add(c, theme, s, stacks, n);
        return;
    }
    mt_palette_hues(s, stacks, n, hues);
    for (size_t i = 0; i < n; i++) {
        put(c, theme, stacks[i], hues[i], order[i] % 2 != 0);
    }
}

void mt_stack_colors_add(struct mt_stack_colors *c, const struct mt_theme *theme,
                         const struct mt_snapshot *s, const uint32_t *stacks, size_t n)
{
    for (size_t i = 0; i < n && c->n < MT_STACK_COLORS; i++) {
        if (mt_stack_colors_find(c, stacks[i], 0)) { /* no colour is 0: all are opaque */
            continue;
        }
        unsigned hue = (unsigned)(mt_stack_hue_hash(s, stacks[i]) % MT_HUES), pale = i % 2;
        c->taken = c->taken == ALL_TAKEN ? 0 : c->taken;
        while (c->taken & (1u << (hue * 2 + pale))) {
            pale ^= 1;
            if (c->taken & (1u << (hue * 2 + pale))) {
                hue = (hue + 1) % MT_HUES;
            }
        }
        put(c, theme, stacks[i], hue, pale);
    }
}

uint32_t mt_stack_colors_find(const struct mt_stack_colors *c, uint32_t stack, uint32_t other)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->stacks[i] == stack) {
            return c->colors[i];
        }
    }
    return other;
}
