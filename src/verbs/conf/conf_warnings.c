/* SPDX-License-Identifier: MIT */
/*
 * What is worth a warning about a settings string: keys that do nothing, keys that work against
 * each other, what another release makes of the same string, and which variable wins. Each rule is
 * a function in one table; most look at the parsed settings alone.
 */
#include "verbs/conf/conf_explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct subject {
    struct mt_str text;
    const struct mt_conf *conf;
    const struct mt_alloc_settings *s;
    mt_torch_release release;
    const struct mt_conf_origin *origin;
    struct mt_conf_warnings *out;
};

/* Releases at which the parser or the policy changed. */
static const mt_torch_release RELEASES[] = {113, 200, 201, 203, 204, 206,
                                            208, 209, 210, 211, 212, 213};

static void warn(const struct subject *x, const char *id, const char *format, ...) MT_PRINTF(3, 4);
static void warn(const struct subject *x, const char *id, const char *format, ...)
{
    if (x->out->n == MT_CONF_WARNINGS) {
        return;
    }
    struct mt_conf_warning *w = &x->out->v[x->out->n++];
    w->id = id;
    va_list args;
    va_start(args, format);
    vsnprintf(w->text, sizeof w->text, format, args);
    va_end(args);
}

static bool has(const struct subject *x, enum mt_conf_key key)
{
    return (x->conf->keys >> key) & 1;
}

static void unfamiliar_keys(const struct subject *x)
{
    if (x->conf->unfamiliar[0]) {
        warn(x, "not_known_to_memtool",
             "not known to this memtool: %s. What that does is not said here, and simulate does "
             "not follow it",
             x->conf->unfamiliar);
    }
    if (x->conf->valid && x->conf->error[0]) {
        warn(x, "not_read_to_the_end", "this memtool cannot read on where it says: %s",
             x->conf->error);
    }
}

static void unknown_key(const struct subject *x)
{
    if (!x->conf->unknown[0]) {
        return;
    }
    for (size_t k = 0; k < MT_CONF_KEY_COUNT; k++) {
        if (strcmp(mt_conf_key_name((enum mt_conf_key)k), x->conf->unknown) == 0) {
            mt_torch_release since = mt_conf_key_since((enum mt_conf_key)k);
            warn(x, "not_in_this_release", "%s is known since PyTorch %d.%d", x->conf->unknown,
                 since / 100, since % 100);
            return;
        }
    }
    enum mt_conf_key near = mt_conf_key_nearest(mt_str_from(x->conf->unknown));
    if (near != MT_CONF_KEY_COUNT) {
        warn(x, "did_you_mean", "did you mean %s?", mt_conf_key_name(near));
    }
    if (x->release == MT_TORCH_NEWEST) {
        warn(x, "perhaps_newer",
             "if it is a key of a release after PyTorch %d.%d, this memtool does not know it: "
             "--torch names the release",
             MT_TORCH_NEWEST / 100, MT_TORCH_NEWEST % 100);
    }
}

static void collection_without_fraction(const struct subject *x)
{
    bool bounded = x->s->has_per_process_memory_fraction && x->s->per_process_memory_fraction < 1.0;
    if (x->s->garbage_collection_threshold > 0.0 && !bounded) {
        warn(x, "gc_without_fraction",
             "garbage_collection_threshold does nothing unless a memory fraction is set: "
             "torch.cuda.set_per_process_memory_fraction(...)%s",
             x->release >= 210 ? ", or per_process_memory_fraction here" : "");
    }
}

static void ignored_by_async(const struct subject *x)
{
    uint32_t others = x->conf->keys & ~(1u << MT_CONF_BACKEND);
    if (x->s->backend != MT_BACKEND_ASYNC) {
        return;
    }
    if (others) {
        warn(x, "ignored_by_async", "backend:cudaMallocAsync ignores every other key here");
    }
    if (x->origin->has_cuda && x->origin->cuda < 1104) {
        warn(x, "cuda_too_old", "backend:cudaMallocAsync needs CUDA 11.4, this is %d.%d",
             x->origin->cuda / 100, x->origin->cuda % 100);
    }
}

static void expandable_conflicts(const struct subject *x)
{
    if (!x->s->expandable_segments) {
        return;
    }
    if (x->s->max_split_size != UINT64_MAX) {
        warn(
            x, "expandable_with_max_split",
            "together with expandable_segments, max_split_size_mb can make reserved memory grow "
            "without bound: free ranges of that size and above serve no smaller request, so new "
            "pages are mapped, and no free range is given back for them; leave one of the two out");
    }
    if (x->s->garbage_collection_threshold > 0.0) {
        warn(x, "expandable_with_gc",
             "garbage collection frees no expandable segments: with expandable_segments:True it "
             "has next to nothing to do");
    }
    if (x->release < 205) {
        warn(x, "expandable_limits",
             "before 2.5 tensors in expandable segments cannot be shared between processes, and "
             "CUDA graphs and MemPools do not use them");
    }
}

static void fraction_of_one(const struct subject *x)
{
    if (has(x, MT_CONF_FRACTION) && x->s->per_process_memory_fraction >= 1.0) {
        warn(x, "no_bound", "per_process_memory_fraction:1 is no bound at all");
    }
}

static void split_size_unlimited(const struct subject *x)
{
    if (x->conf->valid && x->s->has_max_split_size && x->s->max_split_size >= (uint64_t)1 << 44) {
        warn(x, "max_split_out_of_reach",
             "max_split_size_mb is larger than any device: it changes nothing (a negative number "
             "is read as a huge one)");
    }
}

static void rounding_alone(const struct subject *x)
{
    if (has(x, MT_CONF_MAX_NON_SPLIT_ROUNDING) && x->s->max_split_size == UINT64_MAX) {
        warn(x, "rounding_without_max_split",
             "max_non_split_rounding_mb does nothing without max_split_size_mb");
    }
}

static void single_division(const struct subject *x)
{
    bool one = false;
    for (size_t i = 0; i < MT_ALLOC_INTERVALS; i++) {
        one |= x->s->roundup_power2_divisions[i] == 1;
    }
    if (one && x->release < 204) {
        warn(x, "single_division",
             "before 2.4 a roundup_power2_divisions of 1 leaves sizes unaligned: avoid it");
    } else if (one) {
        warn(x, "single_division", "a roundup_power2_divisions of 1 means no rounding");
    }
}

static void equals_for_colon(const struct subject *x)
{
    if (!x->conf->valid && memchr(x->text.p, '=', x->text.n)) {
        warn(x, "equals_for_colon", "a colon stands between a name and its value: name:value");
    }
}

static void careless_writing(const struct subject *x)
{
    if (x->conf->junk_after_number) {
        warn(x, "junk_after_number",
             "only the digits of a number are read: a unit such as MB behind it is ignored");
    }
    for (size_t k = 0; k < MT_CONF_KEY_COUNT; k++) {
        if ((x->conf->repeated >> k) & 1) {
            warn(x, "repeated_key", "%s stands here more than once: the last one counts",
                 mt_conf_key_name((enum mt_conf_key)k));
        }
    }
    if (x->conf->has_space && x->release < 200) {
        warn(x, "space", "before 2.0 a blank ends an item");
    }
}

/* ---- other releases ---- */

static bool same_table(const struct mt_alloc_settings *a, const struct mt_alloc_settings *b)
{
    return memcmp(a->roundup_power2_divisions, b->roundup_power2_divisions,
                  sizeof a->roundup_power2_divisions) == 0;
}

static void other_releases(const struct subject *x)
{
    bool told = x->conf->unfamiliar[0] != '\0'; /* of those keys no release is known */
    for (size_t i = MT_COUNT(RELEASES); i-- > 0 && !told;) {
        struct mt_conf other;
        mt_torch_release r = RELEASES[i];
        mt_conf_parse(x->text, r, &other);
        if (x->conf->valid && !other.valid) {
            warn(x, "refused_elsewhere", "PyTorch %d.%d refuses it: %s", r / 100, r % 100,
                 other.error);
            told = true;
        } else if (!x->conf->valid && other.valid) {
            warn(x, "accepted_elsewhere", "PyTorch %d.%d accepts it", r / 100, r % 100);
            told = true;
        }
    }
    for (size_t i = 0; i < MT_COUNT(RELEASES) && x->conf->valid; i++) {
        struct mt_conf other;
        mt_torch_release r = RELEASES[i];
        mt_conf_parse(x->text, r, &other);
        if (other.valid && !same_table(&other.settings, x->s)) {
            warn(x, "reads_differently",
                 "PyTorch %d.%d reads the list differently: up to 2.9 '>' replaces the last "
                 "interval that is named too",
                 r / 100, r % 100);
            return;
        }
    }
}

/* ---- where it comes from ---- */

static void variables(const struct subject *x)
{
    const struct mt_conf_origin *o = x->origin;
    if (!o->from_environment) {
        return;
    }
    enum mt_conf_variable read = mt_conf_variable_read(x->release, o->values);
    for (size_t v = 0; v < MT_CONF_VARIABLE_COUNT; v++) {
        if (o->values[v] && v != (size_t)read && strcmp(o->values[v], o->values[read]) != 0) {
            warn(x, "two_variables",
                 "%s is set too, to something else: PyTorch %d.%d reads %s only",
                 mt_conf_variable_name((enum mt_conf_variable)v), x->release / 100,
                 x->release % 100, mt_conf_variable_name(read));
        }
    }
    if (read != MT_CONF_VARIABLE_COUNT && read != MT_CONF_VARIABLE_ANY && x->release >= 209 &&
        x->release <= 211) {
        warn(x, "deprecated_variable",
             "PyTorch 2.9 to 2.11 print that %s is deprecated; later ones "
             "read it first again",
             mt_conf_variable_name(read));
    }
}

static void caching_off(const struct subject *x)
{
    if (x->origin->caching_is_off) {
        warn(x, "caching_is_off",
             "PYTORCH_NO_CUDA_MEMORY_CACHING is set (to anything): there is no caching allocator, "
             "and none of these settings has an effect");
    }
}

void mt_conf_warn(struct mt_str text, const struct mt_conf *conf, mt_torch_release release,
                  const struct mt_conf_origin *origin, struct mt_conf_warnings *out)
{
    static void (*const rules[])(const struct subject *x) = {unfamiliar_keys,
                                                             unknown_key,
                                                             equals_for_colon,
                                                             caching_off,
                                                             variables,
                                                             ignored_by_async,
                                                             collection_without_fraction,
                                                             expandable_conflicts,
                                                             fraction_of_one,
                                                             split_size_unlimited,
                                                             rounding_alone,
                                                             single_division,
                                                             careless_writing,
                                                             other_releases};
    struct subject x = {text, conf, &conf->settings, release, origin, out};
    out->n = 0;
    for (size_t i = 0; i < MT_COUNT(rules); i++) {
        rules[i](&x);
    }
}
