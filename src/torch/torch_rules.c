/* SPDX-License-Identifier: MIT */
/*
 * From a request to the size of its block and of its segment. Blocks are multiples of 512 bytes;
 * the setting roundup_power2_divisions instead rounds up to the next of D even steps between two
 * powers of two, with one D for each doubling of size. Source: PyTorch
 * c10/cuda/CUDACachingAllocator.cpp, round_size and roundup_power2_next_division.
 */
#include "torch/torch_rules.h"

struct mt_torch_rules mt_torch_rules_of(const struct mt_alloc_settings *settings,
                                        mt_torch_release release)
{
    struct mt_torch_rules t = {
        .settings = *settings,
        .policy = mt_torch_policy_find(release ? release : MT_TORCH_MEMTOOL),
    };
    if (!t.policy->non_split_rounding) {
        t.settings.max_non_split_rounding = MT_TORCH_LARGE_BUFFER;
    }
    return t;
}

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
    return step ? mt_torch_round_up(size, step) : floor << 1;
}

uint64_t mt_torch_round(const struct mt_torch_rules *t, uint64_t request)
{
    if (request < MT_TORCH_MIN_BLOCK) {
        return MT_TORCH_MIN_BLOCK;
    }
    if (request >= MT_TORCH_REQUEST_GUARD) {
        return request;
    }
    uint64_t d = divisions(&t->settings, request);
    bool on = t->policy->one_division_is_off ? d > 1 : d > 0;
    if (on && request / MT_TORCH_MIN_BLOCK >= d && request > MT_TORCH_MIN_BLOCK * d) {
        return round_to_division(request, d);
    }
    return mt_torch_round_up(request, MT_TORCH_MIN_BLOCK);
}

bool mt_torch_rounding_is_plain(const struct mt_torch_rules *t)
{
    for (size_t i = 0; i < MT_ALLOC_INTERVALS; i++) {
        if (t->settings.roundup_power2_divisions[i] > (t->policy->one_division_is_off ? 1 : 0)) {
            return false;
        }
    }
    return true;
}

uint64_t mt_torch_segment_size(const struct mt_torch_rules *t, uint64_t rounded)
{
    if (mt_torch_is_small(rounded)) {
        return MT_TORCH_SMALL_BUFFER;
    }
    if (rounded < MT_TORCH_MIN_LARGE_ALLOC) {
        return t->settings.large_segment_size;
    }
    return rounded < 2 * MT_TORCH_REQUEST_GUARD ? mt_torch_round_up(rounded, MT_TORCH_ROUND_LARGE)
                                                : rounded;
}

uint64_t mt_torch_segment_for(const struct mt_torch_rules *t, uint64_t request)
{
    return mt_torch_segment_size(t, mt_torch_round(t, request));
}
