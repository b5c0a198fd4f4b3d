/* SPDX-License-Identifier: MIT */
/* From "the peak" or "1.5 s" to a place in the trace. */
#include "heap/walk/moment.h"

#include <inttypes.h>

#include "heap/findings/period.h"
#include "heap/stacks/filter.h"
#include "support/checked.h"
#include "support/units.h"

const char *mt_moment_name(enum mt_moment_kind kind)
{
    static const char *const NAMES[MT_MOMENT_KINDS] = {"peak",  "oom",  "end",  "start",
                                                       "event", "time", "step", "annotation"};
    return NAMES[kind];
}

static enum mt_status find_oom(const struct mt_replay *r, size_t *done, struct mt_error *err)
{
    for (size_t i = r->n; i-- > 0;) {
        if (r->events[i].action == MT_ACTION_OOM) {
            *done = i + 1;
            return MT_OK;
        }
    }
    return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                   "--at oom: device %" PRId32 " has no out-of-memory event in its trace",
                   r->device);
}

static enum mt_status find_event(const struct mt_replay *r, uint64_t event, size_t *done,
                                 struct mt_error *err)
{
    if (event >= r->n) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                       "--at %" PRIu64 ": the trace of device %" PRId32 " has %zu events", event,
                       r->device, r->n);
    }
    *done = (size_t)event + 1;
    return MT_OK;
}

static enum mt_status find_time(const struct mt_replay *r, const struct mt_moment *m, size_t *done,
                                struct mt_error *err)
{
    if (!r->n || r->events[0].time_us == MT_NO_TIME) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                       "--at: the events of device %" PRId32 " have no times", r->device);
    }
    int64_t until = m->time_us;
    if (!m->time_is_absolute && mt_add_overflow(m->time_us, r->events[0].time_us, &until)) {
        until = INT64_MAX;
    }
    *done = 0;
    while (*done < r->n && r->events[*done].time_us <= until) {
        ++*done;
    }
    if (*done == 0 || (*done == r->n && until > r->events[r->n - 1].time_us)) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                       "--at %s: the trace of device %" PRId32 " lasts %s, and this is %s it",
                       m->text ? m->text : "", r->device, mt_duration_text(mt_replay_span_us(r)).s,
                       *done ? "behind" : "before");
    }
    return MT_OK;
}

/* ---- the highest point of a part ---- */

/* The events [from, to) of the trace, those that pass `f` (NULL: all). */
struct part {
    const struct mt_replay *r;
    size_t from, to;
    struct mt_filtered *f;
};

static bool is_inside(const struct part *p, size_t event)
{
    return event >= p->from && event < p->to &&
           (!p->f || mt_filtered_event(p->f, p->r->device, event));
}

/* False when no event is inside. */
static bool find_highest(const struct part *p, size_t *done)
{
    bool found = false;
    uint64_t most = 0;
    struct mt_step at;
    for (mt_replay_begin(p->r, &at); mt_replay_next(p->r, &at) && at.index < p->to;) {
        if ((!found || at.live_bytes > most) && is_inside(p, at.index)) {
            found = true;
            most = at.live_bytes;
            *done = at.index + 1;
        }
    }
    return found;
}

static enum mt_status find_step(const struct mt_replay *r, uint64_t step, size_t *done,
                                struct mt_error *err)
{
    struct mt_periods p = {0};
    struct mt_period_options detect = {0};
    enum mt_status status = mt_periods_find(&p, r, &detect, err);
    size_t n = status == MT_OK ? mt_periods_count(&p) : 0;
    if (status == MT_OK && step >= n) {
        status = mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                         "--at step:%" PRIu64 ": the trace of device %" PRId32
                         " has %zu whole step%s, counted from step:0",
                         step, r->device, n, n == 1 ? "" : "s");
    } else if (status == MT_OK) {
        struct part part = {r, p.bounds.v[step], p.bounds.v[step + 1], NULL};
        (void)find_highest(&part, done); /* a period holds the event that it begins with */
    }
    mt_periods_release(&p);
    return status;
}

static enum mt_status find_annotation(const struct mt_replay *r, const char *name, size_t *done,
                                      struct mt_error *err)
{
    struct mt_filter filter;
    struct mt_filtered f = {0};
    mt_filter_init(&filter);
    filter.annotation = name;
    enum mt_status status = mt_filtered_init(&f, &filter, r->snapshot, err);
    if (status == MT_OK) {
        status = mt_filtered_check(&f, false, err);
    }
    struct part part = {r, 0, r->n, &f};
    if (status == MT_OK && !find_highest(&part, done)) {
        status = mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                         "--at annotation:%s: device %" PRId32 " has no event inside it", name,
                         r->device);
    }
    mt_filtered_release(&f);
    mt_filter_release(&filter);
    return status;
}

enum mt_status mt_moment_find(const struct mt_moment *m, const struct mt_replay *r,
                              size_t *events_done, struct mt_error *err)
{
    switch (m->kind) {
    case MT_AT_PEAK: *events_done = r->peak_done; return MT_OK;
    case MT_AT_END: *events_done = r->n; return MT_OK;
    case MT_AT_START: *events_done = 0; return MT_OK;
    case MT_AT_OOM: return find_oom(r, events_done, err);
    case MT_AT_EVENT: return find_event(r, m->event, events_done, err);
    case MT_AT_TIME: return find_time(r, m, events_done, err);
    case MT_AT_STEP: return find_step(r, m->step, events_done, err);
    case MT_AT_ANNOTATION: return find_annotation(r, m->annotation, events_done, err);
    case MT_MOMENT_KINDS: break;
    }
    return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "unknown kind of moment");
}
