/* SPDX-License-Identifier: MIT */
/* From "the peak" or "1.5 s" to a place in the trace. */
#include "heap/walk/moment.h"

#include <inttypes.h>

#include "support/checked.h"

const char *mt_moment_name(enum mt_moment_kind kind)
{
    static const char *const NAMES[] = {"peak", "oom", "end", "start", "event", "time"};
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
    return MT_OK;
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
    }
    return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "unknown kind of moment");
}
