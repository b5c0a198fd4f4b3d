/* SPDX-License-Identifier: MIT */
/*
 * The trace gives every address, so only sizes are derived (a request rounded up, and whether the
 * rest was worth a block of its own). Blocks stand in an array with links to their neighbours; one
 * map finds a block by its first byte, a second one, for expandable segments only, by the byte
 * behind its last.
 *
 * The steps are PyTorch's (CUDACachingAllocator.cpp: split, try_merge_blocks, map_block,
 * unmap_block; read in 2.6, verified on recordings of 2.11). Mapping more memory joins blocks too,
 * but that is no merge of freed memory. No event says which pool a segment is of, its size does.
 */
#include "heap/walk/block_replay.h"
#include "heap/walk/query.h"
#include "heap/walk/replay.h"
#include "snapshot/model/device_segments.h"
#include "snapshot/model/settings.h"
#include "support/hash.h"
#include "support/vec.h"

#define NONE UINT32_MAX

struct piece {
    uint64_t addr, size, requested;
    uint32_t prev, next; /* neighbours in the segment */
    bool free, small, expandable;
    bool dropped; /* freed by the program, waiting for the completion */
};

struct replayer {
    struct mt_torch_rules rules;
    MT_VEC(struct piece) pieces;
    uint32_t spare;                /* list of unused pieces, linked by next */
    size_t alive;                  /* pieces in use */
    struct mt_idmap by_addr;       /* first byte -> piece */
    struct mt_idmap by_end;        /* expandable only: byte behind the last -> piece */
    const struct mt_event *events; /* of the device */
    size_t n, now;                 /* how many, which one is at hand */
    void (*change)(void *ctx, const struct mt_block_change *c);
    void *ctx;
    uint64_t patience; /* steps left for searches that are not constant in time */
    bool lost;         /* an event did not fit */
};

static uint32_t piece_new(struct replayer *p, struct piece piece)
{
    uint32_t id = p->spare;
    if (id != NONE) {
        p->spare = p->pieces.v[id].next;
    } else {
        id = (uint32_t)p->pieces.n;
        if (id == NONE || !mt_vec_push(&p->pieces, piece)) {
            return NONE;
        }
    }
    p->pieces.v[id] = piece;
    if (!mt_idmap_put(&p->by_addr, piece.addr, id) ||
        (piece.expandable && !mt_idmap_put(&p->by_end, piece.addr + piece.size, id))) {
        return NONE;
    }
    p->alive++;
    return id;
}

/* Takes a piece out of the books; its neighbours are linked with each other. */
static void piece_drop(struct replayer *p, uint32_t id)
{
    struct piece *piece = &p->pieces.v[id];
    (void)mt_idmap_remove(&p->by_addr, piece->addr, NULL);
    if (piece->expandable) {
        (void)mt_idmap_remove(&p->by_end, piece->addr + piece->size, NULL);
    }
    if (piece->prev != NONE) {
        p->pieces.v[piece->prev].next = piece->next;
    }
    if (piece->next != NONE) {
        p->pieces.v[piece->next].prev = piece->prev;
    }
    *piece = (struct piece){.next = p->spare};
    p->spare = id;
    p->alive--;
}

static bool set_size(struct replayer *p, uint32_t id, uint64_t size)
{
    struct piece *piece = &p->pieces.v[id];
    if (piece->expandable) {
        (void)mt_idmap_remove(&p->by_end, piece->addr + piece->size, NULL);
        if (!mt_idmap_put(&p->by_end, piece->addr + size, id)) {
            return false;
        }
    }
    piece->size = size;
    return true;
}

/* Adds `next` to the piece in front of it. */
static bool join(struct replayer *p, uint32_t id, uint32_t next)
{
    uint64_t size = p->pieces.v[id].size + p->pieces.v[next].size;
    piece_drop(p, next);
    return set_size(p, id, size);
}

static uint32_t find_piece(struct replayer *p, uint64_t addr)
{
    uint32_t *id = mt_idmap_find(&p->by_addr, addr);
    p->lost |= !id;
    return id ? *id : NONE;
}

/* ---- events ---- */

static void report(struct replayer *p, enum mt_block_change_kind kind, const struct piece *piece,
                   uint64_t size)
{
    struct mt_block_change c = {.kind = kind,
                                .small = piece->small,
                                .expandable = piece->expandable,
                                .event = p->now,
                                .size = size,
                                .requested = piece->requested};
    p->change(p->ctx, &c);
}

static bool on_segment_alloc(struct replayer *p, const struct mt_event *e)
{
    struct piece piece = {.addr = e->addr,
                          .size = e->size,
                          .prev = NONE,
                          .next = NONE,
                          .free = true,
                          .small = mt_torch_grant_is_small(e->size)};
    report(p, MT_BLOCK_CHANGE_SEGMENT, &piece, e->size);
    return piece_new(p, piece) != NONE;
}

static bool on_map(struct replayer *p, const struct mt_event *e)
{
    uint32_t *left = mt_idmap_find(&p->by_end, e->addr);
    uint32_t *right = mt_idmap_find(&p->by_addr, e->addr + e->size);
    struct piece piece = {.addr = e->addr,
                          .size = e->size,
                          .prev = left ? *left : NONE,
                          .next = right ? *right : NONE,
                          .free = true,
                          .small = mt_torch_grant_is_small(e->size),
                          .expandable = true};
    report(p, MT_BLOCK_CHANGE_SEGMENT, &piece, e->size);
    uint32_t id = piece_new(p, piece);
    if (id == NONE) {
        return false;
    }
    if (piece.prev != NONE) {
        p->pieces.v[piece.prev].next = id;
    }
    if (piece.next != NONE) {
        p->pieces.v[piece.next].prev = id;
    }
    if (piece.prev != NONE && p->pieces.v[piece.prev].free) {
        if (!join(p, piece.prev, id)) {
            return false;
        }
        id = piece.prev;
    }
    return piece.next == NONE || !p->pieces.v[piece.next].free || join(p, id, piece.next);
}

/* Cuts the rest off as a free block of its own; 0 when memory is out. */
static bool cut(struct replayer *p, uint32_t id, uint64_t size)
{
    struct piece rest = p->pieces.v[id];
    rest.addr += size;
    rest.size -= size;
    rest.free = true;
    rest.prev = id;
    if (!set_size(p, id, size)) {
        return false;
    }
    uint32_t rest_id = piece_new(p, rest);
    if (rest_id == NONE) {
        return false;
    }
    p->pieces.v[id].next = rest_id;
    if (rest.next != NONE) {
        p->pieces.v[rest.next].prev = rest_id;
    }
    return true;
}

static bool is_split(const struct piece *piece)
{
    return piece->prev != NONE || piece->next != NONE;
}

static bool on_alloc(struct replayer *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    uint64_t size = mt_torch_round(&p->rules, e->size);
    if (id == NONE || !p->pieces.v[id].free || p->pieces.v[id].size < size) {
        p->lost = true;
        return true;
    }
    struct piece *piece = &p->pieces.v[id];
    piece->free = piece->dropped = false;
    piece->requested = e->size;
    struct mt_block_change c = {.kind = MT_BLOCK_CHANGE_HAND_OUT,
                                .small = piece->small,
                                .expandable = piece->expandable,
                                .event = p->now,
                                .size = piece->size,
                                .requested = e->size,
                                .was_split = is_split(piece)};
    bool small = piece->small || piece->expandable;
    if (mt_torch_splits(&p->rules, small, size, piece->size)) {
        c.rest = piece->size - size;
        c.size = size;
        if (!cut(p, id, size)) {
            return false;
        }
    }
    p->change(p->ctx, &c);
    return true;
}

static void drop(struct replayer *p, struct piece *piece)
{
    if (!piece->dropped) {
        piece->dropped = true;
        report(p, MT_BLOCK_CHANGE_DROP, piece, piece->size);
    }
}

static bool on_free_requested(struct replayer *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    if (id != NONE && !p->pieces.v[id].free) {
        drop(p, &p->pieces.v[id]);
    } else {
        p->lost = true;
    }
    return true;
}

static bool on_free(struct replayer *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    if (id == NONE || p->pieces.v[id].free) {
        p->lost = true;
        return true;
    }
    struct piece *piece = &p->pieces.v[id];
    drop(p, piece);
    struct mt_block_change c = {.kind = MT_BLOCK_CHANGE_FREE,
                                .small = piece->small,
                                .expandable = piece->expandable,
                                .event = p->now,
                                .size = piece->size,
                                .requested = piece->requested};
    piece->free = true;
    uint32_t prev = piece->prev;
    uint32_t next = piece->next;
    if (next != NONE && p->pieces.v[next].free) {
        c.swallowed++;
        c.swallowed_bytes += p->pieces.v[next].size;
        if (!join(p, id, next)) {
            return false;
        }
    }
    if (prev != NONE && p->pieces.v[prev].free) {
        c.swallowed++;
        c.swallowed_bytes += p->pieces.v[prev].size;
        if (!join(p, prev, id)) {
            return false;
        }
        id = prev;
    }
    c.is_split = is_split(&p->pieces.v[id]);
    p->change(p->ctx, &c);
    return true;
}

static bool on_segment_free(struct replayer *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    if (id == NONE || !p->pieces.v[id].free || p->pieces.v[id].size != e->size) {
        p->lost = true;
        return true;
    }
    report(p, MT_BLOCK_CHANGE_RELEASE, &p->pieces.v[id], e->size);
    piece_drop(p, id);
    return true;
}

/* The free expandable piece that holds [addr, addr + size), or NONE. Rarely asked, so it looks at
 * all of them, as long as patience lasts. */
static uint32_t find_around(struct replayer *p, uint64_t addr, uint64_t size)
{
    uint32_t *at = mt_idmap_find(&p->by_addr, addr);
    if (at && p->pieces.v[*at].free && p->pieces.v[*at].size >= size) {
        return *at;
    }
    if (p->patience < p->pieces.n) {
        return NONE;
    }
    p->patience -= p->pieces.n;
    for (uint32_t i = 0; i < p->pieces.n; i++) {
        const struct piece *q = &p->pieces.v[i];
        if (q->expandable && q->free && addr >= q->addr && addr - q->addr < q->size &&
            size <= q->size - (addr - q->addr)) {
            return i;
        }
    }
    return NONE;
}

static bool on_unmap(struct replayer *p, const struct mt_event *e)
{
    uint32_t id = find_around(p, e->addr, e->size);
    if (id == NONE) {
        p->lost = true;
        return true;
    }
    struct piece left = p->pieces.v[id], right = left;
    report(p, MT_BLOCK_CHANGE_RELEASE, &left, e->size);
    left.size = e->addr - left.addr;
    left.next = NONE;
    right.addr = e->addr + e->size;
    right.size -= left.size + e->size;
    right.prev = NONE;
    piece_drop(p, id);
    if (left.prev != NONE) {
        p->pieces.v[left.prev].next = NONE;
    }
    if (right.next != NONE) {
        p->pieces.v[right.next].prev = NONE;
    }
    if (left.size) {
        uint32_t at = piece_new(p, left);
        if (at == NONE) {
            return false;
        }
        if (left.prev != NONE) {
            p->pieces.v[left.prev].next = at;
        }
    }
    if (right.size) {
        uint32_t at = piece_new(p, right);
        if (at == NONE) {
            return false;
        }
        if (right.next != NONE) {
            p->pieces.v[right.next].prev = at;
        }
    }
    return true;
}

static bool on_event(struct replayer *p, const struct mt_event *e)
{
    switch (e->action) {
    case MT_ACTION_ALLOC: return on_alloc(p, e);
    case MT_ACTION_FREE_REQUESTED: return on_free_requested(p, e);
    case MT_ACTION_FREE_COMPLETED:
    case MT_ACTION_FREE: return on_free(p, e);
    case MT_ACTION_SEGMENT_ALLOC: return on_segment_alloc(p, e);
    case MT_ACTION_SEGMENT_FREE: return on_segment_free(p, e);
    case MT_ACTION_SEGMENT_MAP: return on_map(p, e);
    case MT_ACTION_SEGMENT_UNMAP: return on_unmap(p, e);
    default: return true;
    }
}

/* ---- all ---- */

/* The blocks of the file are those of the replay. */
static bool ends_right(struct replayer *p, const struct mt_snapshot *s, int32_t device)
{
    size_t n = 0;
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        for (uint32_t k = 0; k < g->n_blocks; k++, n++) {
            const struct mt_block *b = &s->blocks[g->first_block + k];
            const uint32_t *id = mt_idmap_find(&p->by_addr, b->addr);
            if (!id || p->pieces.v[*id].size != b->size ||
                p->pieces.v[*id].free != (b->state == MT_BLOCK_INACTIVE)) {
                return false;
            }
        }
    }
    return n == p->alive;
}

static struct replayer replayer_of(const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace trace = mt_device_trace(s, device);
    return (struct replayer){.rules = mt_settings_rules(s),
                             .spare = NONE,
                             .events = MT_PART(s->events, trace.first),
                             .n = trace.n,
                             .patience = 64 * (uint64_t)trace.n + 1000000};
}

static void replayer_release(struct replayer *p)
{
    mt_vec_release(&p->pieces);
    mt_idmap_release(&p->by_addr);
    mt_idmap_release(&p->by_end);
}

enum mt_status mt_block_replay(const struct mt_snapshot *s, int32_t device,
                               void (*change)(void *ctx, const struct mt_block_change *c),
                               void *ctx, bool *proved, struct mt_error *err)
{
    struct replayer p = replayer_of(s, device);
    bool ok = true;
    p.change = change;
    p.ctx = ctx;
    for (p.now = 0; device >= 0 && ok && !p.lost && p.now < p.n; p.now++) {
        ok = on_event(&p, &p.events[p.now]);
    }
    *proved = ok && !p.lost && device >= 0 && ends_right(&p, s, device);
    replayer_release(&p);
    return ok ? MT_OK : mt_fail_nomem(err);
}

/* The blocks of a segment, linked with each other. */
static bool take_segment(struct replayer *p, const struct mt_state *st, const struct mt_segment *g)
{
    uint32_t last = NONE;
    for (uint32_t k = 0; k < g->n_blocks; k++) {
        const struct mt_block *b = &st->blocks[g->first_block + k];
        struct piece piece = {.addr = b->addr,
                              .size = b->size,
                              .requested = b->requested,
                              .prev = last,
                              .next = NONE,
                              .free = b->state == MT_BLOCK_INACTIVE,
                              .small = g->kind == MT_POOL_SMALL,
                              .expandable = g->expandable};
        uint32_t id = piece_new(p, piece);
        if (id == NONE) {
            return false;
        }
        if (last != NONE) {
            p->pieces.v[last].next = id;
        }
        last = id;
    }
    return true;
}

enum mt_status mt_block_replay_from(const struct mt_snapshot *s, const struct mt_state *start,
                                    void (*change)(void *ctx, const struct mt_block_change *c),
                                    void *ctx, struct mt_error *err)
{
    struct replayer p = replayer_of(s, (int32_t)start->device);
    bool ok = true;
    p.change = change;
    p.ctx = ctx;
    for (size_t i = 0; ok && i < start->n_segments; i++) {
        ok = take_segment(&p, start, &start->segments[i]);
    }
    for (p.now = 0; ok && p.now < p.n; p.now++) {
        ok = on_event(&p, &p.events[p.now]);
    }
    replayer_release(&p);
    return ok ? MT_OK : mt_fail_nomem(err);
}
