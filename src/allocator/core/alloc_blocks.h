/* SPDX-License-Identifier: MIT */
/*
 * What happens to blocks: being taken and given, being cut in two and swallowing free neighbours.
 * Every request that the cache serves and its free come by here, so these are inline: the library
 * is as fast without link-time optimisation, which not every toolchain has.
 */
#ifndef MEMTOOL_ALLOCATOR_CORE_ALLOC_BLOCKS_H
#define MEMTOOL_ALLOCATOR_CORE_ALLOC_BLOCKS_H

#include <string.h>

#include "allocator/core/alloc_core.h"

/* Takes a zeroed block; one must have been reserved. */
static inline uint32_t mt_block_take(struct mt_alloc *a)
{
    uint32_t i = a->spare;
    MT_ASSERT(i != 0);
    struct block *b = block_at(a, i);
    a->spare = b->next;
    a->n_spare--;
    memset(b, 0, sizeof *b);
    return i;
}

static inline void mt_block_give(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    b->state = BLOCK_UNUSED;
    b->next = a->spare;
    a->spare = i;
    a->n_spare++;
}

/* Puts a new block in front of `i` that takes its first `size` bytes; it is in no set. */
static inline uint32_t mt_block_cut_front(struct mt_alloc *a, uint32_t i, uint64_t size)
{
    uint32_t n = mt_block_take(a);
    struct block *front = block_at(a, n), *rest = block_at(a, i);
    front->addr = rest->addr;
    front->size = size;
    front->bin = rest->bin;
    front->segment = rest->segment;
    front->expandable = rest->expandable;
    front->prev = rest->prev;
    front->next = i;
    if (rest->prev) {
        block_at(a, rest->prev)->next = n;
    } else {
        segment_of(a, rest)->first = n;
    }
    rest->prev = n;
    rest->addr += size;
    rest->size -= size;
    return n;
}

static inline void leave_set(struct mt_alloc *a, struct bin *bin, uint32_t i,
                             enum block_state state)
{
    if (state == BLOCK_HOLE) {
        mt_holes_erase(a, i);
    } else {
        mt_free_set_erase(a, bin, i);
    }
}

static inline uint64_t swallow_prev(struct mt_alloc *a, struct bin *bin, uint32_t i,
                                    enum block_state like)
{
    struct block *b = block_at(a, i);
    uint32_t gone = b->prev;
    struct block *p = block_at(a, gone);
    leave_set(a, bin, gone, like);
    b->addr = p->addr;
    b->prev = p->prev;
    if (b->prev) {
        block_at(a, b->prev)->next = i;
    } else {
        segment_of(a, b)->first = i;
    }
    uint64_t bytes = p->size;
    b->size += bytes;
    mt_block_give(a, gone);
    return bytes;
}

static inline uint64_t swallow_next(struct mt_alloc *a, struct bin *bin, uint32_t i,
                                    enum block_state like)
{
    struct block *b = block_at(a, i);
    uint32_t gone = b->next;
    struct block *n = block_at(a, gone);
    leave_set(a, bin, gone, like);
    b->next = n->next;
    if (b->next) {
        block_at(a, b->next)->prev = i;
    }
    uint64_t bytes = n->size;
    b->size += bytes;
    mt_block_give(a, gone);
    return bytes;
}

/* `i`, of this bin, swallows its neighbours that are `like` it (BLOCK_FREE or BLOCK_HOLE), which
 * leave their set; returns how many, and their bytes through *bytes. */
static inline unsigned mt_block_merge(struct mt_alloc *a, struct bin *bin, uint32_t i,
                                      enum block_state like, uint64_t *bytes)
{
    const struct block *b = block_at(a, i);
    unsigned n = 0;
    *bytes = 0;
    if (b->prev && block_at(a, b->prev)->state == like) {
        *bytes += swallow_prev(a, bin, i, like);
        n++;
    }
    if (b->next && block_at(a, b->next)->state == like) {
        *bytes += swallow_next(a, bin, i, like);
        n++;
    }
    a->stats.merges += n;
    return n;
}

#endif
