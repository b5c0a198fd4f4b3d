/* SPDX-License-Identifier: MIT */
/*
 * The settings that a snapshot was recorded under, and so the rules that its allocator followed:
 * the conf string first (it alone has large_segment_size_mb and max_non_split_rounding_mb), then
 * what allocator_settings states in numbers.
 */
#ifndef MEMTOOL_SNAPSHOT_MODEL_SETTINGS_H
#define MEMTOOL_SNAPSHOT_MODEL_SETTINGS_H

#include "snapshot/model/model.h"
#include "torch/torch_rules.h"

/* The key of allocator_settings by which a file of `simulate -o` names the release whose rules it
 * follows: "2.11". */
#define MT_SETTINGS_RELEASE_KEY "memtool_torch_release"

struct mt_settings {
    bool present;                     /* the file has allocator_settings */
    struct mt_str conf;               /* PYTORCH_CUDA_ALLOC_CONF; .p is NULL when absent */
    bool max_split_size_is_unlimited; /* written as -1 or 2^64 - 1 */
    mt_torch_release release;         /* whose rules these are */
    struct mt_torch_rules rules;      /* the defaults where the file has no settings */
};

/* `release` 0: mt_settings_release(s, MT_TORCH_MEMTOOL). What is hand-made or of another type than
 * PyTorch's is absent. O(event shapes + blocks). */
void mt_settings_get(const struct mt_snapshot *s, mt_torch_release release,
                     struct mt_settings *out);

/* The rules that its allocator followed, as mt_settings_get finds them. */
struct mt_torch_rules mt_settings_rules(const struct mt_snapshot *s);

/* Whether the file says that its recording overflowed, and a trace of `events` is one that did:
 * what came before it was not kept. */
bool mt_settings_overflowed(const struct mt_snapshot *s, size_t events);

/* The release that s names, else of those that can have written it the nearest to `wanted`, within
 * those known. */
mt_torch_release mt_settings_release(const struct mt_snapshot *s, mt_torch_release wanted);

#endif
