/* SPDX-License-Identifier: MIT */
/*
 * The tree of a flame graph. Labels are interned, so a child is found by the pair (parent, label
 * id) in one map look-up; when all blocks are in, the siblings are sorted by label once.
 */
#include "heap/stacks/fold.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/checked.h"
#include "heap/stacks/frames.h"
#include "support/hash.h"

struct growing {
    struct mt_flame *t;
    const struct mt_snapshot *s;
    struct mt_intern labels;
    struct mt_idmap children;     /* parent << 32 | label id -> node */
    MT_VEC(uint32_t) frame_label; /* by frame id: label id, 0 = not yet, UINT32_MAX = hidden */
    struct mt_buf scratch;
    enum mt_flame_by by;
};

/* Where the function begins in a frame's label, which ends with it; 0 where it has no name. */
static uint32_t name_begins(struct growing *g, struct mt_str label, uint32_t frame)
{
    mt_name_short(&g->scratch, mt_snapshot_str(g->s, g->s->frames[frame].name));
    size_t n = g->scratch.n;
    mt_buf_reset(&g->scratch);
    return n > 0 && n < label.n ? (uint32_t)(label.n - n) : 0;
}

/* The child of `parent` with this label, made when missing; 0 when out of memory. */
static uint32_t child(struct growing *g, uint32_t parent, uint32_t label, uint32_t frame)
{
    uint64_t key = (uint64_t)parent << 32 | label;
    uint32_t *found = mt_idmap_find(&g->children, key);
    if (found) {
        return *found;
    }
    struct mt_flame *t = g->t;
    struct mt_flame_node node = {.label = mt_intern_get(&g->labels, label),
                                 .parent = parent,
                                 .next = t->nodes.v[parent].first_child,
                                 .frame = frame,
                                 .depth = t->nodes.v[parent].depth + 1};
    uint32_t id = (uint32_t)t->nodes.n;
    node.name_at = frame ? name_begins(g, node.label, frame) : 0;
    if (label == 0 || id == UINT32_MAX || !mt_vec_push(&t->nodes, node) ||
        !mt_idmap_put(&g->children, key, id)) {
        return 0;
    }
    t->nodes.v[parent].first_child = id;
    t->depth = node.depth > t->depth ? node.depth : t->depth;
    return id;
}

static uint32_t child_text(struct growing *g, uint32_t parent)
{
    struct mt_str text = mt_buf_view(&g->scratch);
    uint32_t label = g->scratch.failed ? 0 : mt_intern_put(&g->labels, text.p, text.n);
    mt_buf_reset(&g->scratch);
    return label ? child(g, parent, label, 0) : 0;
}

/* "train.py:42:forward" as flamegraph.pl is given it; compiled frames have no line, some no file.
 */
static void add_frame(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str name = mt_snapshot_str(s, f->name);
    bool has_file = mt_frame_has_file(s, f);
    if (has_file) {
        mt_buf_str(b, mt_str_basename(mt_snapshot_str(s, f->filename)));
        mt_buf_char(b, ':');
    }
    if (has_file && f->line > 0) {
        mt_buf_printf(b, "%" PRId32 ":", f->line);
    }
    mt_name_short(b, name);
    mt_buf_text(b, has_file || name.n ? "" : MT_NO_FRAME_NAME);
}

static uint32_t frame_label(struct growing *g, uint32_t id)
{
    if (g->frame_label.v[id] == 0) {
        const struct mt_frame *f = &g->s->frames[id];
        if (mt_fold_hides(g->s, f)) {
            return g->frame_label.v[id] = UINT32_MAX;
        }
        add_frame(&g->scratch, g->s, f);
        struct mt_str text = mt_buf_view(&g->scratch);
        g->frame_label.v[id] = g->scratch.failed ? 0 : mt_intern_put(&g->labels, text.p, text.n);
        mt_buf_reset(&g->scratch);
    }
    return g->frame_label.v[id];
}

static const char *const STATES[] = {"inactive", "active_allocated", "active_pending_free",
                                     "active"};

/* The node of stream, segment and state that a block hangs below; 0 when out of memory. */
static uint32_t block_home(struct growing *g, const struct mt_segment *segment,
                           const struct mt_block *b)
{
    const struct mt_stream *stream = &g->s->streams[segment->stream];
    mt_buf_printf(&g->scratch, "stream_%" PRIu64, stream->handle);
    uint32_t at = child_text(g, 0);
    if (at && g->by == MT_FLAME_SEGMENTS) {
        mt_buf_printf(&g->scratch, "seg_%#" PRIx64, segment->addr);
        at = child_text(g, at);
    }
    if (at) {
        mt_buf_text(&g->scratch, STATES[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER]);
        at = child_text(g, at);
    }
    return at;
}

/* Follows a stack from node *at, outermost frame first, to its leaf; false when out of memory. */
static bool follow_stack(struct growing *g, uint32_t *at, uint32_t id)
{
    const struct mt_stack *stack = &g->s->stacks[id];
    if (stack->n == 0) {
        mt_buf_text(&g->scratch, MT_NO_STACK);
        *at = child_text(g, *at);
        return *at != 0;
    }
    for (uint32_t i = stack->n; i-- > 0;) {
        uint32_t frame = g->s->stack_frames[stack->first + i];
        uint32_t label = frame_label(g, frame);
        if (label == UINT32_MAX) {
            continue;
        }
        *at = label ? child(g, *at, label, frame) : 0;
        if (*at == 0) {
            return false;
        }
    }
    return true;
}

/* Counts for a node and all above it. */
static void count_up(struct mt_flame *t, uint32_t at, uint64_t bytes, uint64_t count,
                     int64_t change)
{
    for (;; at = t->nodes.v[at].parent) {
        struct mt_flame_node *node = &t->nodes.v[at];
        node->bytes = mt_add_sat(node->bytes, bytes);
        node->count += count;
        node->change = (int64_t)((uint64_t)node->change + (uint64_t)change);
        if (at == 0) {
            return;
        }
    }
}

static bool add_block(struct growing *g, const struct mt_segment *segment, const struct mt_block *b)
{
    uint32_t at = block_home(g, segment, b);
    if (!at || (b->state != MT_BLOCK_INACTIVE && !follow_stack(g, &at, b->stack))) {
        return false;
    }
    count_up(g->t, at, b->size, 1, 0);
    return true;
}

static bool add_all(struct growing *g, struct mt_filtered *f)
{
    const struct mt_snapshot *s = g->s;
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct mt_segment *segment = &s->segments[i];
        for (uint32_t k = 0; k < segment->n_blocks; k++) {
            const struct mt_block *b = &s->blocks[segment->first_block + k];
            if ((!f || mt_filtered_block(f, b)) && !add_block(g, segment, b)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- order ---- */

struct sibling {
    struct mt_str label;
    uint32_t node;
};

static int by_label(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    return mt_str_compare(x->label, y->label);
}

/* Sorts the children of every node; `list` has room for all nodes. */
static void sort_siblings(struct mt_flame *t, struct sibling *list)
{
    for (size_t i = 0; i < t->nodes.n; i++) {
        size_t n = 0;
        for (uint32_t c = t->nodes.v[i].first_child; c; c = t->nodes.v[c].next) {
            list[n++] = (struct sibling){t->nodes.v[c].label, c};
        }
        if (n == 0) {
            continue;
        }
        qsort(list, n, sizeof *list, by_label);
        t->nodes.v[i].first_child = list[0].node;
        for (size_t k = 0; k < n; k++) {
            t->nodes.v[list[k].node].next = k + 1 < n ? list[k + 1].node : 0;
        }
    }
}

/* Turns to the frames of another snapshot. */
static bool use_snapshot(struct growing *g, const struct mt_snapshot *s)
{
    size_t frames = s->n_frames ? s->n_frames : 1;
    g->s = s;
    if (!mt_vec_reserve(&g->frame_label, frames)) {
        return false;
    }
    memset(g->frame_label.v, 0, frames * sizeof *g->frame_label.v);
    return true;
}

static bool grow_begin(struct growing *g, struct mt_flame *t)
{
    struct mt_flame_node root = {.label = MT_STR("all")};
    *t = (struct mt_flame){0};
    *g = (struct growing){.t = t};
    mt_intern_init(&g->labels, &t->text, 0);
    return mt_vec_push(&t->nodes, root);
}

/* Sorts what has grown, if all went well so far. */
static enum mt_status grow_end(struct growing *g, bool ok, struct mt_error *err)
{
    struct sibling *list = ok ? mt_mem_alloc(g->t->nodes.n, sizeof *list) : NULL;
    if (list) {
        sort_siblings(g->t, list);
    }
    mt_mem_free(list);
    mt_intern_release(&g->labels);
    mt_idmap_release(&g->children);
    mt_vec_release(&g->frame_label);
    mt_buf_release(&g->scratch);
    return list ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_flame_build(struct mt_flame *t, const struct mt_snapshot *s,
                              struct mt_filtered *f, enum mt_flame_by by, struct mt_error *err)
{
    struct growing g;
    bool ok = grow_begin(&g, t) && use_snapshot(&g, s);
    g.by = by;
    return grow_end(&g, ok && add_all(&g, f), err);
}

enum mt_status mt_flame_build_items(struct mt_flame *t, const struct mt_flame_item *items, size_t n,
                                    struct mt_error *err)
{
    struct growing g;
    bool ok = grow_begin(&g, t);
    for (size_t i = 0; ok && i < n; i++) {
        ok = g.s == items[i].snapshot || use_snapshot(&g, items[i].snapshot);
        uint32_t leaf = 0;
        ok = ok && follow_stack(&g, &leaf, items[i].stack);
        if (ok) {
            count_up(t, leaf, items[i].bytes, items[i].count, items[i].change);
        }
    }
    return grow_end(&g, ok, err);
}

void mt_flame_release(struct mt_flame *t)
{
    mt_vec_release(&t->nodes);
    mt_arena_release(&t->text);
    *t = (struct mt_flame){0};
}
