/* SPDX-License-Identifier: MIT */
/*
 * The state after the last event of a trace that lost its end. state.c knows how to undo events and
 * to lay blocks into segments, so the trace is turned round: its events in reverse order, each as
 * its opposite (an alloc as a free, a segment_alloc as a segment_free), and undone from a state
 * that holds only the empty segments which are older than the trace. Undoing an opposite is doing.
 */
#include "heap/walk/cut_trace.h"

#include <string.h>

#include "snapshot/model/device_segments.h"
#include "support/hash.h"
#include "torch/keys.h"
#include "heap/walk/query.h"
#include "heap/walk/state.h"
#include "support/vec.h"

/* What PyTorch writes for every segment and block. */
#define SEGMENT_KEYS ((1u << MT_SEGMENT_KEY_COUNT) - 1)
#define BLOCK_KEYS ((1u << MT_BLOCK_KEY_history) - 1)

/* Events that change no state stay what they are. */
static const uint8_t OPPOSITE[MT_ACTION_COUNT] = {
    [MT_ACTION_ALLOC] = MT_ACTION_FREE,
    [MT_ACTION_FREE] = MT_ACTION_ALLOC,
    [MT_ACTION_FREE_COMPLETED] = MT_ACTION_ALLOC,
    [MT_ACTION_SEGMENT_ALLOC] = MT_ACTION_SEGMENT_FREE,
    [MT_ACTION_SEGMENT_FREE] = MT_ACTION_SEGMENT_ALLOC,
    [MT_ACTION_SEGMENT_MAP] = MT_ACTION_SEGMENT_UNMAP,
    [MT_ACTION_SEGMENT_UNMAP] = MT_ACTION_SEGMENT_MAP,
};

/* What the events say of a segment of the dump. */
enum { TOUCHED = 1, MADE = 2 };

struct following {
    struct mt_snapshot *s;
    MT_VEC(struct mt_segment) segments; /* the result, of all devices */
    MT_VEC(struct mt_block) blocks;     /* those of the dump, then those of the result */
    /* of the device at hand */
    int32_t device;
    struct mt_trace trace;
    struct mt_segment_index index;   /* of the dump's segments */
    MT_VEC(unsigned char) said;      /* one a segment of s: TOUCHED, MADE */
    MT_VEC(struct mt_event) events;  /* turned round */
    MT_VEC(uint32_t) pools;          /* their column, where the file has it */
    MT_VEC(struct mt_segment) older; /* the start */
    struct mt_idmap allocs;          /* address of a live block -> its alloc event */
    struct mt_idmap dropped;         /* address of a live block -> its free_requested */
};

/* ---- reading the trace ---- */

static void say(struct following *f, uint64_t addr, unsigned char what)
{
    const struct mt_segment *g = mt_segment_index_find(&f->index, addr);
    if (g) {
        f->said.v[g - f->s->segments] |= what;
    }
}

static bool read_event(struct following *f, uint32_t i)
{
    const struct mt_event *e = &f->s->events[f->trace.first + i];
    switch ((enum mt_action)e->action) {
    case MT_ACTION_ALLOC:
        say(f, e->addr, TOUCHED);
        (void)mt_idmap_remove(&f->dropped, e->addr, NULL);
        return mt_idmap_put(&f->allocs, e->addr, i);
    case MT_ACTION_FREE_REQUESTED:
        say(f, e->addr, TOUCHED);
        return !mt_idmap_find(&f->allocs, e->addr) || mt_idmap_put(&f->dropped, e->addr, i);
    case MT_ACTION_FREE:
    case MT_ACTION_FREE_COMPLETED:
        say(f, e->addr, TOUCHED);
        (void)mt_idmap_remove(&f->allocs, e->addr, NULL);
        (void)mt_idmap_remove(&f->dropped, e->addr, NULL);
        return true;
    case MT_ACTION_SEGMENT_ALLOC:
    case MT_ACTION_SEGMENT_MAP: say(f, e->addr, MADE); return true;
    default: return true;
    }
}

static bool read_trace(struct following *f)
{
    size_t n = f->trace.n;
    if (n >= UINT32_MAX || !mt_vec_reserve(&f->said, f->s->n_segments + 1)) {
        return false;
    }
    memset(f->said.v, 0, f->s->n_segments + 1);
    for (size_t i = 0; i < n; i++) {
        if (!read_event(f, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

/* ---- turning it round ---- */

static bool turn_round(struct following *f)
{
    size_t n = f->trace.n;
    const uint32_t *pools = f->s->columns[MT_COLUMN_POOL];
    f->events.n = f->pools.n = f->older.n = 0;
    for (size_t i = n; i-- > 0;) {
        struct mt_event e = f->s->events[f->trace.first + i];
        e.action = OPPOSITE[e.action] ? OPPOSITE[e.action] : MT_ACTION_OTHER;
        if (!mt_vec_push(&f->events, e) ||
            (pools && !mt_vec_push(&f->pools, pools[f->trace.first + i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < f->s->n_segments; i++) {
        struct mt_segment g = f->s->segments[i];
        g.n_blocks = 0;
        if (g.device == f->device && f->said.v[i] == TOUCHED && !mt_vec_push(&f->older, g)) {
            return false;
        }
    }
    return true;
}

static enum mt_status state_after(struct following *f, struct mt_state *st, struct mt_error *err)
{
    struct mt_snapshot round = *f->s;
    struct mt_trace trace = {0, f->trace.n};
    round.events = f->events.v;
    round.n_events = f->events.n;
    memset(round.columns, 0, sizeof round.columns);
    round.columns[MT_COLUMN_POOL] = f->pools.n ? f->pools.v : NULL;
    mt_snapshot_set_segments(&round, f->older.v, f->older.n);
    for (size_t i = 0; i < f->older.n; i++) { /* state.c asks for the device that it is given */
        f->older.v[i].device = 0;
    }
    round.traces = &trace;
    round.n_traces = 1;
    return mt_state_at(&round, 0, 0, st, err);
}

/* ---- the result ---- */

/* The free that was turned into an alloc says neither the stack nor whether it is pending. */
static void complete_block(struct following *f, struct mt_block *b, uint32_t segment)
{
    b->segment = segment;
    b->present |= BLOCK_KEYS;
    if (b->state == MT_BLOCK_INACTIVE) {
        return;
    }
    const uint32_t *alloc = mt_idmap_find(&f->allocs, b->addr);
    b->stack = alloc ? f->s->events[f->trace.first + *alloc].stack : 0;
    b->state = mt_idmap_find(&f->dropped, b->addr) ? MT_BLOCK_PENDING : MT_BLOCK_ALLOCATED;
}

static bool take_segment(struct following *f, const struct mt_state *st, struct mt_segment g)
{
    const struct mt_segment *dump = mt_segment_index_find(&f->index, g.addr);
    const struct mt_block *blocks = MT_PART(st->blocks, g.first_block);
    if (dump && dump->stream == g.stream && dump->expandable == g.expandable) {
        g.kind = dump->kind;
        g.pool = dump->pool;
    }
    g.device = f->device;
    g.present |= SEGMENT_KEYS;
    g.first_block = (uint32_t)f->blocks.n;
    g.allocated_size = 0;
    for (uint32_t i = 0; i < g.n_blocks; i++) {
        struct mt_block b = blocks[i];
        complete_block(f, &b, (uint32_t)f->segments.n);
        g.allocated_size += b.state == MT_BLOCK_ALLOCATED ? b.size : 0;
        if (f->blocks.n >= UINT32_MAX || !mt_vec_push(&f->blocks, b)) {
            return false;
        }
    }
    return mt_vec_push(&f->segments, g);
}

static enum mt_status follow_with_index(struct following *f, struct mt_error *err)
{
    struct mt_state st;
    if (!read_trace(f) || !turn_round(f)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(state_after(f, &st, err));
    bool ok = true;
    for (size_t i = 0; ok && i < st.n_segments; i++) {
        ok = take_segment(f, &st, st.segments[i]);
    }
    mt_state_release(&st);
    return ok ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status follow_device(struct following *f, int32_t device, struct mt_error *err)
{
    f->device = device;
    f->trace = f->s->traces[device];
    MT_TRY(mt_segment_index_init(&f->index, f->s, device, err));
    enum mt_status status = follow_with_index(f, err);
    mt_segment_index_release(&f->index);
    mt_idmap_release(&f->allocs);
    mt_idmap_release(&f->dropped);
    f->allocs = f->dropped = (struct mt_idmap){0};
    return status;
}

/* Blocks keep their places, since those of pinned memory are named by them. */
static bool keep_others(struct following *f)
{
    const struct mt_snapshot *s = f->s;
    for (size_t i = 0; i < s->n_blocks; i++) {
        if (!mt_vec_push(&f->blocks, s->blocks[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct mt_segment *g = &s->segments[i];
        if (mt_trace_is_cut(s, g->device)) {
            continue;
        }
        for (uint32_t k = 0; k < g->n_blocks; k++) {
            f->blocks.v[g->first_block + k].segment = (uint32_t)f->segments.n;
        }
        if (!mt_vec_push(&f->segments, *g)) {
            return false;
        }
    }
    return true;
}

static enum mt_status follow_all(struct following *f, struct mt_error *err)
{
    if (!keep_others(f)) {
        return mt_fail_nomem(err);
    }
    for (size_t d = f->s->source.first_cut; d < f->s->n_traces; d++) {
        if (mt_trace_is_cut(f->s, (int32_t)d)) {
            MT_TRY(follow_device(f, (int32_t)d, err));
        }
    }
    struct mt_segment *segments = mt_snapshot_alloc(f->s, f->segments.n + 1, sizeof *segments);
    struct mt_block *blocks = mt_snapshot_alloc(f->s, f->blocks.n + 1, sizeof *blocks);
    if (!segments || !blocks) {
        return mt_fail_nomem(err);
    }
    if (f->segments.n) {
        memcpy(segments, f->segments.v, f->segments.n * sizeof *segments);
    }
    if (f->blocks.n) {
        memcpy(blocks, f->blocks.v, f->blocks.n * sizeof *blocks);
    }
    mt_snapshot_set_segments(f->s, segments, f->segments.n);
    f->s->blocks = blocks;
    f->s->n_blocks = f->blocks.n;
    f->s->source.followed = true;
    return MT_OK;
}

enum mt_status mt_snapshot_follow_trace(struct mt_snapshot *s, struct mt_error *err)
{
    struct following f = {.s = s};
    if (!s->source.trace_cut || s->source.followed) {
        return MT_OK;
    }
    enum mt_status status = follow_all(&f, err);
    mt_vec_release(&f.segments);
    mt_vec_release(&f.blocks);
    mt_vec_release(&f.said);
    mt_vec_release(&f.events);
    mt_vec_release(&f.pools);
    mt_vec_release(&f.older);
    return status;
}
