/* SPDX-License-Identifier: MIT */
/* One of the files of a comparison: what lives in it at the moment that is compared. */
#ifndef MEMTOOL_VERBS_COMPARE_SIDES_H
#define MEMTOOL_VERBS_COMPARE_SIDES_H

#include "heap/findings/peak.h"
#include "heap/stacks/filter.h"
#include "heap/stacks/fold.h"
#include "print/report.h"
#include "support/arena.h"

/* What is compared: a stack, or what has a name in both files. */
struct mt_diff_item {
    struct mt_str name; /* .p NULL: the stack is what counts */
    uint32_t stack;
    uint64_t bytes, count;
};

/* Where the moment lies on one device. */
struct mt_compare_moment {
    int32_t device;
    size_t n_events, events_done;
    int64_t since_us; /* after the first event, MT_NO_TIME: not known */
    uint64_t live, reserved;
    uint64_t reserved_peak; /* of the whole trace */
};

struct mt_compare_side {
    const char *file;
    const struct mt_snapshot *s; /* borrowed */
    MT_VEC(struct mt_diff_item) items;
    MT_VEC(struct mt_compare_moment) moments; /* empty for the dump */
    uint64_t live; /* bytes of the items: requested ones, of the dump those of active blocks */
    /* Of the devices that have the moment, whatever the filter: at the peak the highest of the
     * whole trace, since of equal peaks the first may find a cache that is still being filled. */
    uint64_t reserved;
    uint64_t count;
    struct mt_arena text; /* of the names */
};

struct mt_compare_options {
    struct mt_moment at;
    enum mt_peak_by by;
    int32_t device; /* MT_ALL_DEVICES or one */
    const struct mt_rules *rules;
};

/* Whether the blocks of the dump are compared, which is what compare/1 means. */
static inline bool mt_compare_is_of_dump(const struct mt_compare_options *o)
{
    return o->at.kind == MT_AT_END && o->by == MT_BY_STACK;
}

/*
 * Fills side->items from side->s, which passes `f` (NULL: all of the device): of the dump active
 * blocks by stack, else each device at its own such moment, in requested
 * bytes, as peak counts them; names are made with `r`. Devices that do not have the moment count as
 * empty, as long as one has it. Errors: MT_NOT_FOUND, MT_NOMEM, MT_LIMIT. Release it also after a
 * failure.
 */
enum mt_status mt_compare_side_find(struct mt_compare_side *side, struct mt_filtered *f,
                                    const struct mt_compare_options *o, const struct mt_report *r,
                                    struct mt_error *err) MT_NODISCARD;
void mt_compare_side_release(struct mt_compare_side *side);

#endif
