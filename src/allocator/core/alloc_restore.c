/* SPDX-License-Identifier: MIT */
/*
 * Putting a known state in place: segments with their blocks, as a recording that begins in the
 * middle found them. Everything is checked before anything is changed.
 */
#include "allocator/core/alloc_blocks.h"

#define SIZE_BOUND ((uint64_t)1 << 60)

/* Two free neighbours would have merged, two holes too. */
static bool touch(const struct mt_alloc_restore_block *x, const struct mt_alloc_restore_block *y)
{
    bool idle = x->state == MT_ALLOC_FREE && y->state == MT_ALLOC_FREE;
    return (!x->mapped && !y->mapped) || (x->mapped && y->mapped && idle);
}

/* Pages are mapped as a whole: runs begin and end at their borders. */
static bool at_page(const struct mt_alloc_restore_segment *s, size_t i, uint64_t offset,
                    uint64_t page)
{
    bool border = i == 0 || i == s->n_blocks || s->blocks[i].mapped != s->blocks[i - 1].mapped;
    return !s->expandable || !border || offset % page == 0;
}

static bool is_sound(const struct mt_alloc_restore_segment *s, uint64_t page)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct mt_alloc_restore_block *b = &s->blocks[i];
        if (b->size == 0 || b->size > SIZE_BOUND || sum > SIZE_BOUND ||
            (!b->mapped && (!s->expandable || b->state != MT_ALLOC_FREE)) ||
            (i > 0 && touch(b - 1, b)) || !at_page(s, i, sum, page)) {
            return false;
        }
        sum += b->size;
    }
    return s->n_blocks > 0 && sum == s->size && s->addr <= UINT64_MAX - sum &&
           at_page(s, s->n_blocks, sum, page);
}

static void count_segment(struct mt_alloc *a, const struct mt_alloc_restore_segment *s,
                          const struct bin *bin)
{
    a->pairs.v[bin->pair].segments++;
    if (!s->expandable) {
        mt_counts_rise(&a->counts, bin->tally, MT_STAT_SEGMENT, 1);
        if (s->size >= a->rules.settings.max_split_size) {
            stat_up(&a->stats.oversize_segments, 1);
        }
    }
}

static void count_block(struct mt_alloc *a, const struct block *b, struct tally *t)
{
    if (b->state == BLOCK_HOLE) {
        return;
    }
    a->total += b->size;
    mt_counts_rise(&a->counts, t, MT_STAT_RESERVED_BYTES, b->size);
    if (b->state == BLOCK_FREE) {
        if (!b->expandable && is_split(b)) {
            count_split_up(&a->counts, t, 1, b->size);
        }
    } else if (b->state == BLOCK_PENDING) {
        mt_counts_add_pending(&a->counts, t, b->size, b->requested);
    } else {
        count_taken(&a->counts, t, b->size, b->requested);
        if (b->size >= a->rules.settings.max_split_size) {
            stat_up(&a->stats.oversize_allocations, 1);
        }
    }
}

static uint8_t own_state(const struct mt_alloc_restore_block *b)
{
    if (!b->mapped) {
        return BLOCK_HOLE;
    }
    return b->state == MT_ALLOC_FREE     ? BLOCK_FREE
           : b->state == MT_ALLOC_IN_USE ? BLOCK_IN_USE
                                         : BLOCK_PENDING;
}

/* Chains the blocks; the last one made is at the highest address. */
static void lay_blocks(struct mt_alloc *a, const struct mt_alloc_restore_segment *s,
                       uint32_t segment, uint32_t bin)
{
    uint64_t addr = s->addr;
    uint32_t prev = 0;
    for (size_t k = 0; k < s->n_blocks; k++) {
        uint32_t i = mt_block_take(a);
        struct block *b = block_at(a, i);
        b->addr = addr;
        b->size = s->blocks[k].size;
        b->requested = s->blocks[k].requested;
        b->stack = s->blocks[k].stack;
        b->bin = bin;
        b->segment = segment;
        b->expandable = s->expandable;
        b->prev = prev;
        b->state = own_state(&s->blocks[k]);
        *(prev ? &block_at(a, prev)->next : &a->segments.v[segment].first) = i;
        prev = i;
        addr += b->size;
    }
}

/* Once all are linked: sets, counters, handles. */
static void enter_blocks(struct mt_alloc *a, const struct mt_alloc_restore_segment *s,
                         uint32_t segment, mt_alloc_block *out)
{
    uint32_t i = a->segments.v[segment].first;
    for (size_t k = 0; k < s->n_blocks; k++, i = block_at(a, i)->next) {
        const struct block *b = block_at(a, i);
        count_block(a, b, bin_of(a, b)->tally);
        if (b->state == BLOCK_FREE) {
            mt_free_set_insert(a, bin_of(a, b), i);
        } else if (b->state == BLOCK_HOLE) {
            mt_holes_insert(a, i);
        }
        if (b->state == BLOCK_PENDING) {
            mt_block_make_pending(a, i);
        }
        if (out) {
            out[k].i = b->state == BLOCK_IN_USE || b->state == BLOCK_PENDING ? i : 0;
        }
    }
}

enum mt_status mt_alloc_restore(struct mt_alloc *a, const struct mt_alloc_restore_segment *s,
                                mt_alloc_block *blocks_out, struct mt_error *err)
{
    if (!is_sound(s, mt_torch_page_size(&a->rules, s->small))) {
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                       "the blocks of the segment at 0x%llx do not fit together",
                       (unsigned long long)s->addr);
    }
    if (s->n_blocks > UINT32_MAX || !mt_blocks_reserve(a, (uint32_t)s->n_blocks)) {
        return mt_fail_nomem(err);
    }
    uint32_t pair = mt_pair_get(a, s->pool);
    uint32_t bin = pair == UINT32_MAX ? 0 : mt_bin_get(a, pair, s->small, s->stream);
    uint32_t segment = bin ? mt_segment_take(a) : 0;
    if (segment == 0) {
        return mt_fail_nomem(err);
    }
    struct segment *seg = &a->segments.v[segment];
    seg->base = s->addr;
    seg->size = s->size;
    seg->page = page_size(a, a->bins.v[bin]);
    seg->stack = s->stack;
    seg->bin = bin;
    seg->expandable = s->expandable;
    count_segment(a, s, a->bins.v[bin]);
    lay_blocks(a, s, segment, bin);
    enter_blocks(a, s, segment, blocks_out);
    return MT_OK;
}
