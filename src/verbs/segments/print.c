/* SPDX-License-Identifier: MIT */
/* segments: each reservation, what lives in it and what is free; with -v its blocks as a tree. */
#include <inttypes.h>

#include "verbs/segments/print.h"
#include "print/figures.h"
#include "print/report_json.h"
#include "print/labels.h"
#include "torch/keys.h"

static size_t shown_rows(const struct mt_report *r, size_t n)
{
    return r->limit && n > r->limit ? r->limit : n;
}

static const char *kind_word(const struct mt_segment *segment)
{
    return segment->kind == MT_POOL_SMALL ? "small" : "large";
}

/* "large", "large, expandable, pool 2,0 (CUDA graph)"; `brief`: "large, exp, 2,0". */
static void add_kind(struct mt_buf *b, const struct mt_segment *segment, bool brief)
{
    mt_buf_text(b, kind_word(segment));
    if (segment->expandable) {
        mt_buf_text(b, brief ? ", exp" : ", expandable");
    }
    if (brief && (segment->pool.a || segment->pool.b)) {
        mt_buf_printf(b, ", %" PRId64 ",%" PRId64, segment->pool.a, segment->pool.b);
    } else if (segment->pool.a || segment->pool.b) {
        mt_buf_text(b, ", ");
        mt_pool_label(b, segment->pool);
    }
}

/* ---- table ---- */

/* What the table shows: the device only where there are several, shares only with room for them. */
struct shape {
    bool device, shares;
};

static struct shape find_shape(const struct mt_report *r, const struct mt_segment_rows *rows)
{
    enum { ROOMY = 120 };
    size_t n = rows->rows.n;
    bool several = n && (rows->rows.v[0].device != 0 || rows->rows.v[n - 1].device != 0);
    bool roomy = r->width == 0 || r->width >= ROOMY;
    return (struct shape){several || r->separator, roomy || r->separator};
}

static void columns(struct mt_table *t, struct shape shape)
{
    if (shape.device) {
        mt_table_column(t, "DEVICE", MT_RIGHT);
    }
    mt_table_column(t, "ADDRESS", MT_LEFT);
    mt_table_column(t, "SIZE", MT_RIGHT);
    mt_table_column(t, "IN USE", MT_RIGHT);
    if (shape.shares) {
        mt_table_column(t, "FULL", MT_RIGHT);
    }
    mt_table_column(t, "FREE", MT_RIGHT);
    if (shape.shares) {
        mt_table_column(t, "LARGEST FREE", MT_RIGHT);
    }
    mt_table_column(t, "BLOCKS", MT_RIGHT);
    mt_table_column(t, "STREAM", MT_RIGHT);
    mt_table_column(t, "POOL", MT_LEFT);
    mt_table_column(t, "MOST OF IT", MT_LEFT);
    mt_table_names(t, "device,address,size_bytes,in_use_bytes,in_use_share,free_bytes,"
                      "largest_free_bytes,blocks,stream,pool,most_of_it");
}

static void figures(struct mt_table *t, const struct mt_report *r, struct shape shape,
                    const struct mt_segment_row *row)
{
    mt_table_size(t, row->size);
    mt_table_size(t, row->active);
    if (shape.shares) {
        mt_table_cell(t, "%s", mt_share_text(r, row->active, row->size).s);
    }
    mt_table_size(t, row->free);
    if (shape.shares) {
        mt_table_size(t, row->free_hole);
    }
    mt_table_count(t, row->live_blocks);
}

static void row_cells(struct mt_table *t, const struct mt_report *r, struct shape shape,
                      const struct mt_snapshot *s, const struct mt_segment_row *row,
                      struct mt_buf *b)
{
    const struct mt_segment *segment = &s->segments[row->segment];
    if (shape.device) {
        mt_table_cell(t, "%" PRId32, row->device);
    }
    mt_table_cell(t, "0x%" PRIx64, segment->addr);
    figures(t, r, shape, row);
    mt_table_cell(t, "%u", (unsigned)segment->stream);
    mt_buf_reset(b);
    add_kind(b, segment, !shape.shares);
    mt_table_buf(t, b);
    mt_buf_reset(b);
    if (row->top_bytes) {
        if (row->top_bytes != row->active || r->separator) { /* else the size stands before */
            mt_buf_printf(b, "%s ", mt_report_size(r, row->top_bytes).s);
        }
        size_t from = b->n;
        mt_stack_label(b, s, row->top_stack, r);
        mt_stack_label_forward(b, s, row->top_stack);
        mt_table_stack(t, b, from, s, row->top_stack);
        return;
    }
    if (shape.shares) { /* else 0 B in use says so, and the row stays one line */
        mt_buf_text(b, "(nothing alive)");
    }
    mt_table_buf(t, b);
}

static void sum_row(struct mt_table *t, const struct mt_report *r, struct shape shape,
                    const struct mt_segment_row *sum, const char *label)
{
    if (shape.device) {
        mt_table_cell(t, "%s", "");
    }
    mt_table_cell(t, "%s", label);
    figures(t, r, shape, sum);
    for (int i = 0; i < 3; i++) {
        mt_table_cell(t, "%s", "");
    }
}

static void other_rows(struct mt_table *t, const struct mt_report *r, struct shape shape,
                       const struct mt_segment_rows *rows, size_t from)
{
    struct mt_segment_row rest = {0};
    char label[48];
    for (size_t i = from; i < rows->rows.n; i++) {
        const struct mt_segment_row *row = &rows->rows.v[i];
        rest.size += row->size;
        rest.active += row->active;
        rest.free += row->free;
        rest.free_hole = row->free_hole > rest.free_hole ? row->free_hole : rest.free_hole;
        rest.live_blocks += row->live_blocks;
    }
    size_t n = rows->rows.n - from;
    snprintf(label, sizeof label, n == 1 ? "[%zu other]" : "[%zu others]", n);
    sum_row(t, r, shape, &rest, label);
}

static enum mt_status table(const struct mt_report *r, const struct mt_snapshot *s,
                            const struct mt_segment_rows *rows, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    struct mt_buf b = {0};
    struct shape shape = find_shape(r, rows);
    columns(t, shape);
    size_t shown = shown_rows(r, rows->rows.n);
    for (size_t i = 0; i < shown; i++) {
        row_cells(t, r, shape, s, &rows->rows.v[i], &b);
    }
    if (!r->separator) {
        if (shown < rows->rows.n) {
            other_rows(t, r, shape, rows, shown);
        }
        mt_table_rule(t);
        char label[48];
        snprintf(label, sizeof label, "TOTAL of %zu", rows->rows.n);
        sum_row(t, r, shape, &rows->sum, label);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

/* ---- tree ---- */

static const char *const STATES[] = {"free", "allocated", "pending free", "active"};

static void block_cells(struct mt_table *t, const struct mt_report *r, const struct mt_snapshot *s,
                        const struct mt_segment *segment, const struct mt_block *b,
                        struct mt_buf *label)
{
    bool live = b->state != MT_BLOCK_INACTIVE;
    mt_buf_reset(label);
    if (live) {
        mt_stack_label(label, s, b->stack, r);
        mt_stack_label_forward(label, s, b->stack);
    }
    mt_table_cell(t, "+0x%" PRIx64, b->addr - segment->addr);
    mt_table_size(t, b->size);
    mt_table_cell(t, "%s", STATES[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER]);
    mt_table_cell(t, "%s", live ? mt_report_size(r, b->requested).s : "");
    mt_table_stack(t, label, 0, s, live ? b->stack : 0);
}

static enum mt_status block_table(const struct mt_report *r, const struct mt_snapshot *s,
                                  struct mt_filtered *f, const struct mt_segment *segment,
                                  struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf label = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "OFFSET", MT_RIGHT);
    mt_table_column(t, "SIZE", MT_RIGHT);
    mt_table_column(t, "STATE", MT_LEFT);
    mt_table_column(t, "REQUESTED", MT_RIGHT);
    mt_table_column(t, "STACK", MT_LEFT);
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct mt_block *b = &s->blocks[segment->first_block + i];
        if (b->state == MT_BLOCK_INACTIVE || mt_filtered_block(f, b)) {
            block_cells(t, r, s, segment, b, &label);
        }
    }
    enum mt_status status = label.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 4, err);
    mt_buf_release(&label);
    mt_table_free(t);
    return status;
}

static enum mt_status tree(const struct mt_report *r, const struct mt_snapshot *s,
                           struct mt_filtered *f, const struct mt_segment_rows *rows,
                           struct mt_error *err)
{
    size_t shown = shown_rows(r, rows->rows.n);
    for (size_t i = 0; i < shown; i++) {
        const struct mt_segment_row *row = &rows->rows.v[i];
        const struct mt_segment *segment = &s->segments[row->segment];
        struct mt_buf b = {0};
        mt_stream_label(&b, s, segment->stream);
        mt_buf_text(&b, ", ");
        add_kind(&b, segment, false);
        bool failed = b.failed;
        mt_report_line(r, 4,
                       "%sSegment 0x%" PRIx64 "%s  %s, %s in use, %s free, device %" PRId32 ", %s",
                       mt_color_begin(r, MT_COLOR_HEAD), segment->addr, mt_color_end(r),
                       mt_report_size(r, row->size).s, mt_report_size(r, row->active).s,
                       mt_report_size(r, row->free).s, row->device, mt_buf_view(&b).p);
        mt_buf_release(&b);
        if (failed) {
            return mt_fail_nomem(err);
        }
        MT_TRY(block_table(r, s, f, segment, err));
        fputc('\n', r->out);
    }
    if (shown < rows->rows.n) {
        size_t n = rows->rows.n - shown;
        fprintf(r->out, n == 1 ? "[%zu other]\n" : "[%zu others]\n", n);
    }
    mt_report_line(r, 4, "TOTAL of %zu segment%s: %s, %s in use, %s free", rows->rows.n,
                   rows->rows.n == 1 ? "" : "s", mt_report_size(r, rows->sum.size).s,
                   mt_report_size(r, rows->sum.active).s, mt_report_size(r, rows->sum.free).s);
    return MT_OK;
}

/* ---- JSON ---- */

static void put_blocks(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                       struct mt_filtered *f, const struct mt_segment *segment)
{
    static const char *const words[] = {"inactive", "active_allocated", "active_pending_free",
                                        "other"};
    struct mt_out blocks = mt_out_array(o, "blocks");
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct mt_block *b = &s->blocks[segment->first_block + i];
        bool live = b->state != MT_BLOCK_INACTIVE;
        if (live && !mt_filtered_block(f, b)) {
            continue;
        }
        struct mt_out one = mt_out_object(blocks, NULL);
        mt_out_addr(one, "address", b->addr);
        mt_out_u64(one, "size_bytes", b->size);
        mt_out_known(one, "requested_bytes", live, b->requested);
        mt_out_text(one, "state", words[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER]);
        if (r->verbose) {
            mt_out_frames(one, s, live ? b->stack : 0);
        }
    }
}

static void put_pool(struct mt_out o, const struct mt_segment *segment)
{
    mt_out_text(o, "pool", kind_word(segment));
    mt_out_pool_id(o, segment->pool);
    mt_out_bool(o, "expandable", segment->expandable);
}

static void put_segment(struct mt_out list, const struct mt_report *r, const struct mt_snapshot *s,
                        struct mt_filtered *f, const struct mt_segment_row *row)
{
    const struct mt_segment *segment = &s->segments[row->segment];
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_i64(o, "device", row->device);
    mt_out_addr(o, "address", segment->addr);
    mt_out_u64(o, "size_bytes", row->size);
    mt_out_u64(o, "allocated_bytes", row->allocated);
    mt_out_u64(o, "active_bytes", row->active);
    mt_out_u64(o, "requested_bytes", row->requested);
    mt_out_u64(o, "free_bytes", row->free);
    mt_out_u64(o, "largest_free_block_bytes", row->free_hole);
    mt_out_addr(o, "stream", s->streams[segment->stream].handle);
    put_pool(o, segment);
    mt_out_frames(o, s, segment->stack);
    put_blocks(o, r, s, f, segment);
}

static enum mt_status json(const struct mt_report *r, const struct mt_snapshot *s,
                           struct mt_filtered *f, const struct mt_segment_rows *rows, bool one_line,
                           struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "segments/1", one_line);
    struct mt_out list = mt_out_array(root, "segments");
    size_t shown = shown_rows(r, rows->rows.n);
    uint64_t rest = rows->sum.size;
    for (size_t i = 0; i < shown; i++) {
        put_segment(list, r, s, f, &rows->rows.v[i]);
        rest -= rows->rows.v[i].size;
    }
    mt_out_u64(root, "reserved_bytes", rows->sum.size);
    mt_out_u64(root, "allocated_bytes", rows->sum.allocated);
    mt_out_u64(root, "active_bytes", rows->sum.active);
    mt_out_u64(root, "others", rows->rows.n - shown);
    mt_out_u64(root, "others_bytes", rest);
    mt_out_u64(root, "left_out", rows->left_out);
    return mt_report_json_end(root, err);
}

enum mt_status mt_report_segments(const struct mt_report *r, const struct mt_snapshot *s,
                                  struct mt_filtered *f, const struct mt_segment_rows *rows,
                                  bool one_line, struct mt_error *err)
{
    if (r->json) {
        return json(r, s, f, rows, one_line, err);
    }
    if (r->verbose && !r->separator) {
        MT_TRY(tree(r, s, f, rows, err));
    } else {
        MT_TRY(table(r, s, rows, err));
    }
    if (rows->left_out && !r->separator) {
        fprintf(r->out, "Left out by the filter: %zu segment%s.\n", rows->left_out,
                rows->left_out == 1 ? "" : "s");
    }
    return MT_OK;
}
