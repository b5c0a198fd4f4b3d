/* SPDX-License-Identifier: MIT */
/* A moment of a trace as users name it: the peak, the out-of-memory event, an event, a time, the
 * highest point of a step or of an annotation. */
#ifndef MEMTOOL_HEAP_WALK_MOMENT_H
#define MEMTOOL_HEAP_WALK_MOMENT_H

#include "heap/walk/replay.h"
#include "support/error.h"

enum mt_moment_kind {
    MT_AT_PEAK,       /* after the event that first brings requested bytes to their highest */
    MT_AT_OOM,        /* at the last out-of-memory event */
    MT_AT_END,        /* after the last event: what the file's segments show */
    MT_AT_START,      /* before the first event */
    MT_AT_EVENT,      /* after event `event` */
    MT_AT_TIME,       /* after the last event not later than the time */
    MT_AT_STEP,       /* like the peak, of step `step` alone */
    MT_AT_ANNOTATION, /* like the peak, of the events inside annotations of a name */
    MT_MOMENT_KINDS
};

struct mt_moment {
    enum mt_moment_kind kind;
    uint64_t event;         /* EVENT: index in the device's trace */
    int64_t time_us;        /* TIME: since the first event, or since the Unix epoch */
    bool time_is_absolute;  /* TIME */
    uint64_t step;          /* STEP: of the whole periods that mt_periods_find finds, from 0 */
    const char *annotation; /* ANNOTATION: its name; borrowed */
    const char *text;       /* as the user wrote it, for reports; NULL: mt_moment_name; borrowed */
};

/*
 * How many events of r have happened at the moment: 0 before the first, r->n at the end. A device
 * without events has one moment, and PEAK, END and START give it. O(1), but O(events) for OOM and
 * TIME, and as long as mt_periods_find for STEP. Errors: MT_NOT_FOUND (no such event, step or
 * annotation, no OOM in this trace, no times in the file), MT_NOMEM.
 */
enum mt_status mt_moment_find(const struct mt_moment *m, const struct mt_replay *r,
                              size_t *events_done, struct mt_error *err) MT_NODISCARD;

/* Whether a device without a trace has moments of this kind. */
static inline bool mt_moment_needs_trace(enum mt_moment_kind kind)
{
    return kind != MT_AT_PEAK && kind != MT_AT_END && kind != MT_AT_START;
}

/* "peak", "oom", "end", "start", "event", "time", "step", "annotation": for JSON. */
const char *mt_moment_name(enum mt_moment_kind kind);

#endif
