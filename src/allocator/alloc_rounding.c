/* SPDX-License-Identifier: MIT */
/*
 * From a request to the size of its block. Blocks are multiples of 512 bytes; the setting
 * roundup_power2_divisions instead rounds up to the next of D even steps between two powers of two,
 * with one D for each doubling of size. Source: PyTorch c10/cuda/CUDACachingAllocator.cpp,
 * round_size and roundup_power2_next_division.
 */
#include "alloc_core.h"

static unsigned log2_floor(uint64_t n)
{
    return 63u - (unsigned)__builtin_clzll(n | 1);
}

static uint64_t divisions(const struct mt_alloc_settings *s, uint64_t size)
{
    unsigned lg = log2_floor(size);
    unsigned i = lg < 20 ? 0 : lg - 20;
    if (i >= MT_ALLOC_INTERVALS) {
        i = MT_ALLOC_INTERVALS - 1;
    }
    return size > s->roundup_bypass_threshold ? 0 : s->roundup_power2_divisions[i];
}

static uint64_t round_to_division(uint64_t size, uint64_t d)
{
    if ((size & (size - 1)) == 0 || d <= 1) {
        return size; /* up to 2.3 a single division left sizes as they were, unaligned */
    }
    uint64_t floor = (uint64_t)1 << log2_floor(size);
    uint64_t step = floor >> log2_floor(d);
    return step ? round_up(size, step) : floor << 1;
}

uint64_t mt_rounded_size(const struct mt_alloc_settings *s, const struct policy *policy,
                         uint64_t size)
{
    if (size < MIN_BLOCK) {
        return MIN_BLOCK;
    }
    uint64_t d = divisions(s, size);
    bool on = policy->one_division_is_off ? d > 1 : d > 0;
    if (on && size / MIN_BLOCK >= d && size > MIN_BLOCK * d) {
        return round_to_division(size, d);
    }
    return round_up(size, MIN_BLOCK);
}

bool mt_rounding_is_plain(const struct mt_alloc_settings *s, const struct policy *policy)
{
    for (size_t i = 0; i < MT_ALLOC_INTERVALS; i++) {
        if (s->roundup_power2_divisions[i] > (policy->one_division_is_off ? 1 : 0)) {
            return false;
        }
    }
    return true;
}

uint64_t mt_alloc_round(const struct mt_alloc_settings *s, mt_torch_release release, uint64_t size)
{
    return mt_rounded_size(s, mt_policy_find(release), size < REQUEST_GUARD ? size : REQUEST_GUARD);
}

uint64_t mt_alloc_segment_size(const struct mt_alloc_settings *s, uint64_t rounded)
{
    return segment_size(s, rounded < 2 * REQUEST_GUARD ? rounded : 2 * REQUEST_GUARD);
}
