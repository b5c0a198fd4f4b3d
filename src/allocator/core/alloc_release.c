/* SPDX-License-Identifier: MIT */
/*
 * Giving cached memory back to the device: the oversize release, the release of everything, and
 * garbage collection. Source: PyTorch c10/cuda/CUDACachingAllocator.cpp,
 * release_available_cached_blocks, release_cached_blocks, release_blocks, release_block,
 * garbage_collect_cached_blocks. The order of the frees is part of the contract.
 */
#include "allocator/core/alloc_blocks.h"

/* A whole cudaMalloc segment goes. */
static enum mt_status release_block(struct mt_alloc *a, uint32_t i, struct mt_error *err)
{
    const struct block *b = block_at(a, i);
    struct bin *bin = bin_of(a, b);
    uint32_t segment = b->segment;
    uint64_t addr = b->addr, size = b->size;
    MT_TRY(a->device.ops->mem_free(a->device.ctx, addr, size, err));
    a->stats.num_device_free++;
    mt_observe_range(a, MT_ALLOC_EVENT_SEGMENT_FREE, segment, addr, size);
    a->total -= size;
    mt_counts_fall(bin->tally, MT_STAT_SEGMENT, 1);
    mt_counts_fall(bin->tally, MT_STAT_RESERVED_BYTES, size);
    if (size >= a->rules.settings.max_split_size) {
        stat_down(&a->stats.oversize_segments, 1);
    }
    a->pairs.v[bin->pair].segments--;
    mt_free_set_erase(a, bin, i);
    mt_block_give(a, i);
    mt_segment_give(a, segment);
    return MT_OK;
}

static bool is_whole_segment(const struct mt_alloc *a, uint32_t i)
{
    return !is_split(block_at(a, i)) && !block_at(a, i)->expandable;
}

enum mt_status mt_walk_on(const struct mt_alloc *a, size_t n, struct mt_error *err)
{
    mt_walked(a, n);
    return !a->walks || *a->walks > 0
               ? MT_OK
               : mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
                         "too much work: %zu pools and streams, walked over for too many requests "
                         "that the device refused",
                         a->bins.n);
}

/* ---- everything ---- */

static enum mt_status release_bin(struct mt_alloc *a, const struct bin *bin, struct mt_error *err)
{
    for (uint32_t i = mt_free_set_fit(a, bin, 0), next; i; i = next) {
        next = mt_free_set_next(a, i);
        mt_walked(a, 1);
        if (block_at(a, i)->expandable) {
            if (!mt_vec_push(&a->scratch, i)) {
                return mt_fail_nomem(err);
            }
        } else if (!is_split(block_at(a, i))) {
            MT_TRY(release_block(a, i, err));
        }
    }
    return MT_OK;
}

/* Whole segments first, then the pages of expandable ones, each in the order of the free set. */
static enum mt_status release_pool(struct mt_alloc *a, uint32_t pair, bool small,
                                   struct mt_error *err)
{
    const struct pool *pool = &a->pairs.v[pair].pools[small];
    a->scratch.n = 0;
    MT_TRY(mt_walk_on(a, WALK_POOL * pool->bins.n, err));
    for (size_t k = 0; k < pool->bins.n; k++) {
        MT_TRY(release_bin(a, a->bins.v[pool->bins.v[k]], err));
    }
    for (size_t k = 0; k < a->scratch.n; k++) {
        MT_TRY(mt_expand_unmap(a, a->scratch.v[k], err));
    }
    return MT_OK;
}

/* Bytes in free blocks that are whole segments, or lie in expandable ones: what a walk over the
 * pools could find. Most refusals find none, and with many streams there are many pools' sets. */
static bool has_releasable(const struct mt_alloc *a)
{
    int64_t reserved = mt_alloc_stat(a, MT_STAT_RESERVED_BYTES, MT_SLOT_ALL).current;
    int64_t active = mt_alloc_stat(a, MT_STAT_ACTIVE_BYTES, MT_SLOT_ALL).current;
    int64_t split = mt_alloc_stat(a, MT_STAT_INACTIVE_SPLIT_BYTES, MT_SLOT_ALL).current;
    return reserved != active + split;
}

/* A private pool without users. */
static enum mt_status release_private(struct mt_alloc *a, uint32_t p, struct mt_error *err)
{
    MT_TRY(release_pool(a, p, true, err));
    MT_TRY(release_pool(a, p, false, err));
    if (a->pairs.v[p].segments <= 0) {
        mt_pair_end(a, p);
    }
    return MT_OK;
}

enum mt_status mt_release_cached(struct mt_alloc *a, struct mt_error *err)
{
    a->stats.num_sync_all_streams++;
    MT_TRY(mt_streams_sync(a, err));
    MT_TRY(mt_walk_on(a, WALK_POOL * a->pairs.n, err));
    bool some = has_releasable(a);
    if (some) {
        MT_TRY(release_pool(a, 0, false, err));
        MT_TRY(release_pool(a, 0, true, err));
    }
    for (uint32_t p = 1; p < a->pairs.n; p++) {
        const struct pair *pair = &a->pairs.v[p];
        if (pair->alive && pair->users <= 0) {
            MT_TRY(release_private(a, p, err));
        }
    }
    return MT_OK;
}

enum mt_status mt_alloc_pool_empty(struct mt_alloc *a, struct mt_alloc_pool_id id, bool alone,
                                   struct mt_error *err)
{
    uint32_t p = mt_pair_find(a, id);
    a->stack = 0;
    if (p == UINT32_MAX || p == 0 || a->pairs.v[p].users > 0) {
        return MT_OK;
    }
    a->stats.num_sync_all_streams += alone;
    MT_TRY(mt_streams_sync(a, err));
    return release_private(a, p, err);
}

enum mt_status mt_alloc_empty_cache(struct mt_alloc *a, struct mt_error *err)
{
    a->stack = 0;
    return mt_release_cached(a, err);
}

/* ---- oversize blocks ---- */

/* From the largest block downwards until enough is free. */
static enum mt_status release_largest(struct mt_alloc *a, const struct bin *bin, uint64_t want,
                                      bool *enough, struct mt_error *err)
{
    uint64_t released = 0;
    uint32_t prev;
    for (uint32_t i = mt_free_set_last(a, bin);
         i && released < want && block_at(a, i)->size >= a->rules.settings.max_split_size;
         i = prev) {
        uint64_t size = block_at(a, i)->size;
        prev = mt_free_set_prev(a, i);
        MT_TRY(mt_walk_on(a, 1, err));
        if (is_whole_segment(a, i)) {
            MT_TRY(release_block(a, i, err));
            released += size;
        }
    }
    *enough = released >= want;
    return MT_OK;
}

enum mt_status mt_release_available(struct mt_alloc *a, const struct bin *bin, uint64_t size,
                                    bool *enough, struct mt_error *err)
{
    uint64_t max_split = a->rules.settings.max_split_size;
    *enough = false;
    if (max_split == UINT64_MAX) {
        return MT_OK;
    }
    uint64_t want = size < max_split ? max_split : size;
    uint32_t i = mt_free_set_fit(a, bin, want);
    if (i && is_whole_segment(a, i)) {
        *enough = true;
        return release_block(a, i, err);
    }
    return release_largest(a, bin, want, enough, err);
}

/* ---- garbage collection ---- */

struct collection {
    uint64_t target, freed;
    double total_age;
    uint64_t n;
};

static double age_of(const struct mt_alloc *a, const struct pool *pool, uint32_t i)
{
    return (double)(uint32_t)(pool->calls - block_at(a, i)->gc_base);
}

static void measure_ages(const struct mt_alloc *a, const struct pool *pool, struct collection *c)
{
    mt_walked(a, WALK_POOL * pool->bins.n);
    for (size_t k = 0; k < pool->bins.n; k++) {
        const struct bin *bin = a->bins.v[pool->bins.v[k]];
        for (uint32_t i = mt_free_set_fit(a, bin, 0); i; i = mt_free_set_next(a, i)) {
            mt_walked(a, 1);
            if (!is_split(block_at(a, i))) {
                c->total_age += age_of(a, pool, i);
                c->n++;
            }
        }
    }
}

bool mt_alloc_has_idle_segment(const struct mt_alloc *a)
{
    const struct pool *pool = &a->pairs.v[0].pools[0];
    mt_walked(a, WALK_POOL * pool->bins.n);
    for (size_t k = 0; k < pool->bins.n; k++) {
        const struct bin *bin = a->bins.v[pool->bins.v[k]];
        for (uint32_t i = mt_free_set_fit(a, bin, 0); i; i = mt_free_set_next(a, i)) {
            mt_walked(a, 1);
            if (is_whole_segment(a, i)) {
                return true;
            }
        }
    }
    return false;
}

/* One pass frees all blocks that are as old as the average; *some: whether there was one. */
static enum mt_status collect_pass(struct mt_alloc *a, struct collection *c, bool *some,
                                   struct mt_error *err)
{
    const struct pool *pool = &a->pairs.v[0].pools[0];
    double average = c->total_age / (double)c->n;
    MT_TRY(mt_walk_on(a, WALK_POOL * pool->bins.n, err));
    for (size_t k = 0; k < pool->bins.n; k++) {
        const struct bin *bin = a->bins.v[pool->bins.v[k]];
        for (uint32_t i = mt_free_set_fit(a, bin, 0), next; i; i = next) {
            next = mt_free_set_next(a, i);
            MT_TRY(mt_walk_on(a, 1, err));
            double age = age_of(a, pool, i);
            if (is_whole_segment(a, i) && age >= average) {
                uint64_t size = block_at(a, i)->size;
                MT_TRY(release_block(a, i, err));
                c->freed += size;
                c->total_age -= age;
                c->n--;
                *some = true;
            }
        }
    }
    return MT_OK;
}

enum mt_status mt_collect_garbage(struct mt_alloc *a, struct mt_error *err)
{
    uint64_t limit =
        (uint64_t)(a->rules.settings.garbage_collection_threshold * (double)a->allowed);
    if (a->total <= limit) {
        return MT_OK;
    }
    struct collection c = {.target = a->total - limit};
    measure_ages(a, &a->pairs.v[0].pools[0], &c);
    MT_TRY(mt_walk_on(a, 0, err));
    for (bool some = true; c.freed < c.target && some && c.n > 0;) {
        some = false;
        MT_TRY(collect_pass(a, &c, &some, err));
    }
    a->stats.garbage_collections += c.freed > 0;
    return MT_OK;
}
