/* SPDX-License-Identifier: MIT */
/*
 * Bytes of each owner from the segments, and from the trace what they were at their peak or at an
 * earlier moment: the trace counts from zero, and what was there before it is what is there now
 * less what it added.
 */
#include "heap/sums/account_finder.h"
#include "heap/walk/query.h"
#include "heap/walk/replay.h"
#include "snapshot/model/device_segments.h"
#include "support/checked.h"

static uint32_t stack_of_segment(const struct mt_snapshot *s, const struct mt_segment *segment)
{
    bool has_block = segment->stack == 0 && segment->n_blocks > 0;
    return has_block ? s->blocks[segment->first_block].stack : segment->stack;
}

bool mt_account_segments(struct mt_account_finder *f)
{
    struct mt_device_segments walk = mt_device_segments(f->s, f->a->device);
    for (const struct mt_segment *segment; (segment = mt_device_segments_next(&walk)) != NULL;) {
        uint32_t row = mt_account_row(f, stack_of_segment(f->s, segment));
        if (row == UINT32_MAX) {
            return false;
        }
        mt_account_add_bytes(f->a, &f->a->rows.v[row], segment->total_size);
        f->a->rows.v[row].count++;
    }
    return true;
}

static void count(struct mt_account_finder *f, struct mt_tally *t, uint64_t size, bool up)
{
    bool wild = size > INT64_MAX;
    wild = wild || (up ? mt_add_overflow(t->net, (int64_t)size, &t->net)
                       : mt_sub_overflow(t->net, (int64_t)size, &t->net));
    f->wild |= wild;
    t->n += up ? 1 : -1;
    t->highest = t->net > t->highest ? t->net : t->highest;
}

/* The moment that was asked for has come. */
static void keep_moment(struct mt_account_finder *f)
{
    for (size_t i = 0; i < f->tallies.n; i++) {
        f->tallies.v[i].then = f->tallies.v[i].net;
        f->tallies.v[i].n_then = f->tallies.v[i].n;
    }
}

/* The row that an event speaks of: a free has no stack of its own, so its address tells. */
static uint32_t row_of_event(struct mt_account_finder *f, const struct mt_event *e, bool up)
{
    if (!f->by_caller) {
        return mt_account_row(f, 0);
    }
    if (up) {
        uint32_t row = mt_account_row(f, e->stack);
        return row != UINT32_MAX && mt_idmap_put(&f->held, e->addr, row) ? row : UINT32_MAX;
    }
    const uint32_t *row = mt_idmap_find(&f->held, e->addr);
    return row ? *row : mt_account_row(f, 0); /* older than the trace */
}

bool mt_account_walk(struct mt_account_finder *f, size_t after)
{
    struct mt_trace trace = mt_device_trace(f->s, f->a->device);
    for (size_t i = 0; i < trace.n; i++) {
        const struct mt_event *e = &f->s->events[trace.first + i];
        bool up = e->action == MT_ACTION_SEGMENT_ALLOC || e->action == MT_ACTION_SEGMENT_MAP;
        if (after > 0 && i == after) {
            keep_moment(f);
        }
        if (!up && e->action != MT_ACTION_SEGMENT_FREE && e->action != MT_ACTION_SEGMENT_UNMAP) {
            continue;
        }
        uint32_t row = row_of_event(f, e, up);
        if (row == UINT32_MAX) {
            return false;
        }
        count(f, &f->tallies.v[row], e->size, up);
        count(f, &f->all, e->size, up);
        f->a->allocations++;
    }
    if (after >= trace.n) {
        keep_moment(f);
    }
    return true;
}

/* What was there before the trace is what is there now less what the trace added. */
static bool peak_of(const struct mt_tally *t, uint64_t now, uint64_t *peak)
{
    int64_t start;
    if (now > INT64_MAX || mt_sub_overflow((int64_t)now, t->net, &start) || start < 0) {
        return false;
    }
    *peak = (uint64_t)start + (uint64_t)t->highest;
    return true;
}

void mt_account_peaks(struct mt_account_finder *f)
{
    struct mt_account *a = f->a;
    bool traced = a->allocations > 0 && !f->wild;
    for (size_t i = 0; i < a->rows.n; i++) {
        struct mt_owner *row = &a->rows.v[i];
        row->peak_known = traced && peak_of(&f->tallies.v[i], row->bytes, &row->peak);
    }
    a->seen_peak_known = traced && peak_of(&f->all, a->seen, &a->seen_peak);
}

void mt_account_go_back(struct mt_account_finder *f)
{
    struct mt_account *a = f->a;
    a->seen = 0;
    for (size_t i = 0; i < a->rows.n; i++) {
        struct mt_owner *row = &a->rows.v[i];
        const struct mt_tally *t = &f->tallies.v[i];
        int64_t bytes = row->bytes <= INT64_MAX ? (int64_t)row->bytes : -1, n = (int64_t)row->count;
        if (bytes >= 0 && !mt_sub_overflow(bytes, t->net, &bytes) &&
            !mt_add_overflow(bytes, t->then, &bytes) && bytes >= 0) {
            n = n - t->n + t->n_then;
            row->bytes = (uint64_t)bytes;
            row->count = n > 0 ? (uint64_t)n : 0;
        }
        a->seen = mt_add_sat(a->seen, row->bytes);
    }
}
