/* SPDX-License-Identifier: MIT */
/*
 * The figures that the events themselves prove, without a replay: what was reserved, what was asked
 * for, calls to the driver and refusals. They stand for the recording where its replay is not
 * exact.
 */
#include "support/checked.h"

#include "verbs/simulate/sim.h"

struct trace_walk {
    const struct mt_sim *sim;
    struct mt_sim_run *run;
    struct mt_alloc_stat *reserved, *requested, *segments, *allocations;
};

/* Sums of hostile sizes stay at the largest that is one; `sum` is not negative. */
static int64_t plus(int64_t sum, uint64_t n)
{
    return n < (uint64_t)(INT64_MAX - sum) ? sum + (int64_t)n : INT64_MAX;
}

static void up(struct mt_alloc_stat *s, uint64_t n)
{
    s->allocated = plus(s->allocated, n);
    s->current = plus(s->current, n);
    s->peak = s->current > s->peak ? s->current : s->peak;
}

static void down(struct mt_alloc_stat *s, uint64_t n)
{
    uint64_t held = (uint64_t)s->current;
    s->current -= (int64_t)(n < held ? n : held);
    s->freed = plus(s->freed, n < held ? n : held);
}

static void note_peak(struct trace_walk *w, uint32_t event)
{
    struct mt_sim_peak *k = &w->run->peak;
    uint64_t reserved = (uint64_t)w->reserved->current, requested = (uint64_t)w->requested->current;
    if (reserved > k->reserved || (reserved == k->reserved && requested > k->requested)) {
        *k = (struct mt_sim_peak){event, reserved, 0, requested};
    }
}

static enum mt_status on_oom(struct trace_walk *w, uint32_t event, struct mt_error *err)
{
    struct mt_sim_oom oom = {event, w->sim->events[event].size, 0};
    w->run->stats.num_ooms++;
    w->run->n_ooms++;
    bool kept = w->run->ooms.n >= MT_SIM_OOMS || mt_vec_push(&w->run->ooms, oom);
    return kept ? MT_OK : mt_fail_nomem(err);
}

static void on_device_call(struct trace_walk *w, const struct mt_event *e)
{
    bool whole = e->action == MT_ACTION_SEGMENT_ALLOC || e->action == MT_ACTION_SEGMENT_FREE;
    if (is_growth(e)) {
        up(w->reserved, e->size);
        up(w->segments, whole);
        w->run->stats.num_device_alloc++;
    } else {
        down(w->reserved, e->size);
        down(w->segments, whole);
        w->run->stats.num_device_free++;
    }
}

static enum mt_status on_event(struct trace_walk *w, uint32_t event, struct mt_error *err)
{
    const struct mt_event *e = &w->sim->events[event];
    switch (e->action) {
    case MT_ACTION_ALLOC:
        up(w->requested, e->size);
        up(w->allocations, 1);
        w->run->requests++;
        break;
    case MT_ACTION_FREE_REQUESTED: down(w->allocations, 1); break;
    case MT_ACTION_FREE:
        down(w->allocations, 1);
        down(w->requested, e->size);
        break;
    case MT_ACTION_FREE_COMPLETED: down(w->requested, e->size); break;
    case MT_ACTION_OOM: w->run->requests++; return on_oom(w, event, err);
    default:
        if (is_segment_event(e)) {
            on_device_call(w, e);
        }
    }
    note_peak(w, event);
    return MT_OK;
}

/* What was there before the first event, as far as it was rebuilt. */
static void begin(struct trace_walk *w)
{
    const struct start *s = &w->sim->start;
    up(w->reserved, s->reserved);
    for (size_t i = 0; i < s->segments.n; i++) {
        up(w->segments, !s->segments.v[i].expandable);
    }
    for (size_t i = 0; i < s->blocks.n; i++) {
        const struct mt_alloc_restore_block *b = &s->blocks.v[i];
        bool active = b->mapped && b->state != MT_ALLOC_FREE;
        up(w->requested, active ? b->requested : 0);
        up(w->allocations, active && b->state == MT_ALLOC_IN_USE);
    }
    w->reserved->allocated = w->segments->allocated = 0;
    w->requested->allocated = w->allocations->allocated = 0;
    note_peak(w, 0);
}

enum mt_status mt_sim_trace_figures(const struct mt_sim *sim, struct mt_sim_run *run,
                                    struct mt_error *err)
{
    struct trace_walk w = {
        .sim = sim,
        .run = run,
        .reserved = &run->stats.stat[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL],
        .requested = &run->stats.stat[MT_STAT_REQUESTED_BYTES][MT_SLOT_ALL],
        .segments = &run->stats.stat[MT_STAT_SEGMENT][MT_SLOT_ALL],
        .allocations = &run->stats.stat[MT_STAT_ALLOCATION][MT_SLOT_ALL],
    };
    run->stats = (struct mt_alloc_stats){.num_ooms = 0};
    run->peak = (struct mt_sim_peak){.event = 0};
    run->of_trace = true;
    run->requests = run->n_ooms = 0;
    run->ooms.n = 0;
    run->assumed = (struct mt_sim_assumptions){.ooms_served = 0};
    begin(&w);
    for (size_t i = 0; i < sim->n; i++) {
        MT_TRY(on_event(&w, (uint32_t)i, err));
    }
    return MT_OK;
}
