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

/* *reserved: of this choice, UINT64_MAX where it does not fit or the release refuses it. */
static enum mt_status try_choice(struct search *s, const struct choice *c, uint64_t *reserved)
{
    struct mt_conf conf;
    struct mt_sim_found found = {.keys = keys_of(c)};
    memcpy(found.values, c->at, sizeof c->at);
    struct mt_sim_run *run = &found.run;
    char text[sizeof run->conf];
    *reserved = UINT64_MAX;
    spell(c, text, sizeof text);
    mt_conf_parse(mt_str_from(text), s->sim->release, &conf);
    if (!is_sensible(s, c) || !conf.valid) {
        return MT_OK;
    }
    enum mt_status status =
        mt_sim_what_if(s->sim, &conf.settings, mt_str_from(text), run, NULL, s->err);
    if (status != MT_OK) {
        mt_sim_run_release(run);
        return status;
    }
    s->out->tried++;
    *reserved = run->verdict == MT_SIM_OUT_OF_MEMORY ? UINT64_MAX : run->peak.reserved;
    keep(s->out, &found);
    return MT_OK;
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
    uint64_t reserved;
    do {
        MT_TRY(try_choice(s, &c, &reserved));
    } while (advance(s, &c));
    return MT_OK;
}

static enum mt_status try_by_key(struct search *s)
{
    struct choice best = {{0}};
    uint64_t least, reserved;
    MT_TRY(try_choice(s, &best, &least));
    for (bool some = true; some;) {
        struct choice from = best;
        some = false;
        for (size_t i = 0; i < N_AXES; i++) {
            struct choice c = from;
            for (uint8_t v = 1; from.at[i] == 0 && has_value(s, i, v); v++) {
                c.at[i] = v;
                MT_TRY(try_choice(s, &c, &reserved));
                if (reserved < least) {
                    least = reserved;
                    best = c;
                    some = true;
                }
            }
        }
    }
    return MT_OK;
}

/* The best choices so far, with every value of each key. */
static enum mt_status refine(struct search *s)
{
    struct choice from[MT_SIM_FOUND];
    size_t n = s->out->n, most = MOST_STEPS / 2 / (s->sim->ops.n + 1), before = s->out->tried;
    uint64_t reserved;
    for (size_t i = 0; i < n; i++) {
        memcpy(from[i].at, s->out->best[i].values, sizeof from[i].at);
    }
    s->fine = true;
    for (size_t i = 0; i < n; i++) {
        for (size_t axis = 0; axis < N_AXES; axis++) {
            struct choice c = from[i];
            for (uint8_t v = AXES[axis].coarse; has_value(s, axis, v); v++) {
                c.at[axis] = v;
                if (s->out->tried - before < most) {
                    MT_TRY(try_choice(s, &c, &reserved));
                }
            }
        }
    }
    return MT_OK;
}

enum mt_status mt_sim_search(struct mt_sim *sim, struct mt_sim_search *out, struct mt_error *err)
{
    struct search s = {.sim = sim, .out = out, .has_limit = sim->run_limit.known, .err = err};
    *out = (struct mt_sim_search){.n = 0};
    s.fine = true;
    out->all = combinations(&s) * sim->ops.n <= MOST_STEPS;
    if (out->all) {
        return try_all(&s);
    }
    s.fine = false;
    bool all_coarse = combinations(&s) * sim->ops.n <= MOST_STEPS;
    MT_TRY(all_coarse ? try_all(&s) : try_by_key(&s));
    return refine(&s);
}

void mt_sim_search_release(struct mt_sim_search *s)
{
    for (size_t i = 0; i < s->n; i++) {
        mt_sim_run_release(&s->best[i].run);
    }
    s->n = 0;
}
