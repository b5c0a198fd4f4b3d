/* SPDX-License-Identifier: MIT */
/*
 * The tree of a flame graph. Labels are interned, so a child is found by the pair (parent, label
 * id) in one map look-up; when all blocks are in, the siblings are sorted by label once.
 */
#include <memtool/fold.h>

#include <inttypes.h>
#include <stdlib.h>

#include <memtool/checked.h>
#include <memtool/hash.h>

struct growing {
    struct mt_flame *t;
    const struct mt_snapshot *s;
    struct mt_intern labels;
    struct mt_idmap children;     /* parent << 32 | label id -> node */
    MT_VEC(uint32_t) frame_label; /* by frame id: label id, 0 = not yet, UINT32_MAX = hidden */
    struct mt_buf scratch;
    enum mt_flame_by by;
};

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

static uint32_t frame_label(struct growing *g, uint32_t id)
{
    if (g->frame_label.v[id] == 0) {
        const struct mt_frame *f = &g->s->frames[id];
        if (mt_fold_hides(g->s, f)) {
            return g->frame_label.v[id] = UINT32_MAX;
        }
        mt_buf_str(&g->scratch, mt_str_basename(mt_snapshot_str(g->s, f->filename)));
        mt_buf_printf(&g->scratch, ":%" PRId32 ":", f->line);
        mt_buf_str(&g->scratch, mt_snapshot_str(g->s, f->name));
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

/* Follows the block's stack, outermost frame first, to its leaf; 0 when out of memory. */
static uint32_t block_leaf(struct growing *g, uint32_t at, const struct mt_block *b)
{
    const struct mt_stack *stack = &g->s->stacks[b->stack];
    if (b->state == MT_BLOCK_INACTIVE) {
        return at;
    }
    if (stack->n == 0) {
        mt_buf_text(&g->scratch, "<no stack>");
        return child_text(g, at);
    }
    for (uint32_t i = stack->n; at && i-- > 0;) {
        uint32_t frame = g->s->stack_frames[stack->first + i];
        uint32_t label = frame_label(g, frame);
        if (label != UINT32_MAX) {
            at = label ? child(g, at, label, frame) : 0;
        }
    }
    return at;
}

static bool add_block(struct growing *g, const struct mt_segment *segment, const struct mt_block *b)
{
    uint32_t at = block_home(g, segment, b);
    at = at ? block_leaf(g, at, b) : 0;
    if (!at) {
        return false;
    }
    for (;; at = g->t->nodes.v[at].parent) {
        struct mt_flame_node *node = &g->t->nodes.v[at];
        node->bytes = mt_add_sat(node->bytes, b->size);
        node->count++;
        if (at == 0) {
            return true;
        }
    }
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

static bool grow(struct growing *g, struct mt_filtered *f)
{
    size_t frames = g->s->n_frames ? g->s->n_frames : 1;
    struct mt_flame_node root = {.label = MT_STR("all")};
    if (!mt_vec_push(&g->t->nodes, root) || !mt_vec_reserve(&g->frame_label, frames)) {
        return false;
    }
    memset(g->frame_label.v, 0, frames * sizeof *g->frame_label.v);
    if (!add_all(g, f)) {
        return false;
    }
    struct sibling *list = mt_mem_alloc(g->t->nodes.n, sizeof *list);
    if (list) {
        sort_siblings(g->t, list);
    }
    mt_mem_free(list);
    return list != NULL;
}

enum mt_status mt_flame_build(struct mt_flame *t, const struct mt_snapshot *s,
                              struct mt_filtered *f, enum mt_flame_by by, struct mt_error *err)
{
    *t = (struct mt_flame){0};
    struct growing g = {.t = t, .s = s, .by = by};
    mt_intern_init(&g.labels, &t->text, 0);
    bool ok = grow(&g, f);
    mt_intern_release(&g.labels);
    mt_idmap_release(&g.children);
    mt_vec_release(&g.frame_label);
    mt_buf_release(&g.scratch);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_flame_release(struct mt_flame *t)
{
    mt_vec_release(&t->nodes);
    mt_arena_release(&t->text);
    *t = (struct mt_flame){0};
}
