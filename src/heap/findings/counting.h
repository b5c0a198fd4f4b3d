/* SPDX-License-Identifier: MIT */
/* Counting and sorting by a word of 64 bits. Private to heap/. */
#ifndef MEMTOOL_HEAP_FINDINGS_COUNTING_H
#define MEMTOOL_HEAP_FINDINGS_COUNTING_H

#include "support/hash.h"

/* One more of `key`. False: no memory. */
static inline bool mt_count_key(struct mt_idmap *counts, uint64_t key)
{
    uint32_t *n = mt_idmap_find(counts, key);
    if (n) {
        (*n)++;
        return true;
    }
    return mt_idmap_put(counts, key, 1);
}

/* For qsort, of uint64_t, the least first. */
static inline int mt_compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

#endif
