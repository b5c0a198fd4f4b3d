/* SPDX-License-Identifier: MIT */
/* Sums per stack in an array by stack id, then the largest by insertion. */
#include "verbs/plots/segments/holders.h"

#include <string.h>

#include "support/mem.h"

#include "draw/stack_colors.h"

static void insert(struct mt_holders *h, struct mt_holder row)
{
    size_t at = h->n;
    while (at > 0 && h->top[at - 1].bytes < row.bytes) {
        at--;
    }
    if (at >= MT_HOLDERS) {
        return;
    }
    size_t kept = h->n < MT_HOLDERS ? h->n : MT_HOLDERS - 1;
    memmove(h->top + at + 1, h->top + at, (kept - at) * sizeof *h->top);
    h->top[at] = row;
    h->n = kept + 1;
}

static bool choose_colors(struct mt_holders *h, const struct mt_snapshot *s,
                          const struct mt_theme *theme, const struct mt_timeline *look)
{
    uint32_t stacks[MT_HOLDERS] = {0};
    struct mt_stack_colors c = {.taken = 0};
    for (size_t i = 0; i < h->n; i++) {
        stacks[i] = h->top[i].stack;
    }
    if (look) {
        mt_stack_colors_add_bands(&c, s, look);
    }
    mt_stack_colors_add(&c, s, stacks, h->n);
    for (size_t i = 0; i < h->n; i++) {
        const struct mt_stack_color *color = mt_stack_colors_find(&c, s, stacks[i]);
        h->colors[i] = color ? mt_stack_color_of(theme, color) : theme->older;
    }
    mt_vec_release(&c.list);
    return !c.failed;
}

/* What would be 0.0 % is no row of its own. */
static void fold_small(struct mt_holders *h)
{
    enum { LEAST_SHARE = 2000 };
    while (h->n > 1 && h->top[h->n - 1].bytes < h->others.bytes / LEAST_SHARE) {
        h->n--;
    }
}

/* Picks the largest of n sums; the rest are others. */
static void pick(struct mt_holders *h, struct mt_holder *sums, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sums[i].stack = (uint32_t)i;
        if (sums[i].bytes) {
            h->n_others++;
            h->others.bytes += sums[i].bytes;
            h->others.count += sums[i].count;
            insert(h, sums[i]);
        }
    }
    fold_small(h);
    for (size_t i = 0; i < h->n; i++) {
        h->n_others--;
        h->others.bytes -= h->top[i].bytes;
        h->others.count -= h->top[i].count;
    }
}

/* Without a size that was asked for it is the block's. */
static uint64_t asked_for(const struct mt_block *b)
{
    return b->requested > 0 && b->requested < b->size ? b->requested : b->size;
}

bool mt_holders_find(struct mt_holders *h, const struct mt_snapshot *s, const struct mt_state *st,
                     const struct mt_theme *theme, const struct mt_timeline *look)
{
    size_t n = s->n_stacks ? s->n_stacks : 1;
    struct mt_holder *sums = mt_mem_zalloc(n, sizeof *sums);
    *h = (struct mt_holders){.n = 0};
    if (!sums) {
        return false;
    }
    for (size_t i = 0; i < st->n_blocks; i++) {
        const struct mt_block *b = &st->blocks[i];
        if (b->state != MT_BLOCK_INACTIVE && b->stack < n) {
            uint64_t asked = asked_for(b);
            sums[b->stack].bytes += asked;
            sums[b->stack].count++;
            h->rounding += b->size - asked;
        }
    }
    pick(h, sums, n);
    mt_mem_free(sums);
    return choose_colors(h, s, theme, look);
}

size_t mt_holders_index(const struct mt_holders *h, uint32_t stack)
{
    size_t i = 0;
    while (i < h->n && h->top[i].stack != stack) {
        i++;
    }
    return i;
}

uint32_t mt_holders_color(const struct mt_holders *h, const struct mt_theme *theme, uint32_t stack)
{
    size_t i = mt_holders_index(h, stack);
    return i < h->n ? h->colors[i] : theme->older;
}
