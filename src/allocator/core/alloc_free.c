/* SPDX-License-Identifier: MIT */
/*
 * Freeing: the user's half (the block is no longer allocated) and the completing half (nobody uses
 * it any more: it merges with its neighbours and can be handed out). Source: PyTorch
 * c10/cuda/CUDACachingAllocator.cpp, free, free_block, try_merge_blocks. The counters of inactive
 * splits change by one net amount for each completed free, as there.
 */
#include "allocator/core/alloc_blocks.h"

/* A free block that swallowed n others. Where it still stands beside others there are n - 1 such
 * blocks less, and their bytes are more by those that were freed. */
static inline void count_merged(struct mt_alloc *a, const struct bin *bin, const struct block *b,
                                unsigned n, uint64_t swallowed)
{
    if (!is_split(b)) {
        count_split_down(bin->tally, n, swallowed);
    } else if (n == 0) {
        count_split_up(&a->counts, bin->tally, 1, b->size);
    } else {
        count_split_up(&a->counts, bin->tally, 0, b->size - swallowed);
        count_split_down(bin->tally, n - 1, 0);
    }
}

MT_INLINE void complete(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    struct bin *bin = bin_of(a, b);
    uint64_t size = b->size, swallowed;
    mt_observe_block(a, MT_ALLOC_EVENT_FREE_COMPLETED, bin, i, b, b->stack);
    b->stack = 0;
    b->state = BLOCK_FREE;
    unsigned n = mt_block_merge(a, bin, i, BLOCK_FREE, &swallowed);
    if (a->gc_ever) {
        b->gc_base = pool_of(a, bin)->calls;
    }
    mt_free_set_insert(a, bin, i);
    if (!b->expandable) {
        count_merged(a, bin, b, n, swallowed);
    }
    count_done(bin->tally, size, b->requested);
}

void mt_block_complete(struct mt_alloc *a, uint32_t i)
{
    complete(a, i);
}

MT_INLINE void request_free(struct mt_alloc *a, uint32_t i, uint32_t stack)
{
    struct block *b = block_at(a, i);
    const struct bin *bin = bin_of(a, b);
    MT_ASSERT(b->state == BLOCK_IN_USE);
    b->state = BLOCK_PENDING;
    count_freed(bin->tally, b->size);
    mt_observe_block(a, MT_ALLOC_EVENT_FREE_REQUESTED, bin, i, b, stack ? stack : b->stack);
    if (b->size >= a->rules.settings.max_split_size) {
        stat_down(&a->stats.oversize_allocations, 1);
    }
}

enum mt_status mt_alloc_free(struct mt_alloc *a, mt_alloc_block block, uint32_t stack,
                             struct mt_error *err)
{
    a->stack = stack;
    if (a->find_by_addr) {
        mt_addr_table_remove(a, block.i);
    }
    request_free(a, block.i, stack);
    if (block_at(a, block.i)->uses) {
        return mt_streams_wait(a, block.i, err);
    }
    complete(a, block.i);
    return MT_OK;
}

MT_HOT bool mt_alloc_free_at(struct mt_alloc *a, uint64_t addr, uint32_t stack)
{
    if (MT_UNLIKELY(a->by_addr.n == 0)) {
        return false;
    }
    uint32_t slot = mt_addr_table_slot(a, addr), i = a->by_addr.slots[slot];
    if (MT_UNLIKELY(i == 0 || block_at(a, i)->uses)) {
        return false;
    }
    mt_addr_table_clear(a, slot);
    request_free(a, i, stack);
    complete(a, i);
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
    if (a->find_by_addr) {
        mt_addr_table_remove(a, block.i);
    }
    request_free(a, block.i, stack);
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
