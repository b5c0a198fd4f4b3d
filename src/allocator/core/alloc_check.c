/* SPDX-License-Identifier: MIT */
/*
 * The proof that everything hangs together, for tests and the fuzzer: what the links say, what the
 * sets say and what the counters say must be the same thing.
 */
#include "allocator/core/alloc_core.h"

struct recount {
    int64_t current[MT_STAT_COUNT][MT_SLOT_COUNT];
    size_t n_free, n_holes, n_blocks, n_hand;
    uint64_t total;
};

static enum mt_status broken(struct mt_error *err, const char *what, uint64_t addr)
{
    return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "%s at 0x%llx", what, (unsigned long long)addr);
}

static void add(struct recount *r, enum mt_alloc_stat_id id, bool small, uint64_t n)
{
    r->current[id][MT_SLOT_ALL] += (int64_t)n;
    r->current[id][small ? MT_SLOT_SMALL : MT_SLOT_LARGE] += (int64_t)n;
}

static void recount_block(struct recount *r, const struct block *b, bool small, bool expandable)
{
    r->n_blocks++;
    r->n_hand += b->by_hand;
    if (b->state == BLOCK_HOLE) {
        r->n_holes++;
        return;
    }
    r->total += b->size;
    add(r, MT_STAT_RESERVED_BYTES, small, b->size);
    if (b->state == BLOCK_FREE) {
        r->n_free++;
        if (!expandable && is_split(b)) {
            add(r, MT_STAT_INACTIVE_SPLIT, small, 1);
            add(r, MT_STAT_INACTIVE_SPLIT_BYTES, small, b->size);
        }
        return;
    }
    add(r, MT_STAT_ACTIVE, small, 1);
    add(r, MT_STAT_ACTIVE_BYTES, small, b->size);
    add(r, MT_STAT_REQUESTED_BYTES, small, b->requested);
    if (b->state == BLOCK_IN_USE) {
        add(r, MT_STAT_ALLOCATION, small, 1);
        add(r, MT_STAT_ALLOCATED_BYTES, small, b->size);
    }
}

static enum mt_status check_block(const struct mt_alloc *a, const struct segment *s, uint32_t i,
                                  uint32_t prev, struct mt_error *err)
{
    const struct block *b = block_at(a, i);
    if (b->prev != prev || &a->segments.v[b->segment] != s || b->bin != s->bin ||
        b->expandable != s->expandable) {
        return broken(err, "wrong links of the block", b->addr);
    }
    if (b->size == 0 || b->state == BLOCK_UNUSED || (b->state == BLOCK_HOLE && !s->expandable)) {
        return broken(err, "wrong state of the block", b->addr);
    }
    uint8_t before = prev ? block_at(a, prev)->state : BLOCK_UNUSED;
    if ((b->state == BLOCK_FREE || b->state == BLOCK_HOLE) && before == b->state) {
        return broken(err, "two free neighbours", b->addr);
    }
    if (b->state == BLOCK_IN_USE && a->find_by_addr && mt_alloc_find(a, b->addr).i != i) {
        return broken(err, "a block that cannot be found", b->addr);
    }
    return MT_OK;
}

static enum mt_status check_segment(const struct mt_alloc *a, const struct segment *s,
                                    struct recount *r, struct mt_error *err)
{
    uint64_t at = s->base;
    uint32_t prev = 0;
    bool small = a->bins.v[s->bin]->small;
    for (uint32_t i = s->first; i; prev = i, i = block_at(a, i)->next) {
        MT_TRY(check_block(a, s, i, prev, err));
        if (block_at(a, i)->addr != at) {
            return broken(err, "blocks do not tile the segment", s->base);
        }
        at += block_at(a, i)->size;
        recount_block(r, block_at(a, i), small, s->expandable);
    }
    if (at != s->base + s->size) {
        return broken(err, "blocks do not fill the segment", s->base);
    }
    if (!s->expandable) {
        add(r, MT_STAT_SEGMENT, small, 1);
    }
    return MT_OK;
}

static enum mt_status check_stats(const struct mt_alloc *a, const struct recount *r,
                                  struct mt_error *err)
{
    for (enum mt_alloc_stat_id i = 0; i < MT_STAT_COUNT; i++) {
        for (enum mt_alloc_stat_slot k = 0; k < MT_SLOT_COUNT; k++) {
            const struct mt_alloc_stat s = mt_alloc_stat(a, i, k);
            if (s.current != r->current[i][k] || s.peak < s.current) {
                return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET,
                               "counter %u.%u is %lld, a recount gives %lld", (unsigned)i,
                               (unsigned)k, (long long)s.current, (long long)r->current[i][k]);
            }
        }
    }
    if (a->total != r->total) {
        return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "%llu bytes held, a recount gives %llu",
                       (unsigned long long)a->total, (unsigned long long)r->total);
    }
    return MT_OK;
}

static size_t hand_list_length(const struct mt_alloc *a)
{
    size_t n = 0;
    for (uint32_t i = a->hand_first; i && n <= a->n_chunks * CHUNK_BLOCKS;
         i = block_at(a, i)->right) {
        n++;
    }
    return n;
}

enum mt_status mt_alloc_check(const struct mt_alloc *a, struct mt_error *err)
{
    struct recount r = {0};
    for (size_t i = 1; i < a->segments.n; i++) {
        if (a->segments.v[i].used) {
            MT_TRY(check_segment(a, &a->segments.v[i], &r, err));
        }
    }
    size_t n_free = 0, n_holes = 0;
    for (uint32_t i = 1; i < a->bins.n; i++) {
        MT_TRY(mt_free_set_check(a, i, &n_free, &n_holes, err));
    }
    if (n_free != r.n_free || n_holes != r.n_holes || hand_list_length(a) != r.n_hand) {
        return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET,
                       "sets hold %zu free blocks and %zu holes, segments %zu and %zu", n_free,
                       n_holes, r.n_free, r.n_holes);
    }
    if (r.n_blocks + a->n_spare + (a->n_chunks > 0) != a->n_chunks * CHUNK_BLOCKS) {
        return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "blocks were lost from the slab");
    }
    return check_stats(a, &r, err);
}
