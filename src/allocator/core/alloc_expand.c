/* SPDX-License-Identifier: MIT */
/*
 * Expandable segments: one reservation of addresses for each (stream, pool), into which physical
 * pages are mapped as the need grows and from which whole free pages go back. Unmapped ranges are
 * blocks too (holes), so that neighbours and merging work as for the rest. Source: PyTorch
 * c10/cuda/CUDACachingAllocator.cpp, ExpandableSegment, find_expandable_block, map_block,
 * try_allocate_expandable_block, unmap_block.
 */
#include "allocator/core/alloc_blocks.h"

static bool is_idle(const struct block *b)
{
    return b->state == BLOCK_FREE || b->state == BLOCK_HOLE;
}

/* Whether the run of free and unmapped neighbours that begins at i is `size` bytes long. */
static bool run_holds(const struct mt_alloc *a, uint32_t i, uint64_t size)
{
    uint64_t sum = 0;
    for (; i && is_idle(block_at(a, i)); i = block_at(a, i)->next) {
        sum += block_at(a, i)->size;
        if (sum >= size) {
            return true;
        }
    }
    return false;
}

/* A new reservation, 9/8 of the device long: more than can ever be mapped, so that it never has to
 * move. */
static enum mt_status reserve(struct mt_alloc *a, uint32_t bin, uint64_t need, uint32_t *out,
                              struct mt_error *err)
{
    uint64_t total = a->caps.total;
    uint64_t page = page_size(a, a->bins.v[bin]);
    uint64_t size = mt_torch_round_up(total + total / 8, page);
    uint64_t addr;
    if (need > size) {
        return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "larger than the device");
    }
    if (!mt_blocks_reserve(a, 4)) {
        return mt_fail_nomem(err);
    }
    uint32_t segment = mt_segment_take(a);
    if (segment == 0) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = a->device.ops->va_reserve(a->device.ctx, size, &addr, err);
    if (status != MT_OK) {
        mt_segment_give(a, segment);
        return status;
    }
    uint32_t i = mt_block_take(a);
    struct segment *s = &a->segments.v[segment];
    s->base = addr;
    s->size = size;
    s->page = page;
    s->first = i;
    s->stack = a->stack;
    s->bin = bin;
    s->expandable = true;
    struct block *b = block_at(a, i);
    b->addr = addr;
    b->size = size;
    b->bin = bin;
    b->segment = segment;
    b->state = BLOCK_HOLE;
    b->expandable = true;
    mt_holes_insert(a, i);
    a->pairs.v[a->bins.v[bin]->pair].segments++;
    *out = i;
    return MT_OK;
}

/* Where a request of `size` can grow: a free block before a hole, or a hole. */
static enum mt_status find_place(struct mt_alloc *a, uint32_t bin, uint64_t size, uint32_t *out,
                                 struct mt_error *err)
{
    const struct bin *home = a->bins.v[bin];
    for (uint32_t u = mt_holes_from(a, home, 0); u;
         u = mt_holes_from(a, home, block_at(a, u)->addr + 1)) {
        uint32_t prev = block_at(a, u)->prev;
        uint32_t from = prev && is_idle(block_at(a, prev)) ? prev : u;
        if (run_holds(a, from, size)) {
            *out = from;
            return MT_OK;
        }
    }
    return reserve(a, bin, size, out, err);
}

/* Maps the first pages of a hole, enough for `want` bytes; the block then is free and merged. */
static enum mt_status map_block(struct mt_alloc *a, uint32_t i, uint64_t want, struct mt_error *err)
{
    struct block *b = block_at(a, i);
    struct bin *bin = bin_of(a, b);
    uint64_t page = segment_of(a, b)->page;
    uint64_t size = mt_torch_round_up(want, page), addr = b->addr, swallowed;
    if (!mt_blocks_reserve(a, 4)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(a->device.ops->map(a->device.ctx, addr, size, page, err));
    mt_holes_erase(a, i);
    if (size < b->size) {
        uint32_t hole = i;
        i = mt_block_cut_front(a, hole, size);
        block_at(a, i)->requested = block_at(a, hole)->requested;
        block_at(a, hole)->requested = 0;
        mt_holes_insert(a, hole);
        b = block_at(a, i);
    }
    b->state = BLOCK_FREE;
    b->gc_base = pool_of(a, bin)->calls;
    mt_block_merge(a, bin, i, BLOCK_FREE, &swallowed);
    mt_free_set_insert(a, bin, i);
    a->total += size;
    mt_counts_rise(&a->counts, bin->tally, MT_STAT_RESERVED_BYTES, size);
    a->stats.num_device_alloc++;
    mt_observe_range(a, MT_ALLOC_EVENT_SEGMENT_MAP, b->segment, addr, size);
    return MT_OK;
}

static uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

enum mt_status mt_expand_allocate(struct mt_alloc *a, uint32_t bin, uint64_t size, uint32_t *out,
                                  struct mt_error *err)
{
    uint32_t at = 0;
    MT_TRY(find_place(a, bin, size, &at, err));
    uint64_t start = block_at(a, at)->addr;
    uint32_t segment = block_at(a, at)->segment;
    /* Each map swallows the free block in front of it, so the block at `start` keeps its address
     * and changes its index. */
    if (block_at(a, at)->state == BLOCK_HOLE) {
        uint32_t prev = block_at(a, at)->prev;
        MT_TRY(map_block(a, at, least(block_at(a, at)->size, size), err));
        at = prev ? block_at(a, prev)->next : a->segments.v[segment].first;
    }
    MT_ASSERT(block_at(a, at)->addr == start);
    while (block_at(a, at)->size < size) {
        uint32_t prev = block_at(a, at)->prev, hole = block_at(a, at)->next;
        uint64_t missing = size - block_at(a, at)->size;
        MT_TRY(map_block(a, hole, least(block_at(a, hole)->size, missing), err));
        at = prev ? block_at(a, prev)->next : a->segments.v[segment].first;
    }
    mt_free_set_erase(a, a->bins.v[bin], at);
    *out = at;
    return MT_OK;
}

/* Cuts the free block so that exactly [low, high) is block i; the rest stays free beside it. */
static uint32_t cut_pages(struct mt_alloc *a, uint32_t i, uint64_t low, uint64_t high)
{
    struct block *b = block_at(a, i);
    struct bin *bin = bin_of(a, b);
    uint32_t calls = pool_of(a, bin)->calls;
    if (b->addr < low) {
        uint32_t front = mt_block_cut_front(a, i, low - b->addr);
        block_at(a, front)->state = BLOCK_FREE;
        block_at(a, front)->gc_base = calls;
        mt_free_set_insert(a, bin, front);
    }
    if (b->addr + b->size > high) {
        uint32_t middle = mt_block_cut_front(a, i, high - b->addr);
        block_at(a, middle)->requested = b->requested;
        b->requested = 0;
        b->gc_base = calls;
        mt_free_set_insert(a, bin, i);
        i = middle;
    }
    return i;
}

static enum mt_status destroy(struct mt_alloc *a, uint32_t i, struct mt_error *err)
{
    uint32_t segment = block_at(a, i)->segment;
    struct segment *s = &a->segments.v[segment];
    uint64_t base = s->base, size = s->size;
    a->pairs.v[a->bins.v[s->bin]->pair].segments--;
    mt_holes_erase(a, i);
    mt_block_give(a, i);
    mt_segment_give(a, segment);
    return a->device.ops->va_free(a->device.ctx, base, size, err);
}

enum mt_status mt_expand_unmap(struct mt_alloc *a, uint32_t i, struct mt_error *err)
{
    struct block *b = block_at(a, i);
    struct bin *bin = bin_of(a, b);
    const struct segment *s = segment_of(a, b);
    uint64_t page = s->page;
    uint64_t low = s->base + mt_torch_round_up(b->addr - s->base, page);
    uint64_t high = s->base + (b->addr + b->size - s->base) / page * page;
    if (low >= high) {
        return MT_OK;
    }
    if (!mt_blocks_reserve(a, 4)) {
        return mt_fail_nomem(err);
    }
    uint64_t size = high - low, swallowed;
    MT_TRY(a->device.ops->unmap(a->device.ctx, low, size, page, bin->stream, err));
    mt_free_set_erase(a, bin, i);
    i = cut_pages(a, i, low, high);
    uint32_t segment = block_at(a, i)->segment;
    block_at(a, i)->state = BLOCK_HOLE;
    mt_block_merge(a, bin, i, BLOCK_HOLE, &swallowed);
    mt_holes_insert(a, i);
    a->total -= size;
    mt_counts_fall(bin->tally, MT_STAT_RESERVED_BYTES, size);
    a->stats.num_device_free++;
    mt_observe_range(a, MT_ALLOC_EVENT_SEGMENT_UNMAP, segment, low, size);
    return is_split(block_at(a, i)) ? MT_OK : destroy(a, i, err);
}
