/* SPDX-License-Identifier: MIT */
/*
 * Who holds memory at a moment. The replay has paired every allocation with its end, so what is
 * alive after event k is what began at or before k and ends behind it: one more scan, no map. Rows
 * are found through a table from key to row; keys are dense ids but for names, which are compared
 * by the string ids of the interned names.
 */
#include "heap/findings/peak.h"

#include <stdlib.h>

#include "support/checked.h"
#include "heap/stacks/event_labels.h"
#include "heap/stacks/frames.h"
#include "support/hash.h"
#include "support/mem.h"
#include "heap/walk/query.h"
#include "torch/torch_rules.h"

#include "heap/walk/annotation_cursor.h"

struct holder {
    const struct mt_snapshot *s;
    const struct mt_replay *r;
    struct mt_filtered *f;
    const struct mt_peak_options *o;
    struct mt_peak *out;
    struct mt_categories found;
    const struct mt_categories *categories; /* o->categories, or found */
    struct mt_event_pools pools;            /* POOL only */
    struct mt_annotation_cursor around;
    uint32_t *key_of_stack;        /* key + 1 of stacks seen, FILE to MODULE only */
    struct mt_event_labels labels; /* LABEL only */
    struct mt_buf text;            /* scratch */
    struct mt_idmap rows;          /* key (or a hash of a folder) -> row */
};

/* --live and --freed. */
static bool fate_passes(const struct holder *h, uint32_t freed)
{
    const struct mt_filter *filter = h->f->filter;
    return !filter || !(freed == MT_NEVER ? filter->freed_only : filter->live_only);
}

static bool passes(const struct holder *h, size_t event)
{
    return !h->f ||
           (fate_passes(h, h->r->partner[event]) && mt_filtered_event(h->f, h->r->device, event));
}

/* A ghost that is alive at the end has a block to look at; of the others only the size is known. */
static bool ghost_passes(const struct holder *h, const struct mt_ghost *g)
{
    return !h->f || (fate_passes(h, g->freed) && g->block != MT_NEVER &&
                     mt_filtered_block(h->f, &h->s->blocks[g->block]));
}

/* ---- keys ---- */

/* The part of a path before its last separator; "" for a bare name. */
static struct mt_str folder_of(struct mt_str path)
{
    struct mt_str base = mt_str_basename(path);
    return (struct mt_str){path.p, path.n - base.n};
}

/* What two frames must share to be one row. */
static uint64_t frame_identity(const struct holder *h, uint32_t frame)
{
    const struct mt_frame *f = &h->s->frames[frame];
    struct mt_str folder;
    if (!frame) {
        return 0;
    }
    switch (h->o->by) {
    case MT_BY_FILE: return mt_hash_mix(1, f->filename);
    case MT_BY_FUNCTION: return mt_hash_mix(2, f->name);
    case MT_BY_FOLDER:
        folder = folder_of(mt_frame_path(h->s, f));
        return mt_hash_bytes(folder.p, folder.n, 3);
    default: return mt_hash_mix((uint64_t)f->filename << 32 | f->name, (uint64_t)(uint32_t)f->line);
    }
}

/* Nodes with the same words are one row. */
static uint64_t node_identity(struct holder *h, uint32_t frame)
{
    if (!frame) {
        return 0;
    }
    mt_buf_reset(&h->text);
    mt_node_text(&h->text, h->s, frame);
    return mt_hash_bytes(h->text.n ? h->text.p : "", h->text.n, 4);
}

static uint32_t frame_key(struct holder *h, uint32_t stack)
{
    if (!h->key_of_stack[stack]) {
        h->key_of_stack[stack] = 1 + mt_stack_telling_frame_id(h->s, stack);
    }
    return h->key_of_stack[stack] - 1;
}

static uint32_t pool_index(const struct mt_snapshot *s, struct mt_pool_id id)
{
    for (size_t i = 0; i < s->n_pools; i++) {
        if (s->pools[i].a == id.a && s->pools[i].b == id.b) {
            return (uint32_t)i;
        }
    }
    return 0;
}

static uint32_t event_pool_key(const struct holder *h, size_t index)
{
    return MT_POOL_KEY(pool_index(h->s, mt_event_pool_id(&h->pools, index)),
                       mt_event_pool_kind(&h->pools, index));
}

/* What is older than the trace: the pool of its free, else of its block's segment. */
static uint32_t ghost_pool_key(const struct holder *h, const struct mt_ghost *g)
{
    if (g->freed != MT_NEVER) {
        return event_pool_key(h, g->freed);
    }
    if (g->block == MT_NEVER || h->r->device < 0) {
        return MT_POOL_KEY(0, mt_torch_is_small(g->size) ? MT_POOL_SMALL : MT_POOL_LARGE);
    }
    const struct mt_segment *segment = &h->s->segments[h->s->blocks[g->block].segment];
    return MT_POOL_KEY(pool_index(h->s, segment->pool), segment->kind);
}

/* ---- rows ---- */

/* One piece of memory that is alive. */
struct held {
    uint64_t addr, size;
    uint32_t stack, key;
    uint32_t event; /* as in mt_peak_row */
    enum mt_category category;
    enum mt_sureness sure;
    bool old;
};

static struct mt_peak_row *row_of(struct holder *h, uint32_t key)
{
    bool by_frame = h->o->by >= MT_BY_FILE && h->o->by <= MT_BY_FOLDER;
    uint64_t identity = by_frame                 ? frame_identity(h, key)
                        : h->o->by == MT_BY_NODE ? node_identity(h, key)
                                                 : key;
    const uint32_t *found = mt_idmap_find(&h->rows, identity);
    if (found) {
        return &h->out->rows.v[*found];
    }
    struct mt_peak_row fresh = {.key = key};
    if (!mt_vec_push(&h->out->rows, fresh) ||
        !mt_idmap_put(&h->rows, identity, (uint32_t)h->out->rows.n - 1)) {
        return NULL;
    }
    return &h->out->rows.v[h->out->rows.n - 1];
}

static bool add(struct holder *h, const struct held *m)
{
    struct mt_peak_row *row = row_of(h, m->key);
    if (!row) {
        return false;
    }
    if (!row->count || m->size > row->largest) {
        row->largest = m->size;
        row->stack = m->stack;
        row->event = m->event;
    }
    row->bytes += m->size;
    row->count++;
    row->preexisting += m->old ? m->size : 0;
    row->by_category[m->category] += m->size;
    h->out->bytes += m->size;
    h->out->count++;
    h->out->by_category[m->category] += m->size;
    h->out->sure[m->category][m->sure] += m->size;
    return true;
}

/* The key by stack or category; the others depend on the event. */
static uint32_t key_of(struct holder *h, const struct held *m)
{
    switch (h->o->by) {
    case MT_BY_FILE:
    case MT_BY_LINE:
    case MT_BY_FUNCTION:
    case MT_BY_FOLDER: return frame_key(h, m->stack);
    case MT_BY_CATEGORY: return (uint32_t)m->category;
    case MT_BY_NODE: return mt_stack_node(h->s, m->stack);
    default: return m->stack;
    }
}

static bool add_event(struct holder *h, uint32_t i)
{
    const struct mt_event *e = &h->r->events[i];
    size_t global = (size_t)(e - h->s->events);
    struct held m = {.addr = e->addr,
                     .size = e->size,
                     .stack = e->stack,
                     .event = (uint32_t)global + 1,
                     .category = MT_CATEGORY_UNKNOWN};
    if (h->categories) {
        m.category = (enum mt_category)h->categories->events[i];
        m.sure = (enum mt_sureness)h->categories->events_sure[i];
    }
    switch (h->o->by) {
    case MT_BY_STREAM: m.key = e->stream; break;
    case MT_BY_POOL: m.key = h->pools.of[i]; break;
    case MT_BY_ANNOTATION: m.key = mt_annotation_cursor_name(&h->around); break;
    case MT_BY_LABEL: m.key = h->labels.text[global]; break;
    case MT_BY_REGION: m.key = mt_event_region(h->s, global); break;
    case MT_BY_MODULE: m.key = mt_event_module(h->s, global); break;
    default: m.key = key_of(h, &m); break;
    }
    return add(h, &m);
}

static uint32_t ghost_stream(const struct holder *h, const struct mt_ghost *g)
{
    if (g->block != MT_NEVER) {
        uint32_t segment = h->s->blocks[g->block].segment;
        return h->r->device < 0 ? 0 : h->s->segments[segment].stream;
    }
    return g->freed != MT_NEVER ? h->r->events[g->freed].stream : 0;
}

static bool add_ghost(struct holder *h, const struct mt_ghost *g)
{
    struct held m = {.addr = g->addr, .size = g->size, .stack = g->stack, .old = true};
    m.category = MT_CATEGORY_UNKNOWN;
    if (h->categories) {
        m.category = mt_category_of_ghost(h->categories, g);
        m.sure = mt_sureness_of_ghost(h->categories, g);
    }
    switch (h->o->by) {
    case MT_BY_STREAM: m.key = ghost_stream(h, g); break;
    case MT_BY_POOL: m.key = ghost_pool_key(h, g); break;
    case MT_BY_LABEL:
        m.key = mt_event_labels_older(&h->labels, h->r->device, g->addr, g->freed == MT_NEVER);
        break;
    case MT_BY_ANNOTATION:
    case MT_BY_MODULE:
    case MT_BY_REGION: m.key = 0; break;
    default: m.key = key_of(h, &m); break;
    }
    return add(h, &m);
}

/* ---- the moment ---- */

/* The peak of what passes the filter: like mt_moment_find, with sums of its own. */
static size_t filtered_peak(const struct holder *h)
{
    uint64_t live = 0;
    for (size_t i = 0; i < h->r->ghosts.n; i++) {
        live += ghost_passes(h, &h->r->ghosts.v[i]) ? h->r->ghosts.v[i].size : 0;
    }
    uint64_t most = live;
    size_t done = 0;
    struct mt_step at;
    mt_replay_begin(h->r, &at);
    while (mt_replay_next(h->r, &at)) {
        bool ends = at.kind == MT_STEP_FREE || at.kind == MT_STEP_ALLOC;
        if (ends && at.alloc != MT_NEVER && passes(h, at.alloc)) {
            live -= h->r->events[at.alloc].size;
        } else if (at.kind == MT_STEP_FREE && at.ghost != MT_NEVER &&
                   ghost_passes(h, &h->r->ghosts.v[at.ghost])) {
            live -= h->r->ghosts.v[at.ghost].size;
        }
        if (at.kind == MT_STEP_ALLOC && passes(h, at.index)) {
            live += at.event->size;
            if (live > most) {
                most = live;
                done = at.index + 1;
            }
        }
    }
    return done;
}

/* A plain scan: a second walk of the replay took a tenth of the time on 2 million events. */
static uint64_t reserved_after(const struct mt_replay *r, size_t done)
{
    uint64_t reserved = r->start_reserved;
    for (size_t i = 0; i < done; i++) {
        uint64_t size = r->events[i].size;
        switch (mt_event_kind(&r->events[i])) {
        case MT_STEP_RESERVE: reserved = mt_add_sat(reserved, size); break;
        case MT_STEP_RELEASE: reserved -= size < reserved ? size : reserved; break;
        default: break;
        }
    }
    return reserved;
}

static enum mt_status find_moment(struct holder *h, struct mt_error *err)
{
    struct mt_peak *out = h->out;
    if (h->o->at.kind == MT_AT_PEAK && h->f) {
        out->events_done = filtered_peak(h);
    } else {
        MT_TRY(mt_moment_find(&h->o->at, h->r, &out->events_done, err));
    }
    out->time_us = out->since_us = MT_NO_TIME;
    if (out->events_done && h->r->events[0].time_us != MT_NO_TIME) {
        out->time_us = h->r->events[out->events_done - 1].time_us;
    }
    if (out->time_us != MT_NO_TIME) {
        out->since_us = mt_time_between(h->r->events[0].time_us, out->time_us);
    }
    out->reserved_bytes = reserved_after(h->r, out->events_done);
    return MT_OK;
}

static bool add_ghosts(struct holder *h)
{
    for (size_t i = 0; i < h->r->ghosts.n; i++) {
        const struct mt_ghost *g = &h->r->ghosts.v[i];
        bool alive = g->freed == MT_NEVER || g->freed >= h->out->events_done;
        if (!ghost_passes(h, g)) {
            h->out->left_out += alive;
            continue;
        }
        h->out->preexisting_bytes += g->size;
        if (alive && !add_ghost(h, g)) {
            return false;
        }
    }
    return true;
}

static bool add_events(struct holder *h)
{
    const struct mt_replay *r = h->r;
    for (size_t i = 0; i < h->out->events_done; i++) {
        bool alloc = mt_event_allocates(&r->events[i]);
        if (alloc && h->o->by == MT_BY_ANNOTATION) {
            (void)mt_annotation_cursor_move(&h->around, r->events[i].time_us);
        }
        if (!alloc || r->partner[i] < h->out->events_done) {
            continue;
        }
        if (!passes(h, i)) {
            h->out->left_out++;
        } else if (!add_event(h, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

static int compare_rows(const void *a, const void *b)
{
    const struct mt_peak_row *x = a;
    const struct mt_peak_row *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->key > y->key) - (x->key < y->key);
}

static enum mt_status check_modules(const struct mt_snapshot *s, struct mt_error *err)
{
    if (mt_snapshot_has_modules(s)) {
        return MT_OK;
    }
    mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "the file has no names of modules");
    return mt_hint(err,
                   "memtool capture --modules records them; --by folder groups by the folder of "
                   "the source");
}

static enum mt_status hold(struct holder *h, struct mt_error *err)
{
    if (h->o->by == MT_BY_MODULE) {
        MT_TRY(check_modules(h->s, err));
    }
    if (h->o->by == MT_BY_LABEL) {
        MT_TRY(mt_event_labels_init(&h->labels, h->s, err));
    }
    if (h->categories == &h->found) {
        MT_TRY(mt_categories_find(&h->found, h->o->rules, h->r, err));
    }
    if (h->o->by == MT_BY_POOL) {
        MT_TRY(mt_event_pools_init(&h->pools, h->s, h->r->device, err));
    }
    MT_TRY(mt_annotation_cursor_init(&h->around, h->s, h->r->device, NULL, NULL, err));
    h->key_of_stack = mt_mem_zalloc(h->s->n_stacks ? h->s->n_stacks : 1, sizeof(uint32_t));
    if (!h->key_of_stack) {
        return mt_fail_nomem(err);
    }
    MT_TRY(find_moment(h, err));
    if (!add_ghosts(h) || !add_events(h)) {
        return mt_fail_nomem(err);
    }
    if (h->out->rows.n) {
        qsort(h->out->rows.v, h->out->rows.n, sizeof *h->out->rows.v, compare_rows);
    }
    return MT_OK;
}

enum mt_status mt_peak_find(struct mt_peak *out, const struct mt_snapshot *s,
                            const struct mt_replay *r, struct mt_filtered *f,
                            const struct mt_peak_options *o, struct mt_error *err)
{
    *out = (struct mt_peak){.device = r->device, .by = o->by, .at = o->at.kind, .n_events = r->n};
    struct holder h = {.s = s, .r = r, .f = f, .o = o, .out = out, .categories = o->categories};
    h.categories = !h.categories && o->rules ? &h.found : h.categories;
    enum mt_status status = hold(&h, err);
    mt_categories_release(&h.found);
    mt_event_labels_release(&h.labels);
    mt_buf_release(&h.text);
    mt_event_pools_release(&h.pools);
    mt_annotation_cursor_release(&h.around);
    mt_mem_free(h.key_of_stack);
    mt_idmap_release(&h.rows);
    return status;
}

void mt_peak_release(struct mt_peak *p)
{
    mt_vec_release(&p->rows);
    *p = (struct mt_peak){0};
}

enum mt_category mt_peak_row_category(const struct mt_peak_row *row)
{
    int best = 0;
    for (int c = 1; c < MT_CATEGORY_COUNT; c++) {
        best = row->by_category[c] > row->by_category[best] ? c : best;
    }
    return (enum mt_category)best;
}

const char *mt_peak_row_word(const struct mt_peak_row *row)
{
    enum mt_category most = mt_peak_row_category(row);
    return row->by_category[most] >= row->bytes / 10 * 9 ? mt_category_name(most) : "mixed";
}
