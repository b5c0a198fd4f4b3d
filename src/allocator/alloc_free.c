/* SPDX-License-Identifier: MIT */
/*
 * Freeing: the user's half (the block is no longer allocated) and the completing half (nobody uses
 * it any more: it merges with its neighbours and can be handed out). Source: PyTorch
 * c10/cuda/CUDACachingAllocator.cpp, free, free_block, try_merge_blocks. The counters of inactive
 * splits change by one net amount for each completed free, as there.
 */
#include "alloc_blocks.h"

static inline void complete(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    const struct bin *bin = bin_of(a, b);
    uint64_t size = b->size, swallowed;
    mt_observe_block(a, MT_ALLOC_EVENT_FREE_COMPLETED, i, b->stack);
    b->stack = 0;
    b->state = BLOCK_FREE;
    unsigned n = mt_block_merge(a, i, &swallowed);
    if (a->gc_ever) {
        b->gc_base = pool_of(a, bin)->calls;
    }
    mt_free_set_insert(a, i);
    if (!segment_of(a, b)->expandable) {
        bool split = is_split(b);
        int64_t bytes = (split ? (int64_t)b->size : 0) - (int64_t)swallowed;
        count_splits(&a->counts, bin->small, (int64_t)split - (int64_t)n, bytes);
    }
    count_done(&a->counts, bin->small, size, b->requested);
}

void mt_block_complete(struct mt_alloc *a, uint32_t i)
{
    complete(a, i);
}

static inline void request_free(struct mt_alloc *a, uint32_t i, uint32_t stack, bool listed)
{
    struct block *b = block_at(a, i);
    bool small = bin_of(a, b)->small;
    MT_ASSERT(b->state == BLOCK_IN_USE);
    b->state = BLOCK_PENDING;
    if (listed) {
        mt_addr_table_remove(a, i);
    }
    count_freed(&a->counts, small, b->size);
    mt_observe_block(a, MT_ALLOC_EVENT_FREE_REQUESTED, i, stack ? stack : b->stack);
    if (b->size >= a->settings.max_split_size) {
        stat_down(&a->stats.oversize_allocations, 1);
    }
}

static inline enum mt_status free_block(struct mt_alloc *a, uint32_t i, uint32_t stack, bool listed,
                                        struct mt_error *err)
{
    a->stack = stack;
    request_free(a, i, stack, listed);
    if (block_at(a, i)->uses) {
        return mt_streams_wait(a, i, err);
    }
    complete(a, i);
    return MT_OK;
}

enum mt_status mt_alloc_free(struct mt_alloc *a, mt_alloc_block block, uint32_t stack,
                             struct mt_error *err)
{
    return free_block(a, block.i, stack, a->find_by_addr, err);
}

bool mt_alloc_free_at(struct mt_alloc *a, uint64_t addr, uint32_t stack, enum mt_status *status,
                      struct mt_error *err)
{
    uint32_t i = mt_addr_table_take(a, addr);
    if (i == 0) {
        return false;
    }
    *status = free_block(a, i, stack, false, err);
    return true;
}

/* Frees completed by hand stand in a list, oldest first, linked through the tree's fields. */
static void append_by_hand(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    b->by_hand = true;
    b->left = a->hand_last;
    b->right = 0;
    *(a->hand_last ? &block_at(a, a->hand_last)->right : &a->hand_first) = i;
    a->hand_last = i;
}

void mt_alloc_free_request(struct mt_alloc *a, mt_alloc_block block, uint32_t stack)
{
    a->stack = stack;
    request_free(a, block.i, stack, a->find_by_addr);
    append_by_hand(a, block.i);
}

void mt_block_make_pending(struct mt_alloc *a, uint32_t i)
{
    block_at(a, i)->state = BLOCK_PENDING;
    append_by_hand(a, i);
}

void mt_alloc_free_complete(struct mt_alloc *a, mt_alloc_block block)
{
    struct block *b = block_at(a, block.i);
    MT_ASSERT(b->state == BLOCK_PENDING && b->by_hand);
    *(b->left ? &block_at(a, b->left)->right : &a->hand_first) = b->right;
    *(b->right ? &block_at(a, b->right)->left : &a->hand_last) = b->left;
    b->left = b->right = 0;
    b->by_hand = false;
    mt_block_complete(a, block.i);
}
