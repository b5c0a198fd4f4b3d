/* SPDX-License-Identifier: MIT */
/*
 * The slab of blocks and the table of segments. Whoever needs new blocks reserves them before
 * anything is changed, so that running out of host memory leaves a whole allocator behind.
 */
#include "allocator/core/alloc_core.h"

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
