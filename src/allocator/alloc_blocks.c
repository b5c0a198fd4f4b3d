/* SPDX-License-Identifier: MIT */
/*
 * The slab of blocks and the table of segments, and the two things that happen to blocks: being cut
 * in two and swallowing free neighbours. Whoever needs new blocks reserves them before anything is
 * changed, so that running out of host memory leaves a whole allocator behind.
 */
#include "alloc_core.h"

#include <string.h>

static bool add_chunk(struct mt_alloc *a)
{
    if (a->n_chunks >= (UINT32_MAX >> CHUNK_BITS)) {
        return false;
    }
    if (a->n_chunks == a->cap_chunks &&
        !mt_vec_grow(&a->chunks, &a->cap_chunks, a->n_chunks + 1, sizeof *a->chunks)) {
        return false;
    }
    struct block *chunk = mt_mem_zalloc(CHUNK_BLOCKS, sizeof *chunk);
    if (!chunk) {
        return false;
    }
    uint32_t base = (uint32_t)a->n_chunks << CHUNK_BITS;
    a->chunks[a->n_chunks++] = chunk;
    for (uint32_t i = CHUNK_BLOCKS; i-- > 0;) {
        if (base + i != 0) { /* index 0 means none */
            chunk[i].next = a->spare;
            a->spare = base + i;
            a->n_spare++;
        }
    }
    return true;
}

bool mt_blocks_reserve(struct mt_alloc *a, uint32_t n)
{
    while (a->n_spare < n) {
        if (!add_chunk(a)) {
            return false;
        }
    }
    return true;
}

uint32_t mt_block_take(struct mt_alloc *a)
{
    uint32_t i = a->spare;
    MT_ASSERT(i != 0);
    struct block *b = block_at(a, i);
    a->spare = b->next;
    a->n_spare--;
    memset(b, 0, sizeof *b);
    return i;
}

void mt_block_give(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    b->state = BLOCK_UNUSED;
    b->next = a->spare;
    a->spare = i;
    a->n_spare++;
}

uint32_t mt_segment_take(struct mt_alloc *a)
{
    uint32_t i = a->spare_segment;
    if (i) {
        a->spare_segment = a->segments.v[i].first;
    } else {
        struct segment none = {0};
        if (a->segments.n >= UINT32_MAX || !mt_vec_push(&a->segments, none)) {
            return 0;
        }
        i = (uint32_t)(a->segments.n - 1);
    }
    a->segments.v[i] = (struct segment){.used = true, .counter = ++a->segment_counter};
    return i;
}

void mt_segment_give(struct mt_alloc *a, uint32_t i)
{
    a->segments.v[i] = (struct segment){.first = a->spare_segment};
    a->spare_segment = i;
}

uint32_t mt_block_cut_front(struct mt_alloc *a, uint32_t i, uint64_t size)
{
    uint32_t n = mt_block_take(a);
    struct block *front = block_at(a, n), *rest = block_at(a, i);
    front->addr = rest->addr;
    front->size = size;
    front->bin = rest->bin;
    front->segment = rest->segment;
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

static void leave_set(struct mt_alloc *a, uint32_t i)
{
    if (block_at(a, i)->state == BLOCK_HOLE) {
        mt_holes_erase(a, i);
    } else {
        mt_free_set_erase(a, i);
    }
}

static uint64_t swallow_prev(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    uint32_t gone = b->prev;
    struct block *p = block_at(a, gone);
    leave_set(a, gone);
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

static uint64_t swallow_next(struct mt_alloc *a, uint32_t i)
{
    struct block *b = block_at(a, i);
    uint32_t gone = b->next;
    struct block *n = block_at(a, gone);
    leave_set(a, gone);
    b->next = n->next;
    if (b->next) {
        block_at(a, b->next)->prev = i;
    }
    uint64_t bytes = n->size;
    b->size += bytes;
    mt_block_give(a, gone);
    return bytes;
}

unsigned mt_block_merge(struct mt_alloc *a, uint32_t i, uint64_t *bytes)
{
    const struct block *b = block_at(a, i);
    uint8_t like = b->state == BLOCK_HOLE ? BLOCK_HOLE : BLOCK_FREE;
    uint64_t sum = 0;
    unsigned n = 0;
    if (b->prev && block_at(a, b->prev)->state == like) {
        sum += swallow_prev(a, i);
        n++;
    }
    if (b->next && block_at(a, b->next)->state == like) {
        sum += swallow_next(a, i);
        n++;
    }
    a->stats.merges += n;
    if (bytes) {
        *bytes = sum;
    }
    return n;
}
