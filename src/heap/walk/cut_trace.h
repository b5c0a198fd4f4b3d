/* SPDX-License-Identifier: MIT */
/*
 * Traces that lost their end to a damage of the file. A file holds its segments before its traces,
 * so a salvaged one may have all of the state at the dump and only the first of the events that led
 * to it. Everything that reads a trace backwards from that state, or takes a block of it that no
 * event explains for one older than the trace, would be wrong by the events that are lost.
 */
#ifndef MEMTOOL_HEAP_WALK_CUT_TRACE_H
#define MEMTOOL_HEAP_WALK_CUT_TRACE_H

#include "snapshot/model/model.h"
#include "support/error.h"

/*
 * Where s->source.trace_cut, replaces the segments of each device whose trace lost its end by those
 * after its last event that is left, found by doing the events from nothing; of what is older than
 * the trace only that is known which its events touch. Sets s->source.followed. `s` is one that a
 * reader gave. Does nothing otherwise. O(events + blocks). Errors: MT_NOMEM; s is then as it was.
 */
enum mt_status mt_snapshot_follow_trace(struct mt_snapshot *s, struct mt_error *err) MT_NODISCARD;

/* Whether the trace of `device` lost its end. */
static inline bool mt_trace_is_cut(const struct mt_snapshot *s, int32_t device)
{
    return s->source.trace_cut && device >= 0 && (size_t)device >= s->source.first_cut &&
           (size_t)device < s->n_traces && s->traces[device].n > 0;
}

#endif
