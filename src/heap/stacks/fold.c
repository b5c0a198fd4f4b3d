/* SPDX-License-Identifier: MIT */
/*
 * Blocks to folded lines and to sums per stack. The lines follow PyTorch's `_write_blocks` to the
 * byte, its oddities included: free blocks carry the requested size of their last owner, and a
 * block of PyTorch 1.13 and 2.0 lists everything that lived in it since it was last whole. Sums per
 * stack are the honest figures: block sizes of active blocks only.
 */
#include "heap/stacks/fold.h"
#include "support/mem.h"

#include <stdlib.h>

#include "support/checked.h"
#include "snapshot/model/device_segments.h"
#include "torch/keys.h"

/* ---- which frames ---- */

static const char *const HIDDEN_NAMES[] = {
    "unwind::unwind",    "CapturedTraceback::gather",
    "gather_with_cpp",   "_start",
    "__libc_start_main", "PyEval_",
    "PyObject_",         "PyFunction_",
};
static const char *const HIDDEN_FILES[] = {
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
};

static bool holds_any(struct mt_str text, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_find(text, mt_str_from(parts[i])) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

bool mt_fold_hides(const struct mt_snapshot *s, const struct mt_frame *frame)
{
    return holds_any(mt_frame_function(s, frame), HIDDEN_NAMES, MT_COUNT(HIDDEN_NAMES)) ||
           holds_any(mt_frame_path(s, frame), HIDDEN_FILES, MT_COUNT(HIDDEN_FILES));
}

/* ---- lines ---- */

static bool passes(struct mt_filtered *filter, const struct mt_block *b)
{
    return !filter || mt_filtered_block(filter, b);
}

struct fold {
    const struct mt_snapshot *s;
    mt_fold_visit visit;
    void *ctx;
    struct mt_fold_line line;
};

static bool emit(struct fold *f, enum mt_fold_what what, uint32_t stack, int64_t bytes)
{
    bool has_frames = what != MT_FOLD_STACK || (stack && f->s->stacks[stack].n);
    f->line.what = has_frames ? what : MT_FOLD_NO_FRAMES;
    f->line.stack = f->line.what == MT_FOLD_STACK ? stack : 0;
    f->line.bytes = bytes;
    return f->visit(f->ctx, &f->line);
}

static bool fold_history(struct fold *f, uint64_t *accounted)
{
    const struct mt_block *b = f->line.block;
    for (uint32_t i = 0; i < b->history_n; i++) {
        const struct mt_history *h = &f->s->history[b->history_first + i];
        bool known = h->present >> MT_HISTORY_KEY_frames & 1;
        *accounted += h->real_size;
        if (!emit(f, known ? MT_FOLD_STACK : MT_FOLD_NO_CONTEXT, h->stack, (int64_t)h->real_size)) {
            return false;
        }
    }
    return true;
}

static bool fold_block(struct fold *f)
{
    const struct mt_block *b = f->line.block;
    uint64_t accounted = 0;
    if (b->present >> MT_BLOCK_KEY_history & 1) {
        if (!fold_history(f, &accounted)) {
            return false;
        }
    } else {
        /* PyTorch 1.13 writes no requested size */
        accounted = b->present >> MT_BLOCK_KEY_requested_size & 1 ? b->requested : b->size;
        if (!emit(f, MT_FOLD_STACK, b->stack, (int64_t)accounted)) {
            return false;
        }
    }
    return b->size == accounted || emit(f, MT_FOLD_GAPS, 0, (int64_t)(b->size - accounted));
}

bool mt_fold_segment(const struct mt_snapshot *s, const struct mt_segment *segment,
                     struct mt_filtered *filter, mt_fold_visit visit, void *ctx)
{
    struct fold f = {.s = s, .visit = visit, .ctx = ctx, .line.segment = segment};
    for (uint32_t k = 0; k < segment->n_blocks; k++) {
        f.line.block = &s->blocks[segment->first_block + k];
        if (passes(filter, f.line.block) && !fold_block(&f)) {
            return false;
        }
    }
    return true;
}

bool mt_fold_each(const struct mt_snapshot *s, struct mt_filtered *filter, mt_fold_visit visit,
                  void *ctx)
{
    for (size_t i = 0; i < s->n_segments; i++) {
        if (!mt_fold_segment(s, &s->segments[i], filter, visit, ctx)) {
            return false;
        }
    }
    return true;
}

/* ---- sums per stack ---- */

static void sum_block(struct mt_stack_sums *t, struct mt_stack_sum *row, const struct mt_block *b)
{
    row->bytes = mt_add_sat(row->bytes, b->size);
    row->requested = mt_add_sat(row->requested, b->requested);
    row->largest = b->size > row->largest ? b->size : row->largest;
    row->pending = mt_add_sat(row->pending, b->state == MT_BLOCK_PENDING ? b->size : 0);
    row->count++;
    t->bytes = mt_add_sat(t->bytes, b->size);
    t->requested = mt_add_sat(t->requested, b->requested);
    t->largest = b->size > t->largest ? b->size : t->largest;
    t->count++;
}

/* Most first, then by stack id; the field's offset in the row differs. */
static int by_most(const struct mt_stack_sum *x, const struct mt_stack_sum *y, uint64_t a,
                   uint64_t b)
{
    if (a != b) {
        return a > b ? -1 : 1;
    }
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int by_bytes(const void *a, const void *b)
{
    const struct mt_stack_sum *x = a, *y = b;
    return by_most(x, y, x->bytes, y->bytes);
}

static int by_count(const void *a, const void *b)
{
    const struct mt_stack_sum *x = a, *y = b;
    return by_most(x, y, x->count, y->count);
}

static int by_largest(const void *a, const void *b)
{
    const struct mt_stack_sum *x = a, *y = b;
    return by_most(x, y, x->largest, y->largest);
}

void mt_stack_sums_sort(struct mt_stack_sums *t, enum mt_stack_sort sort, bool reverse)
{
    static int (*const orders[])(const void *, const void *) = {by_bytes, by_count, by_largest};
    if (t->rows.n) {
        qsort(t->rows.v, t->rows.n, sizeof *t->rows.v, orders[sort]);
    }
    for (size_t i = 0; reverse && i < t->rows.n / 2; i++) {
        struct mt_stack_sum swap = t->rows.v[i];
        t->rows.v[i] = t->rows.v[t->rows.n - 1 - i];
        t->rows.v[t->rows.n - 1 - i] = swap;
    }
}

static void drop_empty_rows(struct mt_stack_sums *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->rows.n; i++) {
        if (t->rows.v[i].count) {
            t->rows.v[kept++] = t->rows.v[i];
        }
    }
    t->rows.n = kept;
    mt_stack_sums_sort(t, MT_STACKS_BY_BYTES, false);
    /* one of these may be kept for each of many devices, and few stacks are of any one */
    struct mt_stack_sum *less = mt_mem_realloc(t->rows.v, kept ? kept : 1, sizeof *less);
    if (less) {
        t->rows.v = less;
        t->rows.cap = kept ? kept : 1;
    }
}

static void sum_segment(struct mt_stack_sums *t, const struct mt_snapshot *s, struct mt_filtered *f,
                        const struct mt_segment *g)
{
    for (uint32_t k = 0; k < g->n_blocks; k++) {
        const struct mt_block *b = &s->blocks[g->first_block + k];
        if (b->state != MT_BLOCK_INACTIVE && passes(f, b)) {
            /* the empty stack says as much as none */
            sum_block(t, &t->rows.v[s->stacks[b->stack].n ? b->stack : 0], b);
        }
    }
}

enum mt_status mt_stack_sums_find(struct mt_stack_sums *t, const struct mt_snapshot *s,
                                  struct mt_filtered *f, int32_t device, struct mt_error *err)
{
    *t = (struct mt_stack_sums){0};
    size_t n = s->n_stacks ? s->n_stacks : 1;
    if (!mt_vec_reserve(&t->rows, n)) {
        return mt_fail_nomem(err);
    }
    for (; t->rows.n < n; t->rows.n++) {
        t->rows.v[t->rows.n] = (struct mt_stack_sum){.stack = (uint32_t)t->rows.n};
    }
    if (device == MT_ALL_DEVICES) {
        for (size_t i = 0; i < s->n_segments; i++) {
            sum_segment(t, s, f, &s->segments[i]);
        }
    } else {
        struct mt_device_segments walk = mt_device_segments(s, device);
        for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
            sum_segment(t, s, f, g);
        }
    }
    drop_empty_rows(t);
    return MT_OK;
}

void mt_stack_sums_release(struct mt_stack_sums *t)
{
    mt_vec_release(&t->rows);
}
