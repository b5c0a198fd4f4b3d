/* SPDX-License-Identifier: MIT */
/*
 * Rows of segments. The stack that holds most of a segment is found by adding up bytes per stack in
 * one array for all segments; after each segment only the entries that it touched are cleared.
 */
#include "verbs/segments/segment_rows.h"

#include <stdlib.h>

#include "support/checked.h"

struct summing {
    struct mt_segment_rows *t;
    const struct mt_snapshot *s;
    struct mt_filtered *f;
    uint64_t *by_stack; /* bytes in the present segment, by stack id */
};

static void add_live(struct summing *c, struct mt_segment_row *row, const struct mt_block *b)
{
    row->active = mt_add_sat(row->active, b->size);
    row->requested = mt_add_sat(row->requested, b->requested);
    row->allocated = mt_add_sat(row->allocated, b->state == MT_BLOCK_ALLOCATED ? b->size : 0);
    row->live_blocks++;
    uint64_t *sum = &c->by_stack[b->stack];
    *sum = mt_add_sat(*sum, b->size);
    if (*sum > row->top_bytes) {
        row->top_bytes = *sum;
        row->top_stack = b->stack;
    }
}

static void add_to_sum(struct mt_segment_row *sum, const struct mt_segment_row *row)
{
    sum->size = mt_add_sat(sum->size, row->size);
    sum->allocated = mt_add_sat(sum->allocated, row->allocated);
    sum->active = mt_add_sat(sum->active, row->active);
    sum->requested = mt_add_sat(sum->requested, row->requested);
    sum->free = mt_add_sat(sum->free, row->free);
    sum->free_hole = row->free_hole > sum->free_hole ? row->free_hole : sum->free_hole;
    sum->live_blocks += row->live_blocks;
    sum->free_blocks += row->free_blocks;
}

static bool add_segment(struct summing *c, const struct mt_segment *segment, uint32_t index)
{
    struct mt_segment_row row = {
        .segment = index, .device = segment->device, .size = segment->total_size};
    const struct mt_block *blocks = MT_PART(c->s->blocks, segment->first_block);
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        if (blocks[i].state == MT_BLOCK_INACTIVE) {
            row.free = mt_add_sat(row.free, blocks[i].size);
            row.free_hole = blocks[i].size > row.free_hole ? blocks[i].size : row.free_hole;
            row.free_blocks++;
        } else if (mt_filtered_block(c->f, &blocks[i])) {
            add_live(c, &row, &blocks[i]);
        }
    }
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        c->by_stack[blocks[i].stack] = 0;
    }
    const struct mt_filter *filter = c->f->filter;
    bool by_block = filter->has_frame || filter->has_not_frame || filter->size_min ||
                    filter->size_max != UINT64_MAX;
    if (by_block && row.live_blocks == 0) {
        c->t->left_out++;
        return true;
    }
    add_to_sum(&c->t->sum, &row);
    return mt_vec_push(&c->t->rows, row);
}

static bool add_all(struct summing *c)
{
    for (size_t i = 0; i < c->s->n_segments; i++) {
        const struct mt_segment *segment = &c->s->segments[i];
        if (!mt_filtered_segment(c->f, segment)) {
            c->t->left_out++;
        } else if (!add_segment(c, segment, (uint32_t)i)) {
            return false;
        }
    }
    return true;
}

/* ---- order ---- */

/* What qsort compares: the key of the order asked for, turned so that smaller comes first. */
struct sortable {
    struct mt_segment_row row;
    uint64_t key, addr;
};

static uint64_t sort_key(const struct mt_segment_row *row, uint64_t addr, enum mt_segment_sort sort)
{
    switch (sort) {
    case MT_SEGMENTS_BY_ADDR: return addr;
    case MT_SEGMENTS_BY_FREE: return ~row->free;
    case MT_SEGMENTS_BY_ALLOCATED: return ~row->allocated;
    case MT_SEGMENTS_BY_COUNT: return ~row->live_blocks;
    case MT_SEGMENTS_BY_SIZE: break;
    }
    return ~row->size;
}

static int by_key(const void *a, const void *b)
{
    const struct sortable *x = a, *y = b;
    if (x->row.device != y->row.device) {
        return x->row.device < y->row.device ? -1 : 1;
    }
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool sort_rows(struct mt_segment_rows *t, const struct mt_snapshot *s,
                      enum mt_segment_sort sort, bool reverse)
{
    size_t n = t->rows.n;
    struct sortable *list = mt_mem_alloc(n ? n : 1, sizeof *list);
    if (!list) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct mt_segment_row *row = &t->rows.v[i];
        uint64_t addr = s->segments[row->segment].addr, key = sort_key(row, addr, sort);
        list[i] = (struct sortable){*row, reverse ? ~key : key, addr};
    }
    qsort(list, n, sizeof *list, by_key);
    for (size_t i = 0; i < n; i++) {
        t->rows.v[i] = list[i].row;
    }
    mt_mem_free(list);
    return true;
}

enum mt_status mt_segment_rows_find(struct mt_segment_rows *t, const struct mt_snapshot *s,
                                    struct mt_filtered *f, enum mt_segment_sort sort, bool reverse,
                                    struct mt_error *err)
{
    *t = (struct mt_segment_rows){0};
    struct summing c = {t, s, f, mt_mem_zalloc(s->n_stacks ? s->n_stacks : 1, sizeof(uint64_t))};
    bool ok = c.by_stack && add_all(&c) && sort_rows(t, s, sort, reverse);
    mt_mem_free(c.by_stack);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_segment_rows_release(struct mt_segment_rows *t)
{
    mt_vec_release(&t->rows);
}
