/* SPDX-License-Identifier: MIT */
/*
 * Walks the trace from its end to its beginning, as mt_state_at does, because only the end is
 * known: a segment that is there at the end and was never taken in the trace is older than the
 * trace. Undoing a release opens a piece, undoing a reservation closes it. An unmapping may cover
 * part of what one mapping brought and the other way round, so ranges are cut where they meet.
 */
#include "page_pieces.h"

#include <memtool/replay.h>

struct walk {
    struct mt_page_pieces *out;
    MT_VEC(struct mt_page_piece) open; /* there at the moment, in no order; few */
    struct mt_error *err;
};

static enum mt_status close_piece(struct walk *w, struct mt_page_piece piece, uint32_t from)
{
    piece.from = from;
    return mt_vec_push(&w->out->v, piece) ? MT_OK : mt_fail_nomem(w->err);
}

static enum mt_status open_piece(struct walk *w, struct mt_page_piece piece)
{
    return mt_vec_push(&w->open, piece) ? MT_OK : mt_fail_nomem(w->err);
}

/* Keeps what an open piece holds beside the range [addr, end). */
static enum mt_status keep_rest(struct walk *w, struct mt_page_piece piece, uint64_t addr,
                                uint64_t end)
{
    struct mt_page_piece before = piece;
    struct mt_page_piece behind = piece;
    if (piece.addr < addr) {
        before.size = addr - piece.addr;
        MT_TRY(open_piece(w, before));
    }
    if (end < piece.addr + piece.size) {
        behind.addr = end;
        behind.size = piece.addr + piece.size - end;
        MT_TRY(open_piece(w, behind));
    }
    return MT_OK;
}

/* Event `index` reserved [addr, addr + size): what is open there began with it. */
static enum mt_status undo_reserve(struct walk *w, const struct mt_event *e, uint32_t index)
{
    uint64_t end = e->addr + e->size;
    for (size_t i = 0; i < w->open.n;) {
        struct mt_page_piece piece = w->open.v[i];
        if (piece.addr >= end || piece.addr + piece.size <= e->addr) {
            i++;
            continue;
        }
        w->open.v[i] = w->open.v[--w->open.n];
        MT_TRY(keep_rest(w, piece, e->addr, end));
        uint64_t piece_end = piece.addr + piece.size;
        piece.addr = piece.addr > e->addr ? piece.addr : e->addr;
        piece.size = (piece_end < end ? piece_end : end) - piece.addr;
        piece.stack = e->stack ? e->stack : piece.stack;
        MT_TRY(close_piece(w, piece, index));
        i = 0;
    }
    return MT_OK;
}

static enum mt_status undo_release(struct walk *w, const struct mt_snapshot *s, size_t at,
                                   uint32_t index)
{
    enum { SMALL_SEGMENT = 2 << 20 }; /* kSmallBuffer of PyTorch's CUDACachingAllocator.cpp */
    const struct mt_event *e = &s->events[at];
    bool knows_pool = s->columns[MT_COLUMN_POOL] != NULL;
    return open_piece(w, (struct mt_page_piece){
                             .addr = e->addr,
                             .size = e->size,
                             .to = index,
                             .stack = e->stack,
                             .stream = e->stream,
                             .pool = knows_pool ? s->columns[MT_COLUMN_POOL][at] : UINT32_MAX,
                             .large = e->size > SMALL_SEGMENT,
                             .expandable = e->action == MT_ACTION_SEGMENT_UNMAP,
                         });
}

static uint32_t pool_index(const struct mt_snapshot *s, struct mt_pool_id id)
{
    for (size_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].a == id.a && s->pools[i].b == id.b) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

static enum mt_status open_final(struct walk *w, const struct mt_snapshot *s, int32_t device)
{
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct mt_segment *g = &s->segments[i];
        if (g->device != device) {
            continue;
        }
        MT_TRY(open_piece(w, (struct mt_page_piece){
                                 .addr = g->addr,
                                 .size = g->total_size,
                                 .to = UINT32_MAX,
                                 .stack = g->stack,
                                 .stream = g->stream,
                                 .pool = pool_index(s, g->pool),
                                 .large = g->kind == MT_POOL_LARGE,
                                 .expandable = g->expandable,
                             }));
    }
    return MT_OK;
}

static enum mt_status walk_back(struct walk *w, const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace t = mt_device_trace(s, device);
    MT_TRY(open_final(w, s, device));
    for (size_t i = t.n; i-- > 0;) {
        const struct mt_event *e = &s->events[t.first + i];
        enum mt_step_kind kind = mt_event_kind(e);
        if (kind == MT_STEP_RESERVE) {
            MT_TRY(undo_reserve(w, e, (uint32_t)i));
        } else if (kind == MT_STEP_RELEASE) {
            MT_TRY(undo_release(w, s, t.first + i, (uint32_t)i));
        }
    }
    for (size_t i = 0; i < w->open.n; i++) {
        MT_TRY(close_piece(w, w->open.v[i], 0));
    }
    return MT_OK;
}

enum mt_status mt_page_pieces_find(struct mt_page_pieces *p, const struct mt_snapshot *s,
                                   int32_t device, struct mt_error *err)
{
    struct walk w = {.out = p, .err = err};
    enum mt_status status = walk_back(&w, s, device);
    mt_vec_release(&w.open);
    return status;
}
