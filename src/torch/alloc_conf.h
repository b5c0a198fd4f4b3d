/* SPDX-License-Identifier: MIT */
/*
 * The settings of the allocator: what PYTORCH_CUDA_ALLOC_CONF says, parsed as a given PyTorch
 * release parses it. Sources of grammar, ranges and texts: PyTorch c10/cuda/CUDAAllocatorConfig.cpp
 * and c10/core/AllocatorConfig.cpp, releases 1.13 to 2.13; what 2.11 answers was also tried out.
 */
#ifndef MEMTOOL_TORCH_ALLOC_CONF_H
#define MEMTOOL_TORCH_ALLOC_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"
#include "support/str.h"
#include "support/units.h"

/* A PyTorch release as one number: 100 * major + minor, so 2.11 is 211. */
typedef int mt_torch_release;

#define MT_TORCH_OLDEST 113
#define MT_TORCH_NEWEST 213
#define MT_TORCH_MEMTOOL 211 /* whose grammar memtool's own allocator reads */

/* "2.11", "2.11.0+cu130", "v2.6" to 211, 211, 206; false for anything else. */
bool mt_torch_release_parse(struct mt_str s, mt_torch_release *release);

/* Sizes in [1 MiB << i, 2 MiB << i) are interval i; smaller ones are in 0, larger ones in 15. */
#define MT_ALLOC_INTERVALS 16

enum mt_alloc_backend { MT_BACKEND_NATIVE, MT_BACKEND_ASYNC };

/* The effective settings. Use mt_alloc_settings_default, then change fields or parse over it. */
struct mt_alloc_settings {
    bool has_max_split_size;             /* the key was there (even if its value is out of reach) */
    uint64_t max_split_size;             /* bytes; UINT64_MAX: unlimited */
    uint64_t max_non_split_rounding;     /* bytes */
    double garbage_collection_threshold; /* share of the allowed bytes, (0, 1); 0: off */
    uint64_t roundup_power2_divisions[MT_ALLOC_INTERVALS]; /* 0: off */
    uint64_t roundup_bypass_threshold;                     /* bytes, 1.13 only; UINT64_MAX: none */
    bool expandable_segments;
    uint64_t large_segment_size; /* bytes; 20 MiB unless set (2.11 and later) */
    bool has_per_process_memory_fraction;
    double per_process_memory_fraction; /* 1: no bound */
    bool throw_on_cudamalloc_oom;
    enum mt_alloc_backend backend;
    bool release_lock_on_cudamalloc;
    bool pinned_use_cuda_host_register;
    uint64_t pinned_num_register_threads;
    bool pinned_use_background_threads;
    uint64_t pinned_reserve_segment_size; /* bytes */
    bool graph_capture_record_stream_reuse;
};

/* What PyTorch does with no settings at all. */
void mt_alloc_settings_default(struct mt_alloc_settings *s);

/* The keys, each with the release that began (and ended) to know it. */
#define MT_CONF_KEY_MAP(X)                                                                         \
    X(MAX_SPLIT_SIZE, "max_split_size_mb", 110, 999)                                               \
    X(MAX_NON_SPLIT_ROUNDING, "max_non_split_rounding_mb", 206, 999)                               \
    X(GARBAGE_COLLECTION, "garbage_collection_threshold", 112, 999)                                \
    X(ROUNDUP, "roundup_power2_divisions", 112, 999)                                               \
    X(ROUNDUP_BYPASS, "roundup_bypass_threshold_mb", 113, 113)                                     \
    X(BACKEND, "backend", 200, 999)                                                                \
    X(EXPANDABLE, "expandable_segments", 201, 999)                                                 \
    X(RELEASE_LOCK, "release_lock_on_cudamalloc", 202, 999)                                        \
    X(RELEASE_LOCK_HIP, "release_lock_on_hipmalloc", 202, 999)                                     \
    X(PINNED_REGISTER, "pinned_use_cuda_host_register", 202, 999)                                  \
    X(PINNED_REGISTER_HIP, "pinned_use_hip_host_register", 202, 999)                               \
    X(PINNED_THREADS, "pinned_num_register_threads", 202, 999)                                     \
    X(PINNED_BACKGROUND, "pinned_use_background_threads", 206, 999)                                \
    X(PINNED_RESERVE, "pinned_reserve_segment_size_mb", 210, 999)                                  \
    X(GRAPH_REUSE, "graph_capture_record_stream_reuse", 209, 999)                                  \
    X(FRACTION, "per_process_memory_fraction", 210, 999)                                           \
    X(LARGE_SEGMENT, "large_segment_size_mb", 211, 999)                                            \
    X(THROW_ON_OOM, "throw_on_cudamalloc_oom", 212, 999)

enum mt_conf_key {
#define X(id, name, since, until) MT_CONF_##id,
    MT_CONF_KEY_MAP(X)
#undef X
        MT_CONF_KEY_COUNT
};

const char *mt_conf_key_name(enum mt_conf_key key);
mt_torch_release mt_conf_key_since(enum mt_conf_key key);

/* What came of parsing a string. */
struct mt_conf {
    struct mt_alloc_settings settings;
    bool valid;
    bool dies;        /* invalid, and the process dies without a Python exception */
    char error[240];  /* what PyTorch says; empty when valid */
    char unknown[80]; /* the key that it does not know, when that is the error */
    /* Keys that memtool does not know, in a text for a release beyond the newest known or one that
     * a file was recorded with: their values were passed over. "a, b"; empty when there are none.
     */
    char unfamiliar[160];
    uint32_t keys;     /* bits 1u << enum mt_conf_key that were there */
    uint32_t repeated; /* keys that came more than once */
    bool trailing_comma, has_space;
    bool junk_after_number; /* "64MB": read as 64 */
};

/* Bytes; no environment variable of Linux is longer, and a longer text is not read. */
#define MT_CONF_LONGEST 131072

/*
 * Parses `text` as `release` would. Always fills *out; out->valid says whether PyTorch accepts it,
 * and settings hold what had been understood up to an error. Never fails: nothing is allocated.
 */
void mt_conf_parse(struct mt_str text, mt_torch_release release, struct mt_conf *out);

/* The same of settings that a program ran with, which proves that its release takes them: valid.
 * What memtool does not know is unfamiliar; where it cannot read on, `error` says why, and settings
 * hold what stood before. */
void mt_conf_parse_recorded(struct mt_str text, mt_torch_release release, struct mt_conf *out);

/* The known key that is nearest to `word` by edit distance, or MT_CONF_KEY_COUNT when none is near.
 */
enum mt_conf_key mt_conf_key_nearest(struct mt_str word);

#endif
