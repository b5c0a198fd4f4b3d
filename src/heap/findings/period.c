/* SPDX-License-Identifier: MIT */
/*
 * Finding the step of a loop in a trace.
 *
 * Annotations come first: PyTorch itself writes one per optimizer step, profilers and trainers add
 * their own. Numbers in names are taken as equal ("## step 12 ##"), and a name that speaks of a
 * step wins over one that does not.
 *
 * Without them the allocations tell. In a loop each line of code allocates the same number of times
 * per step, so the numbers of allocations per stack are multiples of the number of steps. An anchor
 * is a stack that comes at even distances over at least half of the trace; of all anchors the one
 * wins whose count explains (as a divisor) the most allocations, and among near equals the highest
 * count, since every divisor of the right count explains as much as it does. The anchor's
 * occurrences are the bounds. Sizes play no part, because inputs change in length; only where
 * stacks say nothing (fewer than three different ones) a stack together with its size is the sign.
 *
 * Measured on 12 real runs with annotations: the structure alone finds the same number of steps in
 * each. An autocorrelation of the level of memory was tried in thought only and left: it has no
 * answer for inputs of changing length, where no two steps look alike in bytes.
 */
#include "heap/findings/period.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/hash.h"
#include "support/mem.h"
#include "snapshot/model/step_name.h"

void mt_periods_release(struct mt_periods *p)
{
    mt_vec_release(&p->bounds);
    *p = (struct mt_periods){0};
}

size_t mt_periods_count(const struct mt_periods *p)
{
    return p->bounds.n ? p->bounds.n - 1 : 0;
}

static bool add_bound(struct mt_periods *p, size_t event)
{
    if (p->bounds.n && p->bounds.v[p->bounds.n - 1] >= event) {
        return true;
    }
    return mt_vec_push(&p->bounds, (uint32_t)event);
}

/* ---- by option ---- */

static enum mt_status every_so_many(struct mt_periods *p, const struct mt_replay *r,
                                    uint64_t events, struct mt_error *err)
{
    p->source = MT_PERIOD_OPTION;
    for (uint64_t at = 0; at <= r->n; at += events) {
        if (!add_bound(p, at)) {
            return mt_fail_nomem(err);
        }
        if (events > r->n) {
            break;
        }
    }
    return MT_OK;
}

/* ---- by annotation ---- */

static bool is_start_on(const struct mt_snapshot *s, const struct mt_annotation *a, int32_t device)
{
    return (a->device == device || a->device < 0) &&
           mt_str_equal(mt_snapshot_str(s, a->stage), MT_STR("START"));
}

/* The first event not before `time_us`. */
static size_t event_at(const struct mt_replay *r, int64_t time_us)
{
    size_t low = 0;
    size_t high = r->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->events[mid].time_us < time_us) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* The name with every run of digits as one '#'. */
static void plain_name(struct mt_buf *b, struct mt_str name)
{
    mt_buf_reset(b);
    for (size_t i = 0; i < name.n; i++) {
        bool digit = name.p[i] >= '0' && name.p[i] <= '9';
        if (!digit) {
            mt_buf_char(b, name.p[i]);
        } else if (!b->n || b->p[b->n - 1] != '#') {
            mt_buf_char(b, '#');
        }
    }
}

struct naming {
    struct mt_arena arena;
    struct mt_intern names;  /* plain names */
    MT_VEC(uint32_t) counts; /* STARTs by plain name */
    MT_VEC(uint32_t) of;     /* plain name of each annotation, 0: not a START here */
    struct mt_buf text;
};

static void naming_release(struct naming *n)
{
    mt_intern_release(&n->names);
    mt_arena_release(&n->arena);
    mt_vec_release(&n->counts);
    mt_vec_release(&n->of);
    mt_buf_release(&n->text);
}

static bool count_name(struct naming *n, const struct mt_snapshot *s, const struct mt_annotation *a,
                       int32_t device)
{
    uint32_t id = 0;
    if (is_start_on(s, a, device)) {
        plain_name(&n->text, mt_str_head(mt_snapshot_str(s, a->name), MT_ASKED_BYTES));
        id = n->text.failed ? 0 : mt_intern_put(&n->names, mt_buf_view(&n->text).p, n->text.n);
        if (!id) {
            return false;
        }
        while (n->counts.n <= id) {
            if (!mt_vec_push(&n->counts, 0)) {
                return false;
            }
        }
        n->counts.v[id]++;
    }
    return mt_vec_push(&n->of, id);
}

/* What people call it: "## Step # ##" as step. */
static void letters_of(struct mt_buf *b, struct mt_str name)
{
    mt_buf_reset(b);
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] - 'A' + 'a') : name.p[i];
        bool sign = c != '_' && ((c >= ' ' && c < 'a') || (c > 'z' && c < 0x7f));
        if (!sign) {
            mt_buf_char(b, c);
        }
    }
}

/* Marks the names that the user may mean: this one, else those of the same letters, else those that
 * these letters are a part of. False: no memory. */
static bool find_meant(struct naming *n, const char *wanted, bool *meant)
{
    struct mt_buf letters = {0};
    plain_name(&n->text, mt_str_from(wanted));
    uint32_t exact =
        n->text.failed ? 0 : mt_intern_find(&n->names, mt_buf_view(&n->text).p, n->text.n);
    letters_of(&letters, mt_str_from(wanted));
    bool any = exact != 0;
    if (exact) {
        meant[exact] = true;
    }
    for (int part = 0; part < 2 && !any && letters.n && !letters.failed; part++) {
        for (uint32_t id = 1; id < n->counts.n; id++) {
            letters_of(&n->text, mt_intern_get(&n->names, id));
            struct mt_str name = mt_buf_view(&n->text), key = mt_buf_view(&letters);
            meant[id] = part ? mt_str_find(name, key) != SIZE_MAX : mt_str_equal(name, key);
            any |= meant[id];
        }
    }
    bool ok = !letters.failed && !n->text.failed;
    mt_buf_release(&letters);
    return ok;
}

/* The plain name that marks the steps best, of those that are meant (NULL: all that come often
 * enough), or 0. */
static uint32_t best_name(const struct naming *n, const bool *meant)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id < n->counts.n; id++) {
        if (meant ? !meant[id] : n->counts.v[id] <= MT_PERIODS_NEEDED) {
            continue;
        }
        int rank = mt_step_name_rank(mt_intern_get(&n->names, id));
        int best_rank = best ? mt_step_name_rank(mt_intern_get(&n->names, best)) : -1;
        if (rank > best_rank || (rank == best_rank && n->counts.v[id] > n->counts.v[best])) {
            best = id;
        }
    }
    return best;
}

static bool bounds_of_name(struct mt_periods *p, const struct naming *n,
                           const struct mt_snapshot *s, const struct mt_replay *r, uint32_t id)
{
    for (size_t i = 0; i < s->n_annotations; i++) {
        if (n->of.v[i] != id) {
            continue;
        }
        if (!p->name) {
            p->name = s->annotations[i].name;
        }
        size_t at = event_at(r, s->annotations[i].time_us);
        if (at > 0 && at < r->n && !add_bound(p, at)) {
            return false;
        }
    }
    return true;
}

/* Refuses a name that no annotation has, and tells the most frequent ones as they stand there. */
static enum mt_status no_such_name(struct naming *n, const struct mt_snapshot *s,
                                   const struct mt_replay *r, const char *wanted,
                                   struct mt_error *err)
{
    enum { FEW = 3 };
    char known[sizeof err->hint] = "";
    size_t used = 0;
    for (int k = 0; k < FEW; k++) {
        uint32_t best = 0;
        for (uint32_t id = 1; id < n->counts.n; id++) {
            best = n->counts.v[id] > (best ? n->counts.v[best] : 0) ? id : best;
        }
        size_t i = 0;
        while (best && i < s->n_annotations && n->of.v[i] != best) {
            i++;
        }
        if (best && i < s->n_annotations && used < sizeof known) {
            struct mt_str name = mt_snapshot_str(s, s->annotations[i].name);
            used += (size_t)snprintf(known + used, sizeof known - used, "%s'%.*s'",
                                     used ? ", " : "", (int)(name.n < 40 ? name.n : 40), name.p);
            n->counts.v[best] = 0;
        }
    }
    mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
            "--period: no annotation of device %" PRId32 " is called '%.80s'", r->device, wanted);
    return known[0] ? mt_hint(err, "it has %s", known)
                    : mt_hint(err, "it has none; --period EVENTS counts events instead");
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* `wanted`: the plain or full name that the user gave, or NULL. */
static enum mt_status by_annotation(struct mt_periods *p, const struct mt_snapshot *s,
                                    const struct mt_replay *r, const char *wanted,
                                    struct mt_error *err)
{
    struct naming n = {0};
    mt_intern_init(&n.names, &n.arena, 0);
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_annotations; i++) {
        ok = count_name(&n, s, &s->annotations[i], r->device);
    }
    bool *meant = wanted ? mt_mem_zalloc(n.counts.n + 1, sizeof *meant) : NULL;
    ok = ok && (!wanted || (meant && find_meant(&n, wanted, meant)));
    uint32_t id = ok ? best_name(&n, meant) : 0;
    ok = ok && (!id || bounds_of_name(p, &n, s, r, id));
    p->source = wanted ? MT_PERIOD_OPTION : p->bounds.n ? MT_PERIOD_ANNOTATIONS : MT_PERIOD_NONE;
    enum mt_status status = !ok             ? mt_fail_nomem(err)
                            : wanted && !id ? no_such_name(&n, s, r, wanted, err)
                                            : MT_OK;
    mt_mem_free(meant);
    naming_release(&n);
    return status;
}

/* ---- by structure ---- */

/* Where each sign (stack, or stack and size) was allocated: at[first[t]] .. at[first[t + 1] - 1].
 */
struct signs {
    uint32_t *of; /* sign of each event, UINT32_MAX where it is no alloc */
    uint32_t n;
    uint32_t *first;
    uint32_t *at;
    uint32_t *gaps; /* scratch */
    uint32_t *same; /* how many signs come exactly so often */
    size_t allocs;
};

static void signs_release(struct signs *x)
{
    mt_mem_free(x->of);
    mt_mem_free(x->first);
    mt_mem_free(x->at);
    mt_mem_free(x->gaps);
    mt_mem_free(x->same);
    *x = (struct signs){0};
}

static bool number_signs(struct signs *x, const struct mt_replay *r, bool with_size)
{
    struct mt_idmap ids = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < r->n; i++) {
        const struct mt_event *e = &r->events[i];
        x->of[i] = UINT32_MAX;
        if (mt_event_kind(e) != MT_STEP_ALLOC) {
            continue;
        }
        uint64_t key = mt_hash_mix(e->stack, with_size ? e->size : 0);
        const uint32_t *found = mt_idmap_find(&ids, key);
        x->of[i] = found ? *found : x->n;
        x->allocs++;
        if (!found) {
            ok = mt_idmap_put(&ids, key, x->n++);
        }
    }
    mt_idmap_release(&ids);
    return ok;
}

static bool signs_init(struct signs *x, const struct mt_replay *r, bool with_size)
{
    x->of = mt_mem_alloc(r->n, sizeof *x->of);
    if (!x->of || !number_signs(x, r, with_size)) {
        return false;
    }
    x->first = mt_mem_zalloc((size_t)x->n + 2, sizeof *x->first);
    x->at = mt_mem_alloc(x->allocs, sizeof *x->at);
    x->gaps = mt_mem_alloc(x->allocs, sizeof *x->gaps);
    x->same = mt_mem_zalloc(x->allocs + 1, sizeof *x->same);
    if (!x->first || !x->at || !x->gaps || !x->same) {
        return false;
    }
    /* A counting sort: first[t + 2] counts, then first[t + 1] runs along as the next free place. */
    for (size_t i = 0; i < r->n; i++) {
        if (x->of[i] != UINT32_MAX && x->of[i] + 2 < x->n + 2) {
            x->first[x->of[i] + 2]++;
        }
    }
    for (uint32_t t = 2; t < x->n + 2; t++) {
        x->first[t] += x->first[t - 1];
    }
    for (size_t i = 0; i < r->n; i++) {
        if (x->of[i] != UINT32_MAX) {
            x->at[x->first[x->of[i] + 1]++] = (uint32_t)i;
        }
    }
    for (uint32_t t = 0; t < x->n; t++) {
        x->same[x->first[t + 1] - x->first[t]]++;
    }
    return true;
}

/* Two whole periods: too few for a verdict, but they tell that the trace is too short. */
enum { FEWEST = 3 };

/* Below this share an anchor marks a loop inside of a step, such as that over the parameters. */
static const double LEAST_SHARE = 0.5;

/* Comes often enough, over half of the trace, and nine in ten distances are within three times of
 * each other: bursts inside a step and rare events fail here. */
static bool is_anchor(const struct signs *x, uint32_t t, size_t n_events)
{
    const uint32_t *at = &x->at[x->first[t]];
    size_t n = x->first[t + 1] - x->first[t];
    if (n < FEWEST || at[n - 1] - at[0] < n_events / 2) {
        return false;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        x->gaps[i] = at[i + 1] - at[i];
    }
    qsort(x->gaps, n - 1, sizeof *x->gaps, compare_u32);
    uint64_t low = x->gaps[(n - 1) / 10];
    uint64_t high = x->gaps[(n - 1) * 9 / 10];
    return high <= 3 * low;
}

/* Share of allocations whose sign comes a multiple of `steps` times; one off a step is allowed, for
 * the parts of a step at both ends of the trace. */
static double explained(const struct signs *x, size_t steps)
{
    uint64_t sum = 0;
    for (size_t count = steps > 1 ? steps - 1 : 1; count <= x->allocs; count++) {
        if (!x->same[count]) {
            continue;
        }
        size_t times = (count + steps / 2) / steps;
        size_t off = count > times * steps ? count - times * steps : times * steps - count;
        sum += off <= times ? count * (uint64_t)x->same[count] : 0;
    }
    return (double)sum / (double)x->allocs;
}

struct anchor {
    double share;
    size_t count;
    uint32_t sign;
};

/* One anchor a count, the earliest in the trace. */
struct anchors {
    MT_VEC(struct anchor) list;
};

static bool add_anchor(struct anchors *a, const struct signs *x, uint32_t t)
{
    size_t count = x->first[t + 1] - x->first[t];
    for (size_t i = 0; i < a->list.n; i++) {
        struct anchor *old = &a->list.v[i];
        if (old->count == count) {
            if (x->at[x->first[t]] < x->at[x->first[old->sign]]) {
                old->sign = t;
            }
            return true;
        }
    }
    struct anchor fresh = {explained(x, count), count, t};
    return mt_vec_push(&a->list, fresh);
}

/* Of the anchors that come at least `least` times; near equals are within a fifth of the best
 * share.
 */
static const struct anchor *best_anchor(const struct anchors *a, size_t least)
{
    double most = LEAST_SHARE / 0.8;
    for (size_t i = 0; i < a->list.n; i++) {
        const struct anchor *x = &a->list.v[i];
        most = x->count >= least && x->share > most ? x->share : most;
    }
    const struct anchor *best = NULL;
    for (size_t i = 0; i < a->list.n; i++) {
        const struct anchor *x = &a->list.v[i];
        if (x->count >= least && x->share >= 0.8 * most && (!best || x->count > best->count)) {
            best = x;
        }
    }
    return best;
}

static enum mt_status by_structure(struct mt_periods *p, const struct mt_replay *r, bool with_size,
                                   struct mt_error *err)
{
    struct signs x = {0};
    struct anchors anchors = {0};
    bool ok = signs_init(&x, r, with_size);
    bool enough = ok && (with_size || x.n >= 3);
    for (uint32_t t = 0; ok && enough && t < x.n; t++) {
        ok = !is_anchor(&x, t, r->n) || add_anchor(&anchors, &x, t);
    }
    /* Few occurrences explain nearly any count, so they are asked only when nothing else speaks. */
    const struct anchor *best = ok ? best_anchor(&anchors, MT_PERIODS_NEEDED + 1) : NULL;
    if (ok && !best && !with_size) {
        best = best_anchor(&anchors, FEWEST);
    }
    if (best) {
        p->source = MT_PERIOD_DETECTED;
        p->stack = r->events[x.at[x.first[best->sign]]].stack;
        for (uint32_t i = x.first[best->sign]; ok && i < x.first[best->sign + 1]; i++) {
            ok = add_bound(p, x.at[i]);
        }
    }
    mt_vec_release(&anchors.list);
    signs_release(&x);
    return ok ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_periods_find(struct mt_periods *p, const struct mt_snapshot *s,
                               const struct mt_replay *r, const struct mt_period_options *o,
                               struct mt_error *err)
{
    *p = (struct mt_periods){0};
    if (r->n == 0) {
        return MT_OK;
    }
    if (o->events) {
        return every_so_many(p, r, o->events, err);
    }
    bool timed = r->events[0].time_us != MT_NO_TIME;
    if (o->annotation || (timed && s->n_annotations)) {
        MT_TRY(by_annotation(p, s, r, o->annotation, err));
    }
    if (o->annotation || mt_periods_count(p) >= MT_PERIODS_NEEDED) {
        return MT_OK;
    }
    mt_periods_release(p);
    MT_TRY(by_structure(p, r, false, err));
    return p->bounds.n ? MT_OK : by_structure(p, r, true, err);
}
