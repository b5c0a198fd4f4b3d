/* SPDX-License-Identifier: MIT */
/*
 * Splits and merges, which no event tells, from a replay of the blocks: the trace gives every
 * address, so only sizes are derived (a request rounded up, and whether the rest was worth a block
 * of its own). Blocks stand in an array with links to their neighbours; one map finds a block by
 * its first byte, a second one, for expandable segments only, by the byte behind its last.
 *
 * The rules are PyTorch's (CUDACachingAllocator.cpp: should_split, split, try_merge_blocks,
 * map_block, unmap_block; read in 2.6, verified on recordings of 2.11). Mapping more memory joins
 * blocks too, but that is no merge of freed memory and is not counted.
 */
#include <memtool/totals.h>

#include <memtool/hash.h>
#include <memtool/query.h>
#include <memtool/replay.h>

#define NONE UINT32_MAX
#define SMALL_BUFFER (UINT64_C(2) << 20) /* kSmallBuffer: segments of the small pool */
#define SMALL_REST UINT64_C(512)         /* kMinBlockSize: the least rest worth a block there */
#define LARGE_REST (UINT64_C(1) << 20)   /* kSmallSize: in the large pool it must be more */

struct piece {
    uint64_t addr, size;
    uint32_t prev, next; /* neighbours in the segment */
    bool free, small, expandable;
};

struct splitter {
    struct mt_settings settings;
    MT_VEC(struct piece) pieces;
    uint32_t spare;          /* list of unused pieces, linked by next */
    size_t alive;            /* pieces in use */
    struct mt_idmap by_addr; /* first byte -> piece */
    struct mt_idmap by_end;  /* expandable only: byte behind the last -> piece */
    uint64_t splits, merges;
    uint64_t patience; /* steps left for searches that are not constant in time */
    bool lost;         /* an event did not fit: give up */
};

static uint32_t piece_new(struct splitter *p, struct piece piece)
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
static void piece_drop(struct splitter *p, uint32_t id)
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

static bool set_size(struct splitter *p, uint32_t id, uint64_t size)
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
static bool join(struct splitter *p, uint32_t id, uint32_t next)
{
    uint64_t size = p->pieces.v[id].size + p->pieces.v[next].size;
    piece_drop(p, next);
    return set_size(p, id, size);
}

static uint32_t find_piece(struct splitter *p, uint64_t addr)
{
    uint32_t *id = mt_idmap_find(&p->by_addr, addr);
    p->lost |= !id;
    return id ? *id : NONE;
}

/* ---- events ---- */

static bool on_segment_alloc(struct splitter *p, const struct mt_event *e)
{
    return piece_new(p, (struct piece){e->addr, e->size, NONE, NONE, true, e->size == SMALL_BUFFER,
                                       false}) != NONE;
}

static bool on_map(struct splitter *p, const struct mt_event *e)
{
    uint32_t *left = mt_idmap_find(&p->by_end, e->addr);
    uint32_t *right = mt_idmap_find(&p->by_addr, e->addr + e->size);
    struct piece piece = {e->addr, e->size, left ? *left : NONE, right ? *right : NONE, true,
                          false,   true};
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

static bool worth_a_split(const struct splitter *p, const struct piece *piece, uint64_t size)
{
    uint64_t rest = piece->size - size;
    if (piece->small || p->settings.expandable_segments) {
        return rest >= SMALL_REST;
    }
    return size < p->settings.max_split_size && rest > LARGE_REST;
}

static bool on_alloc(struct splitter *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    uint64_t size = mt_round_request(&p->settings, e->size);
    if (id == NONE || !p->pieces.v[id].free || p->pieces.v[id].size < size) {
        p->lost = true;
        return true;
    }
    struct piece *piece = &p->pieces.v[id];
    piece->free = false;
    if (!worth_a_split(p, piece, size)) {
        return true;
    }
    struct piece rest = *piece;
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
    p->splits++;
    return true;
}

static bool on_free(struct splitter *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    if (id == NONE || p->pieces.v[id].free) {
        p->lost = true;
        return true;
    }
    p->pieces.v[id].free = true;
    uint32_t prev = p->pieces.v[id].prev, next = p->pieces.v[id].next;
    if (next != NONE && p->pieces.v[next].free) {
        p->merges++;
        if (!join(p, id, next)) {
            return false;
        }
    }
    if (prev != NONE && p->pieces.v[prev].free) {
        p->merges++;
        return join(p, prev, id);
    }
    return true;
}

static bool on_segment_free(struct splitter *p, const struct mt_event *e)
{
    uint32_t id = find_piece(p, e->addr);
    if (id == NONE || !p->pieces.v[id].free || p->pieces.v[id].size != e->size) {
        p->lost = true;
        return true;
    }
    piece_drop(p, id);
    return true;
}

/* The free expandable piece that holds [addr, addr + size), or NONE. Rarely asked, so it looks at
 * all of them, as long as patience lasts. */
static uint32_t find_around(struct splitter *p, uint64_t addr, uint64_t size)
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

static bool on_unmap(struct splitter *p, const struct mt_event *e)
{
    uint32_t id = find_around(p, e->addr, e->size);
    if (id == NONE) {
        p->lost = true;
        return true;
    }
    struct piece left = p->pieces.v[id], right = left;
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

static bool on_event(struct splitter *p, const struct mt_event *e)
{
    switch (e->action) {
    case MT_ACTION_ALLOC: return on_alloc(p, e);
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

static size_t final_blocks(const struct mt_snapshot *s, int32_t device)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        n += s->segments[i].device == device ? s->segments[i].n_blocks : 0;
    }
    return n;
}

enum mt_status mt_count_splits(const struct mt_snapshot *s, int32_t device, bool *known,
                               uint64_t *splits, uint64_t *merges, struct mt_error *err)
{
    struct mt_trace trace = mt_device_trace(s, device);
    struct splitter p = {.spare = NONE, .patience = 64 * (uint64_t)trace.n + (1 << 20)};
    mt_settings_get(s, &p.settings);
    bool ok = true;
    *known = false;
    *splits = *merges = 0;
    for (size_t i = 0; device >= 0 && ok && !p.lost && i < trace.n; i++) {
        ok = on_event(&p, &s->events[trace.first + i]);
    }
    if (ok && !p.lost && device >= 0 && p.alive == final_blocks(s, device)) {
        *known = true;
        *splits = p.splits;
        *merges = p.merges;
    }
    mt_vec_release(&p.pieces);
    mt_idmap_release(&p.by_addr);
    mt_idmap_release(&p.by_end);
    return ok ? MT_OK : mt_fail_nomem(err);
}
