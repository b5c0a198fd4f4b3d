/* SPDX-License-Identifier: MIT */
/*
 * Walks the trace from its end to its beginning, as mt_state_at does, because only the end is
 * known: a segment that is there at the end and was never taken in the trace is older than the
 * trace. Undoing a release opens a piece, undoing a reservation closes it. An unmapping may cover
 * part of what one mapping brought and the other way round, so ranges are cut where they meet. Open
 * pieces never overlap: where a trace has gaps, what comes to light later began unseen.
 */
#include "verbs/plots/page/page_pieces.h"

#include <stdlib.h>

#include "support/checked.h"
#include "snapshot/model/device_segments.h"
#include "support/hash.h"
#include "heap/walk/replay.h"
#include "snapshot/model/settings.h"

/* The open pieces by address. All places where one can ever begin are known from the start, so each
 * has a leaf in a binary tree that says how far the pieces below a node reach. */
struct open_pieces {
    MT_VEC(uint64_t) starts;      /* ascending, without repetition */
    struct mt_page_piece *pieces; /* one a start */
    uint64_t *reach;              /* by node: the largest end of a piece below it, 0: none */
    size_t leaves;                /* a power of two above the number of starts; node 1 is the top */
};

struct walk {
    struct mt_page_pieces *out;
    struct mt_torch_rules rules; /* of the recording */
    struct open_pieces open;
    struct mt_error *err;
};

static int compare_addr(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_starts(struct open_pieces *o)
{
    size_t n = 0;
    if (o->starts.n) {
        qsort(o->starts.v, o->starts.n, sizeof *o->starts.v, compare_addr);
    }
    for (size_t i = 0; i < o->starts.n; i++) {
        if (n == 0 || o->starts.v[n - 1] != o->starts.v[i]) {
            o->starts.v[n++] = o->starts.v[i];
        }
    }
    o->starts.n = n;
}

static uint64_t end_of(uint64_t addr, uint64_t size)
{
    return mt_add_sat(addr, size);
}

/* A piece begins where a segment does, or where a release does, or behind a reservation of less
 * than it. */
static bool open_init(struct open_pieces *o, const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace t = mt_device_trace(s, device);
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!mt_vec_push(&o->starts, g->addr)) {
            return false;
        }
    }
    for (size_t i = 0; i < t.n; i++) {
        const struct mt_event *e = &s->events[t.first + i];
        enum mt_step_kind kind = mt_event_kind(e);
        if ((kind == MT_STEP_RELEASE || kind == MT_STEP_RESERVE) &&
            (!mt_vec_push(&o->starts, e->addr) ||
             !mt_vec_push(&o->starts, end_of(e->addr, e->size)))) {
            return false;
        }
    }
    sort_starts(o);
    for (o->leaves = 1; o->leaves <= o->starts.n; o->leaves *= 2) {
    }
    o->pieces = mt_mem_alloc(o->starts.n, sizeof *o->pieces);
    o->reach = mt_mem_zalloc(o->leaves, 2 * sizeof *o->reach);
    return o->pieces && o->reach;
}

static void open_release(struct open_pieces *o)
{
    mt_vec_release(&o->starts);
    mt_mem_free(o->pieces);
    mt_mem_free(o->reach);
}

/* The number of starts below addr. */
static size_t starts_below(const struct open_pieces *o, uint64_t addr)
{
    size_t low = 0;
    for (size_t high = o->starts.n; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (o->starts.v[middle] < addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void set_reach(struct open_pieces *o, size_t leaf, uint64_t end)
{
    size_t node = o->leaves + leaf;
    o->reach[node] = end;
    while (node /= 2) {
        uint64_t left = o->reach[2 * node], right = o->reach[2 * node + 1];
        o->reach[node] = left > right ? left : right;
    }
}

/* The last open piece that shares something with [addr, end); SIZE_MAX: none. */
static size_t find_open(const struct open_pieces *o, uint64_t addr, uint64_t end)
{
    size_t node = o->leaves + starts_below(o, end);
    for (; node > 1; node /= 2) {
        if (node % 2 && o->reach[node - 1] > addr) {
            node--;
            while (node < o->leaves) {
                node = 2 * node + (o->reach[2 * node + 1] > addr);
            }
            return node - o->leaves;
        }
    }
    return SIZE_MAX;
}

/* ---- opening and closing ---- */

static enum mt_status close_piece(struct walk *w, struct mt_page_piece piece, uint32_t from)
{
    piece.from = from;
    return mt_vec_push(&w->out->v, piece) ? MT_OK : mt_fail_nomem(w->err);
}

/* Nothing open may share anything with it. */
static void put_piece(struct walk *w, struct mt_page_piece piece, uint64_t addr, uint64_t end)
{
    if (addr < end) {
        size_t leaf = starts_below(&w->open, addr);
        piece.addr = addr;
        piece.size = end - addr;
        w->open.pieces[leaf] = piece;
        set_reach(&w->open, leaf, end);
    }
}

/* What is open in [addr, end) began with event `index`. `made`: that event is what brought it;
 * NULL: it began unseen. Only what the driver gave for one request says of which pool it is: an
 * unmapping takes as many pages as lie side by side. */
static enum mt_status close_range(struct walk *w, uint64_t addr, uint64_t end, uint32_t index,
                                  const struct mt_event *made)
{
    size_t leaf;
    while ((leaf = find_open(&w->open, addr, end)) != SIZE_MAX) {
        struct mt_page_piece piece = w->open.pieces[leaf];
        uint64_t piece_end = piece.addr + piece.size;
        set_reach(&w->open, leaf, 0);
        put_piece(w, piece, piece.addr, piece.addr < addr ? addr : piece.addr);
        put_piece(w, piece, end, piece_end > end ? piece_end : end);
        piece.addr = piece.addr > addr ? piece.addr : addr;
        piece.size = (piece_end < end ? piece_end : end) - piece.addr;
        piece.stack = made && made->stack ? made->stack : piece.stack;
        if (made && piece.expandable && piece.to != UINT32_MAX) {
            piece.large = !mt_torch_grant_is_small(made->size);
        }
        MT_TRY(close_piece(w, piece, index));
    }
    return MT_OK;
}

static enum mt_status undo_reserve(struct walk *w, const struct mt_event *e, uint32_t index)
{
    return close_range(w, e->addr, end_of(e->addr, e->size), index, e);
}

/* The pool of an expandable segment that a range touches, as in mt_state_at; else what is known. */
static uint32_t pool_beside(const struct walk *w, const struct mt_event *e, uint32_t known)
{
    uint64_t end = end_of(e->addr, e->size);
    size_t beside[] = {e->addr ? find_open(&w->open, e->addr - 1, e->addr) : SIZE_MAX,
                       end < UINT64_MAX ? find_open(&w->open, end, end + 1) : SIZE_MAX};
    for (size_t i = 0; i < MT_COUNT(beside); i++) {
        const struct mt_page_piece *q = beside[i] == SIZE_MAX ? NULL : &w->open.pieces[beside[i]];
        if (q && q->expandable && q->stream == e->stream) {
            return q->pool;
        }
    }
    return known;
}

static enum mt_status undo_release(struct walk *w, const struct mt_snapshot *s, size_t at,
                                   uint32_t index)
{
    const struct mt_event *e = &s->events[at];
    bool expandable = e->action == MT_ACTION_SEGMENT_UNMAP;
    bool small =
        expandable ? mt_torch_range_is_small(&w->rules, e->size) : mt_torch_grant_is_small(e->size);
    const uint32_t *pools = s->columns[MT_COLUMN_POOL];
    uint32_t pool = pools && pools[at] < s->n_pools ? pools[at] : 0;
    struct mt_page_piece piece = {
        .to = index,
        .stack = e->stack,
        .stream = e->stream,
        .pool = expandable ? pool_beside(w, e, pool) : pool,
        .large = !small,
        .expandable = expandable,
    };
    MT_TRY(close_range(w, e->addr, end_of(e->addr, e->size), index, NULL));
    put_piece(w, piece, e->addr, end_of(e->addr, e->size));
    return MT_OK;
}

/* ---- the walk ---- */

/* The bytes of the pools' ids, so that a segment's is found; an id there is the index + 1. */
static bool list_pools(struct mt_intern *pools, const struct mt_snapshot *s)
{
    for (size_t i = 0; i < s->n_pools; i++) {
        if (mt_intern_put(pools, &s->pools[i], sizeof s->pools[i]) == 0) {
            return false;
        }
    }
    return true;
}

static enum mt_status open_final(struct walk *w, const struct mt_snapshot *s, int32_t device,
                                 const struct mt_intern *pools)
{
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        struct mt_page_piece piece = {
            .addr = g->addr,
            .size = g->total_size,
            .to = UINT32_MAX,
            .stack = g->stack,
            .stream = g->stream,
            .pool = mt_intern_find(pools, &g->pool, sizeof g->pool) - 1, /* UINT32_MAX: none */
            .large = g->kind == MT_POOL_LARGE,
            .expandable = g->expandable,
        };
        uint64_t end = end_of(g->addr, g->total_size);
        if (find_open(&w->open, g->addr, end) != SIZE_MAX) { /* damaged: shown all the time */
            MT_TRY(close_piece(w, piece, 0));
        } else {
            put_piece(w, piece, g->addr, end);
        }
    }
    return MT_OK;
}

static enum mt_status walk_back(struct walk *w, const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace t = mt_device_trace(s, device);
    for (size_t i = t.n; i-- > 0;) {
        const struct mt_event *e = &s->events[t.first + i];
        enum mt_step_kind kind = mt_event_kind(e);
        if (kind == MT_STEP_RESERVE) {
            MT_TRY(undo_reserve(w, e, (uint32_t)i));
        } else if (kind == MT_STEP_RELEASE) {
            MT_TRY(undo_release(w, s, t.first + i, (uint32_t)i));
        }
    }
    for (size_t i = 0; i < w->open.starts.n; i++) {
        if (w->open.reach[w->open.leaves + i]) {
            MT_TRY(close_piece(w, w->open.pieces[i], 0));
        }
    }
    return MT_OK;
}

enum mt_status mt_page_pieces_find(struct mt_page_pieces *p, const struct mt_snapshot *s,
                                   int32_t device, struct mt_error *err)
{
    struct walk w = {.out = p, .rules = mt_settings_rules(s), .err = err};
    struct mt_arena arena = {0};
    struct mt_intern pools;
    mt_intern_init(&pools, &arena, 0);
    enum mt_status status = list_pools(&pools, s) && open_init(&w.open, s, device)
                                ? open_final(&w, s, device, &pools)
                                : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = walk_back(&w, s, device);
    }
    mt_intern_release(&pools);
    mt_arena_release(&arena);
    open_release(&w.open);
    return status;
}
