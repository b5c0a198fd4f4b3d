/* SPDX-License-Identifier: MIT */
/*
 * The best of all sensible settings. A short recording is replayed under all combinations of all
 * values. Of a long one the first values of each key are tried, all combinations or key by key: the
 * key that brings most is kept, then the next is sought, until none brings anything; then the other
 * values take the place of those in the best ones. max_split_size_mb is not tried beside
 * expandable_segments: blocks beyond it are then never used again, and reserved memory grows
 * without bound.
 */
#include <stdio.h>
#include <string.h>

#include "torch/alloc_conf.h"
#include "verbs/simulate/sim.h"

#define MOST_STEPS 200000000 /* steps of a program times combinations: about 15 seconds */
#define MOST_VALUES 32
#define BATCH 8 /* settings that are tried side by side */

/* "" is the default. */
static const struct axis {
    const char *key;
    bool with_limit; /* does nothing without a limit */
    uint8_t coarse;  /* of the values, that a long recording is tried with first */
    const char *values[MOST_VALUES];
} AXES[] = {
    {"expandable_segments", false, 2, {"", "True"}},
    {"max_split_size_mb", false, 8, {"",     "21",  "32",  "64",  "128", "256", "512",
                                     "1024", "22",  "24",  "28",  "36",  "40",  "44",
                                     "48",   "56",  "72",  "80",  "96",  "112", "160",
                                     "192",  "224", "288", "320", "384", "448", "768"}},
    {"roundup_power2_divisions", false, 5, {"", "2", "4", "8", "16"}},
    {"large_segment_size_mb", false, 4, {"", "12", "40", "64", "16", "32", "128"}},
    {"garbage_collection_threshold", true, 3, {"", "0.6", "0.8"}},
};
enum { EXPANDABLE, MAX_SPLIT, N_AXES = MT_COUNT(AXES) };

/* The value of each axis, by index; 0 is the default. */
struct choice {
    uint8_t at[N_AXES];
};

struct search {
    struct mt_sim *sim;
    struct mt_sim_search *out;
    bool has_limit;
    bool fine; /* all values, not only the coarse ones */
    struct choice waiting[BATCH];
    struct mt_sim_try tries[BATCH];
    size_t waits;
    struct choice best; /* of what fits, reserving `least` bytes */
    uint64_t least;
    struct mt_error *err;
};

static bool has_value(const struct search *s, size_t axis, uint8_t value)
{
    return value < (s->fine ? MOST_VALUES : AXES[axis].coarse) && AXES[axis].values[value];
}

static unsigned keys_of(const struct choice *c)
{
    unsigned keys = 0;
    for (unsigned i = 0; i < N_AXES; i++) {
        keys |= c->at[i] > 0 ? 1u << i : 0;
    }
    return keys;
}

static bool is_sensible(const struct search *s, const struct choice *c)
{
    for (size_t i = 0; i < N_AXES; i++) {
        if (!has_value(s, i, c->at[i]) || (c->at[i] > 0 && AXES[i].with_limit && !s->has_limit)) {
            return false;
        }
    }
    return c->at[EXPANDABLE] == 0 || c->at[MAX_SPLIT] == 0;
}

static void spell(const struct choice *c, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < N_AXES; i++) {
        if (c->at[i] > 0 && used < size) {
            int n = snprintf(out + used, size - used, "%s%s:%s", used ? "," : "", AXES[i].key,
                             AXES[i].values[c->at[i]]);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

/* Other values of the same keys come to the same. */
static bool is_alike(const struct mt_sim_found *x, const struct mt_sim_found *y)
{
    return x->keys == y->keys && mt_sim_run_compare(&x->run, &y->run) == 0;
}

/* y has all keys of x and others, for the same. */
static bool is_needless(const struct mt_sim_found *x, const struct mt_sim_found *y)
{
    return x->run.verdict == y->run.verdict && x->run.peak.reserved == y->run.peak.reserved &&
           x->keys != y->keys && (x->keys & y->keys) == x->keys;
}

static void forget(struct mt_sim_search *out, size_t at)
{
    mt_sim_run_release(&out->best[at].run);
    out->n--;
    memmove(&out->best[at], &out->best[at + 1], (out->n - at) * sizeof *out->best);
}

/* Keeps the run where it is among the best. */
static void keep(struct mt_sim_search *out, struct mt_sim_found *x)
{
    bool kept = true;
    for (size_t i = out->n; i-- > 0;) {
        kept &= !is_needless(&out->best[i], x) && !is_alike(&out->best[i], x);
        if (is_needless(x, &out->best[i])) {
            forget(out, i);
        }
    }
    size_t at = out->n;
    while (at > 0 && mt_sim_run_compare(&x->run, &out->best[at - 1].run) < 0) {
        at--;
    }
    if (!kept || at == MT_SIM_FOUND) {
        mt_sim_run_release(&x->run);
        return;
    }
    if (out->n == MT_SIM_FOUND) {
        forget(out, out->n - 1);
    }
    memmove(&out->best[at + 1], &out->best[at], (out->n - at) * sizeof *out->best);
    out->best[at] = *x;
    out->n++;
}

/* Tries what waits, in the order in which it was added. */
static enum mt_status flush(struct search *s)
{
    struct mt_conf confs[BATCH];
    char texts[BATCH][sizeof((struct mt_sim_run *)0)->conf];
    size_t n = s->waits;
    s->waits = 0;
    for (size_t i = 0; i < n; i++) {
        spell(&s->waiting[i], texts[i], sizeof texts[i]);
        mt_conf_parse(mt_str_from(texts[i]), s->sim->release, &confs[i]);
        s->tries[i] = (struct mt_sim_try){
            .settings = &confs[i].settings, .conf = mt_str_from(texts[i]), .order = s->sim->order};
    }
    enum mt_status status = mt_sim_try_all(s->sim, s->tries, n, s->err);
    for (size_t i = 0; i < n; i++) {
        struct mt_sim_found found = {.keys = keys_of(&s->waiting[i]), .run = s->tries[i].run};
        uint64_t reserved = found.run.peak.reserved;
        if (status != MT_OK) {
            mt_sim_run_release(&found.run);
            continue;
        }
        if (found.run.verdict != MT_SIM_OUT_OF_MEMORY && reserved < s->least) {
            s->least = reserved;
            s->best = s->waiting[i];
        }
        memcpy(found.values, s->waiting[i].at, sizeof s->waiting[i].at);
        s->out->tried++;
        keep(s->out, &found);
    }
    return status;
}

/* A choice that makes no sense, or that the release refuses, is not tried. */
static enum mt_status try_choice(struct search *s, const struct choice *c)
{
    struct mt_conf conf;
    char text[sizeof((struct mt_sim_run *)0)->conf];
    spell(c, text, sizeof text);
    mt_conf_parse(mt_str_from(text), s->sim->release, &conf);
    if (!is_sensible(s, c) || !conf.valid) {
        return MT_OK;
    }
    s->waiting[s->waits++] = *c;
    return s->waits == BATCH ? flush(s) : MT_OK;
}

/* The next combination; false behind the last. */
static bool advance(const struct search *s, struct choice *c)
{
    for (size_t i = 0; i < N_AXES; i++) {
        c->at[i]++;
        if (has_value(s, i, c->at[i])) {
            return true;
        }
        c->at[i] = 0;
    }
    return false;
}

static size_t combinations(const struct search *s)
{
    struct choice c = {{0}};
    size_t n = 0;
    do {
        n += is_sensible(s, &c);
    } while (advance(s, &c));
    return n;
}

static enum mt_status try_all(struct search *s)
{
    struct choice c = {{0}};
    do {
        MT_TRY(try_choice(s, &c));
    } while (advance(s, &c));
    return flush(s);
}

static enum mt_status try_by_key(struct search *s)
{
    uint64_t before = UINT64_MAX;
    MT_TRY(try_choice(s, &s->best));
    MT_TRY(flush(s));
    while (s->least < before) {
        const struct choice from = s->best;
        before = s->least;
        for (size_t i = 0; i < N_AXES; i++) {
            struct choice c = from;
            for (uint8_t v = 1; from.at[i] == 0 && has_value(s, i, v); v++) {
                c.at[i] = v;
                MT_TRY(try_choice(s, &c));
            }
        }
        MT_TRY(flush(s));
    }
    return MT_OK;
}

/* The best choices so far, with every value of each key. */
static enum mt_status refine(struct search *s)
{
    struct choice from[MT_SIM_FOUND];
    size_t n = s->out->n, most = MOST_STEPS / 2 / (s->sim->ops.n + 1), before = s->out->tried;
    for (size_t i = 0; i < n; i++) {
        memcpy(from[i].at, s->out->best[i].values, sizeof from[i].at);
    }
    s->fine = true;
    for (size_t i = 0; i < n; i++) {
        for (size_t axis = 0; axis < N_AXES; axis++) {
            struct choice c = from[i];
            for (uint8_t v = AXES[axis].coarse; has_value(s, axis, v); v++) {
                c.at[axis] = v;
                if (s->out->tried + s->waits - before < most) {
                    MT_TRY(try_choice(s, &c));
                }
            }
        }
    }
    return flush(s);
}

static enum mt_status search(struct search *s)
{
    size_t ops = s->sim->ops.n;
    s->fine = true;
    s->out->all = combinations(s) * ops <= MOST_STEPS;
    if (s->out->all) {
        return try_all(s);
    }
    s->fine = false;
    MT_TRY(combinations(s) * ops <= MOST_STEPS ? try_all(s) : try_by_key(s));
    return refine(s);
}

enum mt_status mt_sim_search(struct mt_sim *sim, struct mt_sim_search *out, struct mt_error *err)
{
    struct search *s = mt_mem_zalloc(1, sizeof *s);
    *out = (struct mt_sim_search){.n = 0};
    if (!s) {
        return mt_fail_nomem(err);
    }
    *s = (struct search){
        .sim = sim, .out = out, .has_limit = sim->run_limit.known, .least = UINT64_MAX, .err = err};
    enum mt_status status = search(s);
    mt_mem_free(s);
    return status;
}

void mt_sim_search_release(struct mt_sim_search *s)
{
    for (size_t i = 0; i < s->n; i++) {
        mt_sim_run_release(&s->best[i].run);
    }
    s->n = 0;
}
