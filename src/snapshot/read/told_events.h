/* SPDX-License-Identifier: MIT */
/*
 * Files beside snapshots tell requests and frees, some of them also how much was allocated and
 * reserved then. From those this makes a snapshot: the trace, with the reserved memory's changes
 * between two events as segments that were reserved and given back, and at the end a segment for
 * each live request and one for all else, so that sums are right. mt_source.told says what is not.
 */
#ifndef MEMTOOL_SNAPSHOT_TOLD_EVENTS_H
#define MEMTOOL_SNAPSHOT_TOLD_EVENTS_H

#include "snapshot/model/builder.h"
#include "support/vec.h"

struct mt_told_event {
    int64_t time_us; /* or MT_NO_TIME */
    uint64_t addr;
    uint64_t size;
    uint64_t allocated, reserved; /* after it; 0 in files that do not tell */
    uint64_t stream;
    int32_t device;
    uint32_t stack;    /* id, 0: none */
    uint32_t category; /* string id, 0: none */
    uint8_t action;    /* ALLOC, FREE_COMPLETED or OOM (its size was refused) */
};

struct mt_told_events {
    MT_VEC(struct mt_told_event) v; /* in the order of time */
    bool sums;                      /* `allocated` and `reserved` are told */
    bool preexisting;               /* what is freed without an alloc was alive before */
};

/* Puts all of it into b: devices 0 to the largest that has events, at most 1,024. Errors: MT_LIMIT,
 * MT_NOMEM. */
enum mt_status mt_told_build(struct mt_builder *b, const struct mt_told_events *t,
                             struct mt_error *err) MT_NODISCARD;

#endif
