/* SPDX-License-Identifier: MIT */
/* Walks two models side by side. */
#include "same_model.h"

#include <stdio.h>
#include <stdlib.h>

#include <check.h>

struct pair {
    const struct mt_snapshot *a, *b;
};

static bool same_str(const struct pair *s, uint32_t a, uint32_t b)
{
    return (a == 0) == (b == 0) && mt_str_equal(mt_snapshot_str(s->a, a), mt_snapshot_str(s->b, b));
}

static bool same_stack(const struct pair *s, uint32_t a, uint32_t b)
{
    const struct mt_stack *x = &s->a->stacks[a];
    const struct mt_stack *y = &s->b->stacks[b];
    if ((a == 0) != (b == 0) || x->n != y->n) {
        return false;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        const struct mt_frame *f = &s->a->frames[s->a->stack_frames[x->first + i]];
        const struct mt_frame *g = &s->b->frames[s->b->stack_frames[y->first + i]];
        if (!same_str(s, f->name, g->name) || !same_str(s, f->filename, g->filename) ||
            f->line != g->line || f->present != g->present) {
            return false;
        }
    }
    return true;
}

static bool same_pool(const struct pair *s, size_t i)
{
    const struct mt_pool_id *a = &s->a->pools[mt_event_column_get(s->a, i, MT_COLUMN_POOL)];
    const struct mt_pool_id *b = &s->b->pools[mt_event_column_get(s->b, i, MT_COLUMN_POOL)];
    return a->a == b->a && a->b == b->b;
}

static bool same_event(const struct pair *s, size_t i)
{
    const struct mt_event *a = &s->a->events[i];
    const struct mt_event *b = &s->b->events[i];
    const struct mt_event_shape *x = &s->a->event_shapes[a->shape];
    const struct mt_event_shape *y = &s->b->event_shapes[b->shape];
    for (int c = 0; c <= MT_COLUMN_CATEGORY; c++) {
        if (!same_str(s, mt_event_column_get(s->a, i, (enum mt_event_column)c),
                      mt_event_column_get(s->b, i, (enum mt_event_column)c))) {
            return false;
        }
    }
    return a->action == b->action && a->addr == b->addr && a->size == b->size &&
           a->time_us == b->time_us && same_pool(s, i) && same_stack(s, a->stack, b->stack) &&
           s->a->streams[a->stream].handle == s->b->streams[b->stream].handle &&
           x->present == y->present && same_str(s, x->action_name, y->action_name) &&
           (mt_event_column_get(s->a, i, MT_COLUMN_EXTRA) == 0) ==
               (mt_event_column_get(s->b, i, MT_COLUMN_EXTRA) == 0);
}

static bool same_block(const struct pair *s, size_t i)
{
    const struct mt_block *a = &s->a->blocks[i];
    const struct mt_block *b = &s->b->blocks[i];
    return a->addr == b->addr && a->size == b->size && a->requested == b->requested &&
           a->state == b->state && a->segment == b->segment && a->present == b->present &&
           a->history_n == b->history_n && same_stack(s, a->stack, b->stack) &&
           same_str(s, a->state_name, b->state_name);
}

static bool same_segment(const struct pair *s, size_t i)
{
    const struct mt_segment *a = &s->a->segments[i];
    const struct mt_segment *b = &s->b->segments[i];
    return a->addr == b->addr && a->total_size == b->total_size &&
           a->allocated_size == b->allocated_size && a->active_size == b->active_size &&
           a->requested_size == b->requested_size && a->pool.a == b->pool.a &&
           a->pool.b == b->pool.b && a->device == b->device && a->first_block == b->first_block &&
           a->n_blocks == b->n_blocks && a->kind == b->kind && a->expandable == b->expandable &&
           a->present == b->present && same_stack(s, a->stack, b->stack) &&
           s->a->streams[a->stream].handle == s->b->streams[b->stream].handle;
}

static bool same_annotation(const struct pair *s, size_t i)
{
    const struct mt_annotation *a = &s->a->annotations[i];
    const struct mt_annotation *b = &s->b->annotations[i];
    return same_str(s, a->name, b->name) && same_str(s, a->stage, b->stage) &&
           a->device == b->device && a->time_us == b->time_us;
}

static const char *same_counts(const struct mt_snapshot *a, const struct mt_snapshot *b)
{
    return a->n_events != b->n_events                 ? "number of events"
           : a->n_blocks != b->n_blocks               ? "number of blocks"
           : a->n_segments != b->n_segments           ? "number of segments"
           : a->n_host_segments != b->n_host_segments ? "number of host segments"
           : a->n_traces != b->n_traces               ? "number of traces"
           : a->n_host_traces != b->n_host_traces     ? "number of host traces"
           : a->n_annotations != b->n_annotations     ? "number of annotations"
           : a->present != b->present                 ? "keys at the top"
           : (a->settings == 0) != (b->settings == 0) ? "settings"
                                                      : NULL;
}

const char *same_model(const struct mt_snapshot *a, const struct mt_snapshot *b)
{
    struct pair s = {a, b};
    const char *counts = same_counts(a, b);
    if (counts) {
        return counts;
    }
    for (size_t i = 0; i < a->n_events; i++) {
        if (!same_event(&s, i)) {
            return "an event";
        }
    }
    for (size_t i = 0; i < a->n_blocks; i++) {
        if (!same_block(&s, i)) {
            return "a block";
        }
    }
    for (size_t i = 0; i < a->n_segments; i++) {
        if (!same_segment(&s, i)) {
            return "a segment";
        }
    }
    for (size_t i = 0; i < a->n_annotations; i++) {
        if (!same_annotation(&s, i)) {
            return "an annotation";
        }
    }
    return NULL;
}

unsigned char *read_testdata(const char *name, size_t *n)
{
    char path[512];
    const char *root = getenv("TESTDATA");
    snprintf(path, sizeof path, "%s/%s", root ? root : "testdata", name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    ck_assert_int_ge(size, 0);
    rewind(f);
    unsigned char *p = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(p);
    *n = fread(p, 1, (size_t)size, f);
    ck_assert_uint_eq(*n, (size_t)size);
    fclose(f);
    return p;
}
