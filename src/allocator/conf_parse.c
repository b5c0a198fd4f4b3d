/* SPDX-License-Identifier: MIT */
/*
 * Parses PYTORCH_CUDA_ALLOC_CONF as the named release would, its odd corners included: blanks
 * vanish wherever they stand, numbers may carry junk behind their digits, negative sizes wrap
 * around and are clamped, a trailing comma is fine, and from 2.9 on the text is read twice (first
 * the keys that all accelerators share, then those of CUDA), which decides what error comes first.
 * Where PyTorch runs past its tokens the process dies without an exception; here that is `dies`.
 */
#include <memtool/alloc_conf.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf_keys.h"

/* Longer words are cut: no key and no number that fits is as long. */
#define WORD 96

struct parser {
    struct mt_str text;
    size_t at;
    size_t index; /* of the current token */
    mt_torch_release release;
    struct mt_conf *out;
    bool shared_pass; /* 2.9 on: the first reading */
    char word[WORD];  /* the current token; empty at the end */
};

/* ---- errors ---- */

static bool complain(struct parser *p, const char *format, ...) MT_PRINTF(2, 3);
static bool complain(struct parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->out->error, sizeof p->out->error, format, args);
    va_end(args);
    return false;
}

/* From 2.9 on a missing token ends the process; earlier releases raise. */
static bool expected(struct parser *p, const char *token)
{
    if (p->release < 209) {
        return complain(p, "Error parsing CachingAllocator settings, expected %s", token);
    }
    p->out->dies = true;
    return complain(p, "Expected '%s' at index %zu in ConfigTokenizer but got '%s'", token,
                    p->index, p->word);
}

/* ---- tokens ---- */

static bool is_blank(const struct parser *p, char c)
{
    return c == ' ' || (p->release >= 209 && (c == '\t' || (c >= '\n' && c <= '\r')));
}

static bool is_mark(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

/* Reads the token at `at` into word (empty at the end of the text); returns where the next begins.
 */
static size_t scan(const struct parser *p, size_t at, char word[WORD])
{
    size_t n = 0;
    for (; at < p->text.n; at++) {
        char c = p->text.p[at];
        if (is_blank(p, c)) {
            p->out->has_space = true;
            continue;
        }
        if (is_mark(c)) {
            if (n == 0) {
                word[n++] = c;
                at++;
            }
            break;
        }
        if (n < WORD - 1) {
            word[n++] = c == '\0' ? '?' : c;
        }
    }
    word[n] = '\0';
    return at;
}

static void advance(struct parser *p)
{
    p->at = scan(p, p->at, p->word);
    p->index++;
}

static bool is_word(const struct parser *p, const char *word)
{
    return strcmp(p->word, word) == 0;
}

static bool peek_is(const struct parser *p, const char *word)
{
    char next[WORD];
    scan(p, p->at, next);
    return strcmp(next, word) == 0;
}

static bool take(struct parser *p, const char *token)
{
    advance(p);
    return is_word(p, token) || expected(p, token);
}

/* ---- values ---- */

/* std::stoi up to 2.8, std::stoull since: leading digits count, a sign is taken, wrapping as C
 * does.
 */
static bool number(struct parser *p, uint64_t *out)
{
    const char *digits = p->word + (p->word[0] == '-' || p->word[0] == '+');
    bool narrow = p->release < 209;
    if (digits[0] < '0' || digits[0] > '9') {
        return complain(p, "%s", narrow ? "stoi" : "stoull");
    }
    char *end;
    errno = 0;
    if (narrow) {
        long long n = strtoll(p->word, &end, 10);
        if (errno || n > INT32_MAX || n < INT32_MIN) {
            return complain(p, "stoi");
        }
        *out = (uint64_t)n;
    } else {
        *out = strtoull(p->word, &end, 10);
        if (errno) {
            return complain(p, "stoull");
        }
    }
    p->out->junk_after_number |= *end != '\0';
    return true;
}

static bool fraction(struct parser *p, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(p->word, &end);
    if (end == p->word || errno) {
        return complain(p, "stod");
    }
    p->out->junk_after_number |= *end != '\0';
    return true;
}

static bool boolean(struct parser *p, enum mt_conf_key key, bool *out)
{
    *out = is_word(p, "True");
    if (*out || is_word(p, "False")) {
        return true;
    }
    if (p->release < 209) {
        return complain(p, "Expected a single True/False argument for %s", mt_conf_key_name(key));
    }
    return complain(p, "Expected 'True' or 'False' at index %zu in ConfigTokenizer but got '%s'",
                    p->index, p->word);
}

static bool is_power_of_2(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* A size in MiB, at least one large segment (above it up to 2.8), clamped to what fits. */
static bool split_size(struct parser *p, enum mt_conf_key key, uint64_t *bytes)
{
    uint64_t mb = 0, least = p->out->settings.large_segment_size / MT_MIB;
    if (!number(p, &mb)) {
        return false;
    }
    if (p->release < 209 ? mb <= least : mb < least) {
        return complain(p, "CachingAllocator option %s too small, must be %s %llu",
                        mt_conf_key_name(key),
                        p->release < 209 ? ">" : ">=", (unsigned long long)least);
    }
    *bytes = (mb < UINT64_MAX / MT_MIB ? mb : UINT64_MAX / MT_MIB) * MT_MIB;
    return true;
}

static bool take_max_split(struct parser *p, enum mt_conf_key key)
{
    p->out->settings.has_max_split_size = true;
    return split_size(p, key, &p->out->settings.max_split_size);
}

static bool take_non_split(struct parser *p, enum mt_conf_key key)
{
    return split_size(p, key, &p->out->settings.max_non_split_rounding);
}

static bool take_gc(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    double x = 0.0;
    if (!fraction(p, &x)) {
        return false;
    }
    if (!(x > 0.0 && x < 1.0)) {
        if (p->release >= 209) {
            return complain(p, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
        }
        return complain(p, "garbage_collect_threshold too %s, set it 0.0~1.0",
                        x > 0.0 ? "big" : "small");
    }
    p->out->settings.garbage_collection_threshold = x;
    return true;
}

static bool take_backend(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    if (is_word(p, "native") || is_word(p, "cudaMallocAsync")) {
        p->out->settings.backend = is_word(p, "native") ? MT_BACKEND_NATIVE : MT_BACKEND_ASYNC;
        return true;
    }
    return complain(p, "Unknown allocator backend, options are native and cudaMallocAsync");
}

static bool take_threads(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t n = 0;
    if (!number(p, &n)) {
        return false;
    }
    if (!is_power_of_2(n)) {
        return complain(p, "Number of register threads has to be power of 2, got %llu",
                        (unsigned long long)n);
    }
    if (n > 128) {
        return complain(p,
                        "Number of register threads should be less than or equal to 128, got %llu",
                        (unsigned long long)n);
    }
    p->out->settings.pinned_num_register_threads = n;
    return true;
}

static bool take_reserve(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t mb = 0;
    if (!number(p, &mb)) {
        return false;
    }
    if (mb == 0) {
        return complain(p, "Pinned reserve segment size has to be greater than 0");
    }
    p->out->settings.pinned_reserve_segment_size =
        (mb < UINT64_MAX / MT_MIB ? mb : UINT64_MAX / MT_MIB) * MT_MIB;
    return true;
}

static bool take_fraction(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    double x = 0.0;
    if (!fraction(p, &x)) {
        return false;
    }
    if (!(x >= 0.0 && x <= 1.0)) {
        return complain(p, "per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
    }
    p->out->settings.has_per_process_memory_fraction = true;
    p->out->settings.per_process_memory_fraction = x;
    return true;
}

/* Its value was taken before the first reading; only a wrong one is told here. */
static bool take_large_segment(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t mb = 0;
    if (!number(p, &mb)) {
        return false;
    }
    if (mb <= 10) {
        return complain(p, "CachingAllocator option large_segment_size_mb must be > 10 MB");
    }
    return true;
}

static bool take_bypass(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t mb = 0;
    if (!number(p, &mb)) {
        return false;
    }
    p->out->settings.roundup_bypass_threshold = mb < UINT64_MAX / MT_MIB ? mb * MT_MIB : UINT64_MAX;
    return true;
}

static bool take_flag(struct parser *p, enum mt_conf_key key)
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
    return boolean(p, key, fields[key]);
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

/* One "start:divisions" with `start` in `word`; p stands on the divisions afterwards. */
static bool take_pair(struct parser *p, struct intervals *list)
{
    struct mt_alloc_settings *s = &p->out->settings;
    bool rest = is_word(p, ">");
    uint64_t start = 1, value = 0;
    char word[WORD];
    memcpy(word, p->word, sizeof word);
    size_t index = p->index;
    if (!take(p, ":")) {
        return false;
    }
    advance(p);
    if (!number(p, &value)) {
        return false;
    }
    if (value != 0 && !is_power_of_2(value)) {
        return complain(
            p, "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
    }
    if (rest) {
        fill(s, list->last + (p->release >= 210), MT_ALLOC_INTERVALS, value);
        return true;
    }
    struct parser left = *p;
    memcpy(left.word, word, sizeof word);
    left.index = index;
    if (!number(&left, &start)) {
        return false;
    }
    if (!is_power_of_2(start)) {
        return complain(p, "For roundups, the intervals have to be power of 2 ");
    }
    size_t i = log2_of(start) < MT_ALLOC_INTERVALS ? log2_of(start) : MT_ALLOC_INTERVALS - 1;
    if (!list->some) {
        fill(s, 0, i, value);
    }
    s->roundup_power2_divisions[i] = value;
    *list = (struct intervals){i, true};
    return true;
}

static bool take_list(struct parser *p)
{
    struct intervals list = {0, false};
    for (advance(p); !is_word(p, "]"); advance(p)) {
        if (p->word[0] == '\0') {
            return expected(p, "]");
        }
        if (!take_pair(p, &list)) {
            return false;
        }
        if (!peek_is(p, "]") && !take(p, ",")) {
            return false;
        }
    }
    return true;
}

static bool take_roundup(struct parser *p, enum mt_conf_key key)
{
    (void)key;
    uint64_t value = 0;
    if (is_word(p, "[") && p->release >= 200) {
        return take_list(p);
    }
    if (!number(p, &value)) {
        return false;
    }
    if (!is_power_of_2(value)) {
        return complain(p, "For roundups, the divisions has to be power of 2 ");
    }
    fill(&p->out->settings, 0, MT_ALLOC_INTERVALS, value);
    return true;
}

/* ---- keys ---- */

struct reader {
    bool (*take)(struct parser *p, enum mt_conf_key key);
    bool shared; /* read in the first pass from 2.9 on */
};

static const struct reader HOW[MT_CONF_KEY_COUNT] = {
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

static enum mt_conf_key key_find(const struct parser *p)
{
    size_t k = 0;
    while (k < MT_CONF_KEY_COUNT &&
           !(strcmp(MT_CONF_KEYS[k].name, p->word) == 0 && p->release >= MT_CONF_KEYS[k].since &&
             p->release <= MT_CONF_KEYS[k].until)) {
        k++;
    }
    return (enum mt_conf_key)k;
}

static bool unknown(struct parser *p)
{
    snprintf(p->out->unknown, sizeof p->out->unknown, "%.79s", p->word);
    if (p->release >= 209) {
        return complain(p, "Unrecognized key '%s' in CUDA allocator config.", p->word);
    }
    return complain(p, "Unrecognized CachingAllocator option: %s", p->word);
}

/* Over a value that another pass reads. */
static bool skip_value(struct parser *p)
{
    if (!take(p, ":")) {
        return false;
    }
    advance(p);
    if (p->word[0] == '\0') {
        return expected(p, "value");
    }
    if (is_word(p, "[")) {
        while (!is_word(p, "]")) {
            if (p->word[0] == '\0') {
                return expected(p, "]");
            }
            advance(p);
        }
    }
    return true;
}

static void note_key(struct parser *p, enum mt_conf_key key)
{
    uint32_t bit = 1u << key;
    p->out->repeated |= p->out->keys & bit;
    p->out->keys |= bit;
}

static bool take_item(struct parser *p)
{
    enum mt_conf_key key = key_find(p);
    bool two_passes = p->release >= 209;
    if (key == MT_CONF_KEY_COUNT) {
        return p->shared_pass ? skip_value(p) : unknown(p);
    }
    if (two_passes && HOW[key].shared != p->shared_pass) {
        return skip_value(p);
    }
    note_key(p, key);
    if (!take(p, ":")) {
        return false;
    }
    advance(p);
    if (p->word[0] == '\0') {
        return expected(p, "value");
    }
    return HOW[key].take(p, key);
}

static bool read_all(struct parser *p, bool shared_pass)
{
    p->at = 0;
    p->index = SIZE_MAX;
    p->shared_pass = shared_pass;
    for (advance(p); p->word[0] != '\0'; advance(p)) {
        if (!take_item(p)) {
            return false;
        }
        if (peek_is(p, "")) {
            break;
        }
        if (!take(p, ",")) {
            return false;
        }
        p->out->trailing_comma |= peek_is(p, "");
    }
    return true;
}

/* The large segment size decides the bounds of other keys, so PyTorch takes it before all else. */
static void find_large_segment(struct parser *p)
{
    struct mt_conf aside = *p->out;
    struct parser q = *p;
    q.out = &aside;
    for (advance(&q); q.word[0] != '\0'; advance(&q)) {
        bool found = key_find(&q) == MT_CONF_LARGE_SEGMENT;
        uint64_t mb = 0;
        if (found && take(&q, ":") && (advance(&q), number(&q, &mb)) && mb > 10) {
            mb = mb < UINT64_MAX / 4 / MT_MIB ? mb : UINT64_MAX / 4 / MT_MIB;
            p->out->settings.large_segment_size = mb * MT_MIB;
            p->out->settings.max_non_split_rounding = mb * MT_MIB;
        }
    }
}

/* ---- 1.13: items at commas and blanks, exactly one colon in each ---- */

static bool read_first_grammar(struct parser *p)
{
    size_t at = 0;
    while (at < p->text.n) {
        size_t end = at, colons = 0;
        for (; end < p->text.n && p->text.p[end] != ',' && p->text.p[end] != ' '; end++) {
            colons += p->text.p[end] == ':';
        }
        if (end > at) {
            struct parser item = *p;
            item.text = (struct mt_str){p->text.p + at, end - at};
            item.at = 0;
            item.index = SIZE_MAX;
            if (colons != 1) {
                return complain(p, "Error parsing CachingAllocator settings, expected key:value");
            }
            advance(&item);
            if (!take_item(&item)) {
                return false;
            }
        }
        at = end + 1;
    }
    return true;
}

void mt_alloc_settings_default(struct mt_alloc_settings *s)
{
    *s = (struct mt_alloc_settings){
        .max_split_size = UINT64_MAX,
        .max_non_split_rounding = 20 * MT_MIB,
        .roundup_bypass_threshold = UINT64_MAX,
        .large_segment_size = 20 * MT_MIB,
        .per_process_memory_fraction = 1.0,
        .pinned_num_register_threads = 1,
    };
}

void mt_conf_parse(struct mt_str text, mt_torch_release release, struct mt_conf *out)
{
    *out = (struct mt_conf){.valid = false};
    mt_alloc_settings_default(&out->settings);
    struct parser p = {.text = text, .release = release, .out = out};
    if (release < 200) {
        out->valid = read_first_grammar(&p);
        return;
    }
    find_large_segment(&p);
    out->valid = (release < 209 || read_all(&p, true)) && read_all(&p, false);
    if (out->valid) {
        out->dies = false;
    }
}
