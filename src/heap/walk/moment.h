/* SPDX-License-Identifier: MIT */
/* A moment of a trace as users name it: the peak, the out-of-memory event, an event, a time. */
#ifndef MEMTOOL_HEAP_WALK_MOMENT_H
#define MEMTOOL_HEAP_WALK_MOMENT_H

#include "heap/walk/replay.h"
#include "support/error.h"

enum mt_moment_kind {
    MT_AT_PEAK,  /* after the event that first brings requested bytes to their highest */
    MT_AT_OOM,   /* at the last out-of-memory event */
    MT_AT_END,   /* after the last event: what the file's segments show */
    MT_AT_START, /* before the first event */
    MT_AT_EVENT, /* after event `event` */
    MT_AT_TIME   /* after the last event not later than the time */
};

struct mt_moment {
    enum mt_moment_kind kind;
    uint64_t event;        /* EVENT: index in the device's trace */
    int64_t time_us;       /* TIME: since the first event, or since the Unix epoch */
    bool time_is_absolute; /* TIME */
};

/*
 * How many events of r have happened at the moment: 0 before the first, r->n at the end. A device
 * without events has one moment, and every kind but EVENT, TIME and OOM gives it. Errors:
 * MT_NOT_FOUND (no such event, no OOM in this trace, no times in the file).
 */
enum mt_status mt_moment_find(const struct mt_moment *m, const struct mt_replay *r,
                              size_t *events_done, struct mt_error *err) MT_NODISCARD;

/* "peak", "oom", "end", "start", "event", "time": for JSON and headlines. */
const char *mt_moment_name(enum mt_moment_kind kind);

#endif
