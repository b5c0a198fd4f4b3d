/* SPDX-License-Identifier: MIT */
/*
 * What PyTorch's caching allocator does with a size: how a request is rounded, which pool serves
 * it, how large a segment is, when a block is split. Pure functions of the settings, the release
 * and a size; no other folder has a copy of a rule or of a constant. Source, where no other is
 * named: c10/cuda/CUDACachingAllocator.cpp of 2.6 and 2.11, and of the releases that torch_policy.c
 * names.
 *
 * All sizes are bytes.
 */
#ifndef MEMTOOL_TORCH_TORCH_RULES_H
#define MEMTOOL_TORCH_TORCH_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "support/units.h"
#include "torch/alloc_conf.h"

/* kMinBlockSize: the unit of block sizes, and the least rest that is split off in the small pool
 * and in expandable segments. */
#define MT_TORCH_MIN_BLOCK ((uint64_t)512)
/* kSmallSize: the largest request of the small pool, and the largest rest that stays with a block
 * of the large pool. */
#define MT_TORCH_SMALL_SIZE MT_MIB
/* kSmallBuffer: segments of the small pool, and the pages of its expandable segments. */
#define MT_TORCH_SMALL_BUFFER (2 * MT_MIB)
/* kLargeBuffer: segments for requests of less than kMinLargeAlloc, and the pages of expandable
 * segments of the large pool; the default of large_segment_size_mb. */
#define MT_TORCH_LARGE_BUFFER (20 * MT_MIB)
/* kMinLargeAlloc: requests from here on get a segment of their own size. */
#define MT_TORCH_MIN_LARGE_ALLOC (10 * MT_MIB)
/* kRoundLarge: the unit of those. */
#define MT_TORCH_ROUND_LARGE (2 * MT_MIB)
/* one_exa_bytes in malloc: requests from here on are refused before anything is counted. */
#define MT_TORCH_REQUEST_GUARD ((uint64_t)1 << 60)

/* parseChosenWorkspaceSize (ATen/cuda/CublasHandlePool.cpp, 2.0 to 2.11): what cuBLAS gets for each
 * handle and stream, on Hopper and before, unless CUBLAS_WORKSPACE_CONFIG says otherwise; and
 * _getWorkspaceSize of cuBLASLt beside it. */
#define MT_TORCH_WORKSPACE_HOPPER (32 * MT_MIB)
#define MT_TORCH_WORKSPACE (2 * 4 * MT_MIB + 8 * 16 * MT_KIB)
#define MT_TORCH_WORKSPACE_LT MT_MIB

/* ---- releases ---- */

/* What differs between releases; torch_policy.c has the table. */
struct mt_torch_policy {
    mt_torch_release since;
    bool one_division_is_off;      /* roundup_power2_divisions:1 changes nothing */
    bool expandable_private_pools; /* private pools may use expandable segments */
    bool non_split_rounding;       /* max_non_split_rounding_mb is a setting */
    bool oldest_segment_first;     /* free blocks of one size: by age of their segment */
    bool newest_scope_first;       /* of several open pools */
};
/* The newest row that is not younger than the release; never NULL. */
const struct mt_torch_policy *mt_torch_policy_find(mt_torch_release release);

/* What the rules depend on. */
struct mt_torch_rules {
    struct mt_alloc_settings settings;    /* as the release obeys them */
    const struct mt_torch_policy *policy; /* static */
};
/* `release` 0: MT_TORCH_MEMTOOL. */
struct mt_torch_rules mt_torch_rules_of(const struct mt_alloc_settings *settings,
                                        mt_torch_release release);

/* ---- sizes ---- */

/* The least multiple of `unit` that is not below n; it must fit. */
static inline uint64_t mt_torch_round_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* round_size: the bytes that a request asks of a block. Multiples of 512, or of a division of a
 * power of two where roundup_power2_divisions says so. A request that the guard refuses stays as it
 * is. */
uint64_t mt_torch_round(const struct mt_torch_rules *t, uint64_t request);
/* Whether these settings round to multiples of 512 whatever the size. */
bool mt_torch_rounding_is_plain(const struct mt_torch_rules *t);

/* get_pool: whether the small pool serves it. The same for a request and for its rounded size,
 * since no rounding passes a power of two. */
static inline bool mt_torch_is_small(uint64_t size)
{
    return size <= MT_TORCH_SMALL_SIZE;
}

/* get_allocation_size: the bytes asked of the driver where no free block serves. This is what a
 * limit of the process is compared with, also where segments are expandable. */
uint64_t mt_torch_segment_size(const struct mt_torch_rules *t, uint64_t rounded);
/* The same for a request that was not rounded yet. */
uint64_t mt_torch_segment_for(const struct mt_torch_rules *t, uint64_t request);

/* ExpandableSegment: the bytes that are mapped and unmapped at a time. */
static inline uint64_t mt_torch_page_size(const struct mt_torch_rules *t, bool small)
{
    return small ? MT_TORCH_SMALL_BUFFER : t->settings.large_segment_size;
}

/* should_split: whether a block of `has` bytes that serves a rounded `size`, at most as much, is
 * cut, so that the rest is a free block. `small`: it is of the small pool or of an expandable
 * segment. */
static inline bool mt_torch_splits(const struct mt_torch_rules *t, bool small, uint64_t size,
                                   uint64_t has)
{
    if (small || t->settings.expandable_segments) {
        return has - size >= MT_TORCH_MIN_BLOCK;
    }
    return size < t->settings.max_split_size && has - size > MT_TORCH_SMALL_SIZE;
}

/* ---- pools of memory whose requests are not known ---- */

/* Whether what the driver gave for one request, by cudaMalloc or by mapping, is of the small pool:
 * the large pool never asks for as little. */
static inline bool mt_torch_grant_is_small(uint64_t size)
{
    return size <= MT_TORCH_SMALL_BUFFER;
}

/* The same for a range of expandable memory, of one mapping or of several: whole pages of the large
 * pool are taken to be of it. */
static inline bool mt_torch_range_is_small(const struct mt_torch_rules *t, uint64_t size)
{
    return size % t->settings.large_segment_size != 0;
}

#endif
