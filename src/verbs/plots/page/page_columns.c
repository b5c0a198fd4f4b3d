/* SPDX-License-Identifier: MIT */
/*
 * The columns of a device. Addresses and sizes go through tables of the distinct ones: there are
 * few, and the steps of a training repeat them in the same order, so the indexes deflate to next to
 * nothing (2 million events: about one byte an event for all columns together).
 */
#include <inttypes.h>
#include <string.h>

#include "heap/stacks/frames.h"
#include "heap/walk/block_sizes.h"
#include "heap/walk/replay.h"
#include "snapshot/model/device_segments.h"
#include "snapshot/model/settings.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/mem.h"
#include "verbs/plots/page/page_blob.h"
#include "verbs/plots/page/page_parts.h"
#include "verbs/plots/page/page_pieces.h"

/* Distinct numbers in the order of their first appearance. */
struct table {
    struct mt_idmap map;
    MT_VEC(uint64_t) items;
};

static void table_release(struct table *t)
{
    mt_idmap_release(&t->map);
    mt_vec_release(&t->items);
}

static bool table_put(struct table *t, uint64_t item, uint32_t *index)
{
    const uint32_t *known = mt_idmap_find(&t->map, item);
    if (known) {
        *index = *known;
        return true;
    }
    *index = (uint32_t)t->items.n;
    return mt_idmap_put(&t->map, item, *index) && mt_vec_push(&t->items, item);
}

struct columns {
    FILE *out;
    const struct mt_snapshot *s;
    const struct mt_page_options *o;
    size_t index;
    struct mt_replay replay;
    struct table addrs, sizes;
    struct mt_error *err;
};

static enum mt_status blob(struct columns *c, const char *name, const void *items, size_t n,
                           size_t width)
{
    char id[48];
    snprintf(id, sizeof id, "d%zu-%s", c->index, name);
    return mt_page_blob(c->out, id, items, n, width, c->err);
}

/* ---- one column of the events ---- */

typedef bool column_fn(struct columns *c, size_t i, uint32_t *value);

static bool action_of(struct columns *c, size_t i, uint32_t *value)
{
    *value = c->replay.events[i].action;
    return true;
}

static bool addr_of(struct columns *c, size_t i, uint32_t *value)
{
    return table_put(&c->addrs, c->replay.events[i].addr, value);
}

static bool size_of(struct columns *c, size_t i, uint32_t *value)
{
    return table_put(&c->sizes, c->replay.events[i].size, value);
}

static bool stack_of(struct columns *c, size_t i, uint32_t *value)
{
    *value = c->replay.events[i].stack;
    return true;
}

static bool stream_of(struct columns *c, size_t i, uint32_t *value)
{
    *value = c->replay.events[i].stream;
    return true;
}

/* Microseconds since the event before, zigzag; what 32 bits do not hold is cut. */
static bool time_of(struct columns *c, size_t i, uint32_t *value)
{
    const struct mt_event *e = c->replay.events;
    int64_t now = e[i].time_us;
    int64_t before = i ? e[i - 1].time_us : now;
    bool known = now != MT_NO_TIME && before != MT_NO_TIME;
    int64_t delta = known ? mt_time_between(before, now) : 0;
    int64_t cut = delta > INT32_MAX ? INT32_MAX : delta < -INT32_MAX ? -INT32_MAX : delta;
    *value = (uint32_t)cut << 1 ^ (uint32_t)(cut >> 31);
    return true;
}

static const struct {
    const char *name;
    size_t width;
    column_fn *value;
} EVENT_COLUMNS[] = {
    {"action", 1, action_of}, {"addr", 4, addr_of},     {"size", 4, size_of},
    {"stack", 4, stack_of},   {"stream", 2, stream_of}, {"time", 4, time_of},
};

static enum mt_status event_column(struct columns *c, const char *name, size_t width,
                                   column_fn *value)
{
    unsigned char *items = mt_mem_alloc(c->replay.n, width);
    if (!items) {
        return mt_fail_nomem(c->err);
    }
    bool ok = true;
    for (size_t i = 0; i < c->replay.n && ok; i++) {
        uint32_t v = 0;
        ok = value(c, i, &v);
        for (size_t b = 0; b < width; b++) {
            items[i * width + b] = (unsigned char)(v >> (8 * b));
        }
    }
    enum mt_status status = ok ? blob(c, name, items, c->replay.n, width) : mt_fail_nomem(c->err);
    mt_mem_free(items);
    return status;
}

static enum mt_status event_columns(struct columns *c)
{
    for (size_t i = 0; i < MT_COUNT(EVENT_COLUMNS); i++) {
        MT_TRY(
            event_column(c, EVENT_COLUMNS[i].name, EVENT_COLUMNS[i].width, EVENT_COLUMNS[i].value));
    }
    return MT_OK;
}

/* ---- tables ---- */

static enum mt_status size_tables(struct columns *c)
{
    MT_VEC(double) sizes = {0};
    struct mt_torch_rules rules = mt_settings_rules(c->s);
    if (!mt_vec_reserve(&sizes, c->sizes.items.n * 2 + 1)) {
        return mt_fail_nomem(c->err);
    }
    size_t n = c->sizes.items.n;
    for (size_t i = 0; i < n; i++) {
        sizes.v[i] = (double)c->sizes.items.v[i];
        sizes.v[n + i] = (double)mt_torch_round(&rules, c->sizes.items.v[i]);
    }
    enum mt_status status = blob(c, "sizes", sizes.v, n, sizeof(double));
    if (status == MT_OK) {
        status = blob(c, "rounded", sizes.v + n, n, sizeof(double));
    }
    mt_vec_release(&sizes);
    return status;
}

/* ---- what is older than the trace ---- */

enum { GHOST_WORDS = 5 };

static enum mt_status ghosts(struct columns *c)
{
    MT_VEC(uint32_t) words = {0};
    const struct mt_replay *r = &c->replay;
    if (!mt_vec_reserve(&words, r->ghosts.n * GHOST_WORDS + 1)) {
        return mt_fail_nomem(c->err);
    }
    bool ok = true;
    for (size_t i = 0; i < r->ghosts.n && ok; i++) {
        const struct mt_ghost *g = &r->ghosts.v[i];
        uint32_t *w = words.v + i * GHOST_WORDS;
        ok = table_put(&c->addrs, g->addr, &w[0]) && table_put(&c->sizes, g->size, &w[1]);
        w[2] = g->requested;
        w[3] = g->freed;
        w[4] = g->stack;
    }
    enum mt_status status =
        ok ? blob(c, "ghosts", words.v, r->ghosts.n * GHOST_WORDS, 4) : mt_fail_nomem(c->err);
    mt_vec_release(&words);
    return status;
}

/* ---- blocks: larger than their requests say ---- */

struct exact {
    struct columns *c;
    struct mt_torch_rules rules;
    struct mt_block_sizes sizes;
    struct mt_idmap at_end; /* address -> block of the snapshot, in use */
    MT_VEC(uint32_t) words; /* allocation, size (table index) */
};

static bool list_blocks_at_end(struct exact *x, int32_t device)
{
    const struct mt_snapshot *s = x->c->s;
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        for (uint32_t k = g->first_block; k < g->first_block + g->n_blocks; k++) {
            const struct mt_block *b = &s->blocks[k];
            if (b->state != MT_BLOCK_INACTIVE && !mt_idmap_put(&x->at_end, b->addr, k)) {
                return false;
            }
        }
    }
    return true;
}

/* `replayed`: bytes of the block as far as the trace tells, 0: it does not. */
static bool put_exact(struct exact *x, uint32_t alloc, uint64_t addr, uint64_t request,
                      bool lives_on, uint64_t replayed)
{
    const uint32_t *block = lives_on ? mt_idmap_find(&x->at_end, addr) : NULL;
    uint64_t size = block ? x->c->s->blocks[*block].size : replayed;
    uint32_t index;
    if (size == 0 || size == mt_torch_round(&x->rules, request)) {
        return true;
    }
    return table_put(&x->c->sizes, size, &index) && mt_vec_push(&x->words, alloc) &&
           mt_vec_push(&x->words, index);
}

static bool put_all_exact(struct exact *x)
{
    const struct mt_replay *r = &x->c->replay;
    uint32_t alloc = 0;
    bool ok = true;
    for (; ok && alloc < r->ghosts.n; alloc++) {
        const struct mt_ghost *g = &r->ghosts.v[alloc];
        ok = put_exact(x, alloc, g->addr, g->size, g->freed == MT_NEVER,
                       mt_block_sizes_older(&x->sizes, g->addr));
    }
    for (size_t i = 0; ok && i < r->n; i++) {
        const struct mt_event *e = &r->events[i];
        if (mt_event_allocates(e)) {
            ok = put_exact(x, alloc++, e->addr, e->size, r->partner[i] == MT_NEVER,
                           i < x->sizes.n ? x->sizes.of_event[i] : 0);
        }
    }
    return ok;
}

static enum mt_status blocks(struct columns *c, int32_t device)
{
    struct exact x = {.c = c, .rules = mt_settings_rules(c->s)};
    enum mt_status status = mt_block_sizes_find(&x.sizes, c->s, (size_t)device, c->err);
    if (status == MT_OK) {
        status = list_blocks_at_end(&x, device) && put_all_exact(&x)
                     ? blob(c, "blocks", x.words.v, x.words.n, 4)
                     : mt_fail_nomem(c->err);
        mt_block_sizes_release(&x.sizes);
    }
    mt_idmap_release(&x.at_end);
    mt_vec_release(&x.words);
    return status;
}

/* ---- pieces of reserved memory ---- */

enum { PIECE_WORDS = 8 };

static enum mt_status pieces(struct columns *c, int32_t device)
{
    struct mt_page_pieces p = {0};
    MT_VEC(uint32_t) words = {0};
    enum mt_status status = mt_page_pieces_find(&p, c->s, device, c->err);
    bool ok = mt_vec_reserve(&words, p.v.n * PIECE_WORDS + 1);
    for (size_t i = 0; status == MT_OK && i < p.v.n && ok; i++) {
        const struct mt_page_piece *q = &p.v.v[i];
        uint32_t *w = words.v + i * PIECE_WORDS;
        ok = table_put(&c->addrs, q->addr, &w[0]) && table_put(&c->sizes, q->size, &w[1]);
        w[2] = q->from;
        w[3] = q->to;
        w[4] = q->stack;
        w[5] = q->pool;
        w[6] = q->stream;
        w[7] = (uint32_t)q->large | (uint32_t)q->expandable << 1;
    }
    if (status == MT_OK) {
        status = ok ? blob(c, "pieces", words.v, p.v.n * PIECE_WORDS, 4) : mt_fail_nomem(c->err);
    }
    mt_vec_release(&p.v);
    mt_vec_release(&words);
    return status;
}

/* ---- faces ---- */

static enum mt_status device_blobs(struct columns *c, int32_t device)
{
    MT_TRY(event_columns(c));
    MT_TRY(ghosts(c));
    MT_TRY(blocks(c, device));
    MT_TRY(pieces(c, device));
    MT_TRY(mt_page_told(c->out, &c->replay, c->index, c->err));
    MT_TRY(mt_page_whatifs(c->out, &c->replay, c->o, c->index, c->err));
    MT_TRY(blob(c, "addrs", c->addrs.items.v, c->addrs.items.n, sizeof(uint64_t)));
    return size_tables(c);
}

enum mt_status mt_page_device(FILE *out, const struct mt_snapshot *s,
                              const struct mt_page_options *o, int32_t device, size_t index,
                              struct mt_error *err)
{
    struct columns c = {.out = out, .s = s, .o = o, .index = index, .err = err};
    MT_TRY(mt_replay_init(&c.replay, s, device, err));
    enum mt_status status = device_blobs(&c, device);
    table_release(&c.addrs);
    table_release(&c.sizes);
    mt_replay_release(&c.replay);
    return status;
}

/* Three words a frame: name, file, line; the lowest bit of the first tells an internal one. */
static enum mt_status frames(FILE *out, size_t file, const struct mt_snapshot *s,
                             const struct mt_page_options *o, struct mt_error *err)
{
    MT_VEC(uint32_t) words = {0};
    if (!mt_vec_reserve(&words, s->n_frames * 3 + 1)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < s->n_frames; i++) {
        const struct mt_frame *f = &s->frames[i];
        bool internal = i && !o->all_frames && mt_frame_is_internal(s, f);
        words.v[i * 3] = f->name << 1 | internal;
        bool placed = i && mt_frame_has_file(s, f);
        words.v[i * 3 + 1] = placed ? f->filename : 0;
        words.v[i * 3 + 2] = placed ? (uint32_t)f->line : 0;
    }
    enum mt_status status =
        mt_page_file_blob(out, "frames", file, words.v, s->n_frames * 3, 4, err);
    mt_vec_release(&words);
    return status;
}

/* Three words a stack: its first frame, how many, which of them stands for it. */
static enum mt_status stacks(FILE *out, size_t file, const struct mt_snapshot *s,
                             const struct mt_page_options *o, struct mt_error *err)
{
    MT_VEC(uint32_t) words = {0};
    if (!mt_vec_reserve(&words, s->n_stacks * 3 + 1)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < s->n_stacks; i++) {
        words.v[i * 3] = s->stacks[i].first;
        words.v[i * 3 + 1] = s->stacks[i].n;
        words.v[i * 3 + 2] = o->all_frames ? 0 : mt_stack_telling_frame(s, (uint32_t)i);
    }
    enum mt_status status =
        mt_page_file_blob(out, "stacks", file, words.v, s->n_stacks * 3, 4, err);
    mt_vec_release(&words);
    return status;
}

enum mt_status mt_page_stacks(FILE *out, const struct mt_page_place *place,
                              const struct mt_snapshot *s, const struct mt_page_options *o,
                              struct mt_error *err)
{
    MT_TRY(frames(out, place->files, s, o, err));
    MT_TRY(stacks(out, place->files, s, o, err));
    return mt_page_file_blob(out, "stackframes", place->files, s->stack_frames, s->n_stack_frames,
                             4, err);
}
