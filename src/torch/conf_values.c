/* SPDX-License-Identifier: MIT */
/*
 * What each key of the settings takes, and what PyTorch says when it is given something else.
 */
#include "support/units.h"
#include "torch/conf_tokens.h"

static bool is_power_of_2(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static uint64_t mib_to_bytes(uint64_t mib)
{
    return (mib < UINT64_MAX / MT_MIB ? mib : UINT64_MAX / MT_MIB) * MT_MIB;
}

/* A size in MiB, at least one large segment (above it up to 2.8), clamped to what fits. */
static bool split_size(struct mt_conf_parser *p, enum mt_conf_key key, uint64_t *bytes)
{
    uint64_t mb = 0, least = p->out->settings.large_segment_size / MT_MIB;
    if (!mt_conf_number(p, &mb)) {
        return false;
    }
    if (p->release < 209 ? mb <= least : mb < least) {
        return mt_conf_complain(p, "CachingAllocator option %s too small, must be %s %llu",
                                mt_conf_key_name(key),
                                p->release < 209 ? ">" : ">=", (unsigned long long)least);
    }
    *bytes = mib_to_bytes(mb);
    return true;
}

static bool take_max_split(struct mt_conf_parser *p, enum mt_conf_key key)
{
    p->out->settings.has_max_split_size = true;
    return split_size(p, key, &p->out->settings.max_split_size);
}

static bool take_non_split(struct mt_conf_parser *p, enum mt_conf_key key)
{
    return split_size(p, key, &p->out->settings.max_non_split_rounding);
}

static bool take_gc(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    double x = 0.0;
    if (!mt_conf_fraction(p, &x)) {
        return false;
    }
    if (!(x > 0.0 && x < 1.0)) {
        if (p->release >= 209) {
            return mt_conf_complain(p,
                                    "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
        }
        return mt_conf_complain(p, "garbage_collect_threshold too %s, set it 0.0~1.0",
                                x > 0.0 ? "big" : "small");
    }
    p->out->settings.garbage_collection_threshold = x;
    return true;
}

static bool take_backend(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    if (mt_conf_is(p, "native") || mt_conf_is(p, "cudaMallocAsync")) {
        p->out->settings.backend = mt_conf_is(p, "native") ? MT_BACKEND_NATIVE : MT_BACKEND_ASYNC;
        return true;
    }
    return mt_conf_complain(p, "Unknown allocator backend, options are native and cudaMallocAsync");
}

static bool take_threads(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t n = 0;
    if (!mt_conf_number(p, &n)) {
        return false;
    }
    if (!is_power_of_2(n)) {
        return mt_conf_complain(p, "Number of register threads has to be power of 2, got %llu",
                                (unsigned long long)n);
    }
    if (n > 128) {
        return mt_conf_complain(
            p, "Number of register threads should be less than or equal to 128, got %llu",
            (unsigned long long)n);
    }
    p->out->settings.pinned_num_register_threads = n;
    return true;
}

static bool take_reserve(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t mb = 0;
    if (!mt_conf_number(p, &mb)) {
        return false;
    }
    if (mb == 0) {
        return mt_conf_complain(p, "Pinned reserve segment size has to be greater than 0");
    }
    p->out->settings.pinned_reserve_segment_size = mib_to_bytes(mb);
    return true;
}

static bool take_fraction(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    double x = 0.0;
    if (!mt_conf_fraction(p, &x)) {
        return false;
    }
    if (!(x >= 0.0 && x <= 1.0)) {
        return mt_conf_complain(p, "per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
    }
    p->out->settings.has_per_process_memory_fraction = true;
    p->out->settings.per_process_memory_fraction = x;
    return true;
}

/* Its value was taken before the first reading; only a wrong one is told here. */
static bool take_large_segment(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t mb = 0;
    if (!mt_conf_number(p, &mb)) {
        return false;
    }
    if (mb <= 10) {
        return mt_conf_complain(p, "CachingAllocator option large_segment_size_mb must be > 10 MB");
    }
    return true;
}

static bool take_bypass(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t mb = 0;
    if (!mt_conf_number(p, &mb)) {
        return false;
    }
    p->out->settings.roundup_bypass_threshold = mb < UINT64_MAX / MT_MIB ? mb * MT_MIB : UINT64_MAX;
    return true;
}

static bool take_flag(struct mt_conf_parser *p, enum mt_conf_key key)
{
    struct mt_alloc_settings *s = &p->out->settings;
    bool *const fields[MT_CONF_KEY_COUNT] = {
        [MT_CONF_EXPANDABLE] = &s->expandable_segments,
        [MT_CONF_RELEASE_LOCK] = &s->release_lock_on_cudamalloc,
        [MT_CONF_RELEASE_LOCK_HIP] = &s->release_lock_on_cudamalloc,
        [MT_CONF_PINNED_REGISTER] = &s->pinned_use_cuda_host_register,
        [MT_CONF_PINNED_REGISTER_HIP] = &s->pinned_use_cuda_host_register,
        [MT_CONF_PINNED_BACKGROUND] = &s->pinned_use_background_threads,
        [MT_CONF_GRAPH_REUSE] = &s->graph_capture_record_stream_reuse,
        [MT_CONF_THROW_ON_OOM] = &s->throw_on_cudamalloc_oom,
    };
    return mt_conf_boolean(p, key, fields[key]);
}

/* ---- roundup_power2_divisions ---- */

static void fill(struct mt_alloc_settings *s, size_t from, size_t to, uint64_t value)
{
    for (size_t i = from; i < to && i < MT_ALLOC_INTERVALS; i++) {
        s->roundup_power2_divisions[i] = value;
    }
}

static size_t log2_of(uint64_t power)
{
    return (size_t)(63 - __builtin_clzll(power));
}

struct intervals {
    size_t last;
    bool some;
};

/* One "start:divisions", the current token being `start`, or ">" for all beyond the last. */
static bool take_pair(struct mt_conf_parser *p, struct intervals *list)
{
    struct mt_alloc_settings *s = &p->out->settings;
    struct mt_conf_parser left = *p;
    uint64_t start = 1, value = 0;
    if (!mt_conf_take(p, ":")) {
        return false;
    }
    mt_conf_advance(p);
    if (!mt_conf_number(p, &value)) {
        return false;
    }
    if (value != 0 && !is_power_of_2(value)) {
        return mt_conf_complain(
            p, "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
    }
    if (mt_conf_is(&left, ">")) {
        fill(s, list->last + (p->release >= 210), MT_ALLOC_INTERVALS, value);
        return true;
    }
    if (!mt_conf_number(&left, &start)) {
        return false;
    }
    if (!is_power_of_2(start)) {
        return mt_conf_complain(p, "For roundups, the intervals have to be power of 2 ");
    }
    size_t i = log2_of(start) < MT_ALLOC_INTERVALS ? log2_of(start) : MT_ALLOC_INTERVALS - 1;
    if (!list->some) {
        fill(s, 0, i, value);
    }
    s->roundup_power2_divisions[i] = value;
    *list = (struct intervals){i, true};
    return true;
}

static bool take_list(struct mt_conf_parser *p)
{
    struct intervals list = {0, false};
    for (mt_conf_advance(p); !mt_conf_is(p, "]"); mt_conf_advance(p)) {
        if (p->word[0] == '\0') {
            return mt_conf_expected(p, "]");
        }
        if (!take_pair(p, &list)) {
            return false;
        }
        if (!mt_conf_next_is(p, "]") && !mt_conf_take(p, ",")) {
            return false;
        }
    }
    return true;
}

static bool take_roundup(struct mt_conf_parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t value = 0;
    if (mt_conf_is(p, "[") && p->release >= 200) {
        return take_list(p);
    }
    if (!mt_conf_number(p, &value)) {
        return false;
    }
    if (!is_power_of_2(value)) {
        return mt_conf_complain(p, "For roundups, the divisions has to be power of 2 ");
    }
    fill(&p->out->settings, 0, MT_ALLOC_INTERVALS, value);
    return true;
}

/* ---- the table ---- */

struct key_value {
    bool (*take)(struct mt_conf_parser *p, enum mt_conf_key key);
    bool shared; /* read in the first pass from 2.9 on */
};

static const struct key_value VALUES[MT_CONF_KEY_COUNT] = {
    [MT_CONF_MAX_SPLIT_SIZE] = {.take = take_max_split, .shared = true},
    [MT_CONF_MAX_NON_SPLIT_ROUNDING] = {.take = take_non_split, .shared = true},
    [MT_CONF_GARBAGE_COLLECTION] = {.take = take_gc, .shared = true},
    [MT_CONF_ROUNDUP] = {.take = take_roundup, .shared = true},
    [MT_CONF_ROUNDUP_BYPASS] = {.take = take_bypass},
    [MT_CONF_BACKEND] = {.take = take_backend},
    [MT_CONF_EXPANDABLE] = {.take = take_flag, .shared = true},
    [MT_CONF_RELEASE_LOCK] = {.take = take_flag},
    [MT_CONF_RELEASE_LOCK_HIP] = {.take = take_flag},
    [MT_CONF_PINNED_REGISTER] = {.take = take_flag},
    [MT_CONF_PINNED_REGISTER_HIP] = {.take = take_flag},
    [MT_CONF_PINNED_THREADS] = {.take = take_threads},
    [MT_CONF_PINNED_BACKGROUND] = {.take = take_flag, .shared = true},
    [MT_CONF_PINNED_RESERVE] = {.take = take_reserve},
    [MT_CONF_GRAPH_REUSE] = {.take = take_flag},
    [MT_CONF_FRACTION] = {.take = take_fraction},
    [MT_CONF_LARGE_SEGMENT] = {.take = take_large_segment, .shared = true},
    [MT_CONF_THROW_ON_OOM] = {.take = take_flag},
};

bool mt_conf_set(struct mt_conf_parser *p, enum mt_conf_key key)
{
    return VALUES[key].take(p, key);
}

bool mt_conf_is_shared(enum mt_conf_key key)
{
    return VALUES[key].shared;
}
