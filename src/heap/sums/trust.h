/* SPDX-License-Identifier: MIT */
/*
 * Can this file be trusted? The facts that a reader of its figures must know, and none else: the
 * trust banner at the head of reports. Nothing here is an error.
 */
#ifndef MEMTOOL_HEAP_SUMS_TRUST_H
#define MEMTOOL_HEAP_SUMS_TRUST_H

#include "heap/sums/totals.h"
#include "snapshot/model/model.h"
#include "support/error.h"

/* name, id in JSON, whether it limits what can be said (else it is only worth knowing) */
#define MT_TRUST_MAP(X)                                                                            \
    X(SALVAGED, "salvaged", true)                                                                  \
    X(ASYNC_BACKEND, "cuda_malloc_async", true)                                                    \
    X(NO_HISTORY, "no_history", true)                                                              \
    X(STATE_ONLY, "state_only", true)                                                              \
    X(RING_OVERFLOW, "ring_overflow", true)                                                        \
    X(STARTS_LATE, "starts_late", true)                                                            \
    X(NO_FRAMES, "no_frames", true)                                                                \
    X(NO_TIMES, "no_times", false)                                                                 \
    X(TIMES_BACKWARDS, "times_backwards", true)                                                    \
    X(SUMS, "sums_do_not_add_up", true)                                                            \
    X(OVERLAP, "segments_overlap", true)                                                           \
    X(UNKNOWN_ACTIONS, "unknown_actions", false)                                                   \
    X(UNKNOWN_KEYS, "unknown_keys", false)                                                         \
    X(UNKNOWN_LINES, "unknown_lines", false)                                                       \
    X(ODD_VALUES, "odd_values", true)                                                              \
    X(UNLIMITED, "unlimited_as_number", false)                                                     \
    X(LIBRARIES_UNSEEN, "libraries_unseen", true)                                                  \
    X(USED_BEFORE, "used_before", true)                                                            \
    X(UNSEEN, "memory_unseen", true)                                                               \
    X(FREE_UNKNOWN, "free_unknown", false)                                                         \
    X(WATCHED, "watched", false)

enum mt_trust_id {
#define X(name, id, limits) MT_TRUST_##name,
    MT_TRUST_MAP(X)
#undef X
        MT_TRUST_COUNT
};

/* "ring_overflow" and so on. */
const char *mt_trust_word(enum mt_trust_id id);
/* Whether the fact limits what can be said. */
bool mt_trust_limits(enum mt_trust_id id);

struct mt_trust_fact {
    enum mt_trust_id id;
    int32_t device; /* of the facts that belong to one, else -2 */
    uint64_t count; /* RING_OVERFLOW, STARTS_LATE: allocations; SUMS, OVERLAP: segments; NO_HISTORY:
                       0; UNKNOWN_*, ODD_VALUES: events, values; STATE_ONLY: events; USED_BEFORE: 1
                       when the process's own context is not in it */
    uint64_t bytes; /* RING_OVERFLOW, STARTS_LATE: requested bytes alive before the first event;
                       USED_BEFORE, UNSEEN: bytes of the device */
    uint64_t first; /* SUMS, OVERLAP: address of the first such segment; RING_OVERFLOW: events;
                       UNKNOWN_LINES: index in mt_snapshot.odd;
                       UNSEEN: bytes by which the device has less free than at the start */
};

struct mt_trust {
    MT_VEC(struct mt_trust_fact)
    facts; /* in the order of MT_TRUST_MAP, then by device; those of a
              watched process by device first */
};

/*
 * RING_OVERFLOW and STARTS_LATE both say that memory was alive before the first event; the file has
 * no flag for either. A trace that begins within a request (with the second half of a free) or
 * whose length is a round number is taken as an overflown ring. `t` must be of the whole file (an
 * open filter). O(segments + blocks). Errors: MT_NOMEM. Release it also after a failure.
 */
enum mt_status mt_trust_find(struct mt_trust *trust, const struct mt_snapshot *s,
                             const struct mt_totals *t, struct mt_error *err) MT_NODISCARD;
void mt_trust_release(struct mt_trust *trust);

bool mt_trust_has(const struct mt_trust *trust, enum mt_trust_id id);

#endif
