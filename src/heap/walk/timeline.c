/* SPDX-License-Identifier: MIT */
/*
 * Memory over a trace, binned for drawing. Three walks: the first finds each column's extremes, the
 * peak, and how much each stack holds on average; the second goes to the peak and notes who held
 * what there; the third fills the bands at the chosen moments. Walking thrice over 32-byte events
 * costs less than keeping every stack's history.
 *
 * A stack gets a band for what it holds at the peak or on average, whichever is more, so that
 * neither a short peak nor a long floor is lost among the others.
 */
#include "heap/walk/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "support/checked.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"

#include "heap/walk/timeline_walk.h"

#define MAX_COLUMNS 65536u
#define MAX_BANDS 64u

/* What the first walk learns of one stack. */
struct slot {
    uint64_t now, max;
    uint64_t at_peak;
    size_t count, count_at_peak;
    double weight; /* integral of `now` over x */
    double since;  /* x up to which weight is complete */
};

/* Where a number is lowest and highest in a column. */
struct extremes {
    size_t lo_event, hi_event;
    uint64_t lo, hi;
};

/* Of the total, and of the number that is drawn as a line over it. */
struct column {
    struct extremes total, line;
    bool used;
};

struct work {
    struct mt_timeline *t;
    const struct mt_replay *r;
    const struct mt_timeline_options *o;
    size_t n_columns;
    struct column *columns;
    struct slot *slots;
    size_t n_slots;
    uint8_t *band_of; /* slot -> index into t->bands */
    bool ghost_stacks;
    struct mt_torch_rules rules; /* of the recording */
    int64_t clock;               /* largest time met so far: times never run back in the picture */
};

/* ---- where an event lies ---- */

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* What an event makes holds from its own number to the next one's, so that the last has a width. */
static double x_of_event(const struct mt_timeline *t, size_t event)
{
    if (event == SIZE_MAX || event < t->first || t->last <= t->first) {
        return 0;
    }
    return clamp01((double)(event - t->first) / (double)(t->last - t->first));
}

static double x_of_time(const struct mt_timeline *t, int64_t us)
{
    double span = (double)t->last_us - (double)t->first_us;
    return span > 0 ? clamp01(((double)us - (double)t->first_us) / span) : 0;
}

double mt_timeline_x(const struct mt_timeline *t, const struct mt_replay *r, size_t event)
{
    if (!t->by_time || event == SIZE_MAX || event >= r->n) {
        return x_of_event(t, event);
    }
    return r->events[event].time_us == MT_NO_TIME ? 0 : x_of_time(t, r->events[event].time_us);
}

size_t mt_timeline_event_at(const struct mt_replay *r, int64_t time_us)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->events[mid].time_us < time_us) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static double walk_x(struct work *w, const struct mt_walk *walk)
{
    if (!w->t->by_time || walk->at.index == SIZE_MAX) {
        return x_of_event(w->t, walk->at.index);
    }
    if (walk->at.event->time_us != MT_NO_TIME && walk->at.event->time_us > w->clock) {
        w->clock = walk->at.event->time_us;
    }
    return x_of_time(w->t, w->clock);
}

static void find_times(struct mt_timeline *t, const struct mt_replay *r)
{
    t->first_us = t->last_us = MT_NO_TIME;
    for (size_t i = t->first; i < t->last; i++) {
        int64_t us = r->events[i].time_us;
        if (us == MT_NO_TIME) {
            continue;
        }
        t->first_us = t->first_us == MT_NO_TIME ? us : t->first_us;
        t->last_us = us > t->last_us ? us : t->last_us;
    }
    t->by_time = t->by_time && t->first_us != MT_NO_TIME && t->last_us > t->first_us;
}

/* ---- first walk ---- */

static void slot_change(struct slot *s, const struct mt_change *c, double x)
{
    s->weight += (double)s->now * (x - s->since);
    s->since = x;
    s->now += (uint64_t)c->delta;
    s->count += (size_t)(ptrdiff_t)c->count;
    s->max = s->now > s->max ? s->now : s->max;
}

static void extremes_add(struct extremes *e, size_t event, uint64_t value, bool first)
{
    if (first || value > e->hi) {
        e->hi = value;
        e->hi_event = event;
    }
    if (first || value < e->lo) {
        e->lo = value;
        e->lo_event = event;
    }
}

static void column_add(struct work *w, double x, const struct mt_walk *walk)
{
    size_t i = (size_t)(x * (double)w->n_columns);
    struct column *c = &w->columns[i < w->n_columns ? i : w->n_columns - 1];
    bool memory = w->o->subject == MT_TIMELINE_MEMORY;
    uint64_t line = memory ? walk->at.reserved_bytes : walk->at.live_bytes;
    extremes_add(&c->total, walk->at.index, walk->total, !c->used);
    extremes_add(&c->line, walk->at.index, line, !c->used);
    c->used = true;
}

static bool note_oom(struct work *w, const struct mt_walk *walk, double x)
{
    const struct mt_event *e = walk->at.event;
    struct mt_timeline_oom oom = {.event = walk->at.index,
                                  .x = x,
                                  .asked = e->size,
                                  .need = mt_torch_segment_for(&w->rules, e->size),
                                  .device_free = e->addr,
                                  .live = walk->at.live_bytes,
                                  .reserved = walk->at.reserved_bytes};
    return mt_vec_push(&w->t->ooms, oom);
}

static void note_level(struct work *w, const struct mt_walk *walk, double x)
{
    struct mt_timeline *t = w->t;
    if (walk->total > t->peak) {
        t->peak = walk->total;
        t->peak_event = walk->at.index;
        t->peak_x = x;
    }
    if (walk->at.reserved_bytes > t->reserved_peak) {
        t->reserved_peak = walk->at.reserved_bytes;
        t->reserved_peak_event = walk->at.index;
        t->reserved_peak_x = x;
    }
}

static void apply(struct work *w, const struct mt_walk *walk, double x)
{
    for (size_t i = 0; i < walk->changes.n; i++) {
        slot_change(&w->slots[walk->changes.v[i].slot], &walk->changes.v[i], x);
    }
}

/* The level with which the shown part begins. */
static void enter_window(struct work *w, const struct mt_walk *walk)
{
    note_level(w, walk, 0);
    for (size_t i = 0; i < w->n_slots; i++) {
        w->slots[i].max = w->slots[i].now;
        w->slots[i].weight = w->slots[i].since = 0;
    }
}

static bool walk_extremes(struct work *w)
{
    struct mt_timeline *t = w->t;
    struct mt_walk walk;
    bool fine = true;
    t->flat = true;
    w->clock = INT64_MIN;
    mt_walk_begin(&walk, w->r, w->o, w->ghost_stacks);
    apply(w, &walk, 0);
    if (t->first == 0) {
        enter_window(w, &walk);
    }
    while (fine && walk.at.index + 1 < t->last && mt_walk_next(&walk)) {
        bool shown = walk.at.index >= t->first;
        double x = shown ? walk_x(w, &walk) : 0;
        apply(w, &walk, x);
        if (shown && walk.at.kind != MT_STEP_OTHER && walk.at.kind != MT_STEP_FREE_REQUESTED) {
            t->flat = t->flat && walk.changes.n == 0;
            column_add(w, x, &walk);
        }
        if (shown) {
            note_level(w, &walk, x);
            fine = walk.at.event->action != MT_ACTION_OOM || note_oom(w, &walk, x);
        } else if (walk.at.index + 1 == t->first) {
            enter_window(w, &walk);
        }
    }
    fine = fine && !walk.failed;
    mt_walk_release(&walk);
    for (size_t i = 0; i < w->n_slots; i++) {
        w->slots[i].weight += (double)w->slots[i].now * (1 - w->slots[i].since);
    }
    return fine;
}

/* ---- second walk: who held what at the peak ---- */

static bool walk_peak(struct work *w)
{
    struct mt_walk walk;
    for (size_t i = 0; i < w->n_slots; i++) {
        w->slots[i].now = 0;
        w->slots[i].count = 0;
    }
    mt_walk_begin(&walk, w->r, w->o, w->ghost_stacks);
    do {
        for (size_t i = 0; i < walk.changes.n; i++) {
            struct slot *s = &w->slots[walk.changes.v[i].slot];
            s->now += (uint64_t)walk.changes.v[i].delta;
            s->count += (size_t)(ptrdiff_t)walk.changes.v[i].count;
        }
    } while (walk.at.index != w->t->peak_event && mt_walk_next(&walk));
    for (size_t i = 0; i < w->n_slots; i++) {
        w->slots[i].at_peak = w->slots[i].now;
        w->slots[i].count_at_peak = w->slots[i].count;
    }
    bool fine = !walk.failed;
    mt_walk_release(&walk);
    return fine;
}

/* ---- who gets a band ---- */

static double slot_score(const struct slot *s)
{
    return (double)s->at_peak > s->weight ? (double)s->at_peak : s->weight;
}

bool mt_timeline_has_row(const struct mt_timeline *t, uint64_t at_peak, uint64_t max)
{
    enum { VISIBLE = 32 }; /* of the height of the picture */
    return at_peak > 0 || (max > 0 && max >= t->peak / VISIBLE);
}

/* The slots with the highest scores, best first, into top[0 .. want); returns how many. */
static size_t pick_top(const struct work *w, uint32_t older, uint32_t *top, size_t want)
{
    size_t n = 0;
    for (uint32_t i = 0; i < w->n_slots && want > 0; i++) {
        if (i == older || !mt_timeline_has_row(w->t, w->slots[i].at_peak, w->slots[i].max)) {
            continue;
        }
        double score = slot_score(&w->slots[i]);
        size_t at = n;
        while (at > 0 && slot_score(&w->slots[top[at - 1]]) < score) {
            at--;
        }
        if (at < want) {
            size_t kept = n < want ? n : want - 1;
            memmove(top + at + 1, top + at, (kept - at) * sizeof *top);
            top[at] = i;
            n = kept + 1;
        }
    }
    return n;
}

/* Average over maximum: 1 for memory that is always there. */
static double steadiness(const struct slot *s)
{
    return s->max ? s->weight / (double)s->max : 0;
}

/* Steady ones first, so that the bands above them do not shake; ties by bytes, then by id. */
static void sort_steady(const struct work *w, uint32_t *top, size_t n)
{
    for (size_t i = 1; i < n; i++) { /* insertion: at most 64 */
        uint32_t x = top[i];
        size_t at = i;
        for (; at > 0; at--) {
            double a = steadiness(&w->slots[top[at - 1]]), b = steadiness(&w->slots[x]);
            if (a >= b) {
                break;
            }
            top[at] = top[at - 1];
        }
        top[at] = x;
    }
}

static bool band_add(struct work *w, uint32_t stack, uint32_t slot)
{
    const struct slot *s = &w->slots[slot];
    struct mt_timeline_band b = {.stack = stack,
                                 .stacks = 1,
                                 .held = s->at_peak > 0,
                                 .at_peak = s->at_peak,
                                 .count = s->count_at_peak,
                                 .max = s->max};
    w->band_of[slot] = (uint8_t)w->t->bands.n;
    return mt_vec_push(&w->t->bands, b);
}

static bool band_others(struct work *w)
{
    struct mt_timeline_band b = {.stack = MT_BAND_OTHERS};
    for (size_t i = 0; i < w->n_slots; i++) {
        if (w->band_of[i] == UINT8_MAX) {
            w->band_of[i] = (uint8_t)w->t->bands.n;
            b.stacks += w->slots[i].max > 0;
            b.held += w->slots[i].at_peak > 0;
            b.at_peak += w->slots[i].at_peak;
            b.count += w->slots[i].count_at_peak;
        }
    }
    return b.stacks == 0 || mt_vec_push(&w->t->bands, b);
}

static bool choose_bands(struct work *w, uint32_t older)
{
    uint32_t top[MAX_BANDS];
    size_t want = w->o->bands < MAX_BANDS ? w->o->bands : MAX_BANDS;
    size_t n = pick_top(w, older, top, want);
    sort_steady(w, top, n);
    memset(w->band_of, UINT8_MAX, w->n_slots);
    bool fine = w->slots[older].max == 0 || band_add(w, MT_BAND_OLDER, older);
    for (size_t i = 0; fine && i < n; i++) {
        fine = band_add(w, top[i], top[i]);
    }
    return fine && band_others(w);
}

/* ---- third walk: the bands at the chosen moments ---- */

/* `x` < 0: where the event lies. */
static bool sample_add(struct mt_timeline *t, size_t event, double x)
{
    struct mt_timeline_sample s = {.event = event, .x = x};
    return (t->samples.n > 0 && t->samples.v[t->samples.n - 1].event == event) ||
           mt_vec_push(&t->samples, s);
}

/* The moment before the shown part; SIZE_MAX when that is the whole trace. */
static size_t before_first(const struct mt_timeline *t)
{
    return t->first == 0 ? SIZE_MAX : t->first - 1;
}

/* The up to four moments of a column, in their order, spread over its width. */
static bool column_samples(struct work *w, size_t column)
{
    const struct column *c = &w->columns[column];
    size_t events[4] = {c->total.lo_event, c->total.hi_event, c->line.lo_event, c->line.hi_event};
    size_t n = 0;
    for (size_t i = 0; i < 4; i++) {
        size_t event = events[i], at = n;
        while (at > 0 && events[at - 1] > event) {
            at--;
        }
        if (at > 0 && events[at - 1] == event) {
            continue;
        }
        memmove(events + at + 1, events + at, (n - at) * sizeof *events);
        events[at] = event;
        n++;
    }
    bool fine = true;
    for (size_t i = 0; fine && i < n; i++) {
        double x = ((double)column + (double)i / (double)n) / (double)w->n_columns;
        fine = sample_add(w->t, events[i], x);
    }
    return fine;
}

static bool choose_samples(struct work *w)
{
    struct mt_timeline *t = w->t;
    bool fine = sample_add(t, before_first(t), -1);
    if (t->every_event) {
        for (size_t i = t->first; fine && i < t->last; i++) {
            fine = sample_add(t, i, -1);
        }
        return fine;
    }
    for (size_t i = 0; fine && i < w->n_columns; i++) {
        fine = !w->columns[i].used || column_samples(w, i);
    }
    return fine && (t->last == t->first || sample_add(t, t->last - 1, 1));
}

static void fill_sample(struct work *w, const struct mt_walk *walk, const uint64_t *now, size_t i)
{
    struct mt_timeline *t = w->t;
    struct mt_timeline_sample *s = &t->samples.v[i];
    s->x = s->x < 0 ? walk_x(w, walk) : s->x;
    s->total = walk->total;
    s->live = walk->at.live_bytes;
    s->reserved = walk->at.reserved_bytes;
    memcpy(t->values + i * t->bands.n, now, t->bands.n * sizeof *now);
    for (size_t b = 0; b < t->bands.n; b++) {
        t->bands.v[b].max = now[b] > t->bands.v[b].max ? now[b] : t->bands.v[b].max;
    }
}

static bool walk_samples(struct work *w)
{
    struct mt_timeline *t = w->t;
    uint64_t now[MAX_BANDS + 2] = {0};
    struct mt_walk walk;
    size_t next = 0;
    w->clock = INT64_MIN;
    mt_walk_begin(&walk, w->r, w->o, w->ghost_stacks);
    do {
        for (size_t i = 0; i < walk.changes.n; i++) {
            now[w->band_of[walk.changes.v[i].slot]] += (uint64_t)walk.changes.v[i].delta;
        }
        if (t->by_time && walk.at.index != SIZE_MAX) {
            (void)walk_x(w, &walk); /* keeps the clock */
        }
        if (walk.at.index == t->samples.v[next].event) {
            fill_sample(w, &walk, now, next++);
        }
    } while (next < t->samples.n && mt_walk_next(&walk));
    bool fine = !walk.failed && next == t->samples.n;
    mt_walk_release(&walk);
    return fine;
}

/* Something to draw where nothing happens: the same level from end to end. */
static bool stretch_flat(struct mt_timeline *t)
{
    struct mt_timeline_sample end = t->samples.v[t->samples.n - 1];
    end.x = 1;
    if (t->samples.n > 1) {
        t->samples.v[t->samples.n - 1].x = 1;
        return true;
    }
    uint64_t *v = mt_mem_realloc(t->values, 2 * t->bands.n + 1, sizeof *v);
    if (!v) {
        return false;
    }
    t->values = v;
    memcpy(v + t->bands.n, v, t->bands.n * sizeof *v);
    return mt_vec_push(&t->samples, end);
}

/* ---- all together ---- */

static bool work_begin(struct work *w)
{
    struct mt_timeline *t = w->t;
    size_t want = w->o->columns ? w->o->columns : 1;
    w->n_columns = want < MAX_COLUMNS ? want : MAX_COLUMNS;
    w->n_slots = (w->r->snapshot->n_stacks ? w->r->snapshot->n_stacks : 1) + 1;
    t->every_event = t->last - t->first <= 2 * w->n_columns;
    w->columns = mt_mem_zalloc(w->n_columns, sizeof *w->columns);
    w->slots = mt_mem_zalloc(w->n_slots, sizeof *w->slots);
    w->band_of = mt_mem_alloc(w->n_slots, 1);
    return w->columns && w->slots && w->band_of;
}

/* Begins again with the stacks of older memory, where they are known. */
static void look_closer(struct work *w)
{
    memset(w->columns, 0, w->n_columns * sizeof *w->columns);
    memset(w->slots, 0, w->n_slots * sizeof *w->slots);
    w->t->ooms.n = 0;
    w->t->peak = w->t->reserved_peak = 0;
    w->ghost_stacks = true;
}

static bool work_run(struct work *w)
{
    struct mt_timeline *t = w->t;
    uint32_t older = (uint32_t)(w->n_slots - 1);
    w->ghost_stacks = t->n_events == 0;
    if (!walk_extremes(w) || !walk_peak(w)) {
        return false;
    }
    if (!w->ghost_stacks && w->slots[older].at_peak > t->peak / 2) {
        look_closer(w); /* one grey band would hide most of the peak */
        if (!walk_extremes(w) || !walk_peak(w)) {
            return false;
        }
    }
    if (!choose_bands(w, older) || !choose_samples(w)) {
        return false;
    }
    t->values = mt_mem_zalloc(t->samples.n * t->bands.n + 1, sizeof *t->values);
    return t->values && walk_samples(w) && (!t->flat || stretch_flat(t));
}

enum mt_status mt_timeline_init(struct mt_timeline *t, const struct mt_replay *r,
                                const struct mt_timeline_options *o, struct mt_error *err)
{
    *t = (struct mt_timeline){.device = r->device,
                              .n_events = r->n,
                              .last = o->last < r->n ? o->last : r->n,
                              .by_time = o->by_time,
                              .peak_event = SIZE_MAX,
                              .reserved_peak_event = SIZE_MAX};
    t->first = o->first < t->last ? o->first : t->last;
    t->peak_event = t->reserved_peak_event = before_first(t);
    find_times(t, r);
    struct work w = {.t = t, .r = r, .o = o};
    w.rules = mt_settings_rules(r->snapshot);
    bool fine = work_begin(&w) && work_run(&w);
    mt_mem_free(w.columns);
    mt_mem_free(w.slots);
    mt_mem_free(w.band_of);
    if (!fine) {
        mt_timeline_release(t);
        return mt_fail_nomem(err);
    }
    return MT_OK;
}

/* A limit that was changed on the way contradicts itself: then the last refusal alone counts. */
bool mt_timeline_limit(const struct mt_timeline *t, uint64_t granted, struct mt_limit_range *out)
{
    const struct mt_timeline_oom *last = t->ooms.n ? &t->ooms.v[t->ooms.n - 1] : NULL;
    if (!last || last->device_free < last->need) {
        return false;
    }
    uint64_t below = UINT64_MAX;
    for (size_t i = 0; i < t->ooms.n; i++) {
        const struct mt_timeline_oom *o = &t->ooms.v[i];
        uint64_t refused = mt_add_sat(o->reserved, o->need);
        below = o->device_free >= o->need && refused < below ? refused : below;
    }
    *out = (struct mt_limit_range){granted, below};
    if (granted >= below) {
        *out = (struct mt_limit_range){last->reserved, mt_add_sat(last->reserved, last->need)};
    }
    return true;
}

void mt_timeline_release(struct mt_timeline *t)
{
    mt_vec_release(&t->bands);
    mt_vec_release(&t->samples);
    mt_vec_release(&t->ooms);
    mt_mem_free(t->values);
    *t = (struct mt_timeline){0};
}
