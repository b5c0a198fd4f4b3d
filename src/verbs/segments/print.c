/* SPDX-License-Identifier: MIT */
/* segments: each reservation, what lives in it and what is free; with -v its blocks as a tree. */
#include <inttypes.h>

#include "verbs/segments/print.h"
#include "print/figures.h"
#include "print/rows.h"
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

/* ---- rows ---- */

static const struct mt_segment *segment_of(const struct mt_rows *x, const void *row)
{
    return &x->s->segments[((const struct mt_segment_row *)row)->segment];
}

static size_t address_text(struct mt_buf *b, const struct mt_rows *x, const void *row)
{
    mt_buf_printf(b, "0x%" PRIx64, segment_of(x, row)->addr);
    return 0;
}

static void put_address(struct mt_out o, const struct mt_rows *x, const void *row)
{
    mt_out_addr(o, "address", segment_of(x, row)->addr);
}

static size_t stream_text(struct mt_buf *b, const struct mt_rows *x, const void *row)
{
    mt_buf_printf(b, "%u", (unsigned)segment_of(x, row)->stream);
    return 0;
}

static void put_stream(struct mt_out o, const struct mt_rows *x, const void *row)
{
    mt_out_addr(o, "stream", x->s->streams[segment_of(x, row)->stream].handle);
}

/* Shares only with room for them, the device only where there are several. */
enum { DEVICE = 1 << 0, SHARES = 1 << 5 | 1 << 8 };

static size_t pool_text(struct mt_buf *b, const struct mt_rows *x, const void *row)
{
    add_kind(b, segment_of(x, row), x->hidden & SHARES);
    return 0;
}

static void put_pool(struct mt_out o, const struct mt_rows *x, const void *row)
{
    const struct mt_segment *segment = segment_of(x, row);
    mt_out_text(o, "pool", kind_word(segment));
    mt_out_pool_id(o, segment->pool);
    mt_out_bool(o, "expandable", segment->expandable);
}

static size_t most_text(struct mt_buf *b, const struct mt_rows *x, const void *any)
{
    const struct mt_segment_row *row = any;
    if (!row->top_bytes) { /* without room 0 B in use says so, and the row stays one line */
        mt_buf_text(b, x->hidden & SHARES ? "" : "(nothing alive)");
        return 0;
    }
    if (row->top_bytes != row->active || x->r->separator) { /* else the size stands before */
        mt_buf_printf(b, "%s ", mt_report_size(x->r, row->top_bytes).s);
    }
    size_t from = b->n;
    mt_stack_label(b, x->s, row->top_stack, x->r);
    mt_stack_label_forward(b, x->s, row->top_stack);
    return from;
}

static void put_blocks(struct mt_out o, const struct mt_rows *x, const void *row);

#define AT(field) .at = offsetof(struct mt_segment_row, field)

static const struct mt_row_column COLUMNS[] = {
    {"DEVICE", "device", "device", MT_ROW_ID, AT(device)},
    {"ADDRESS", "address", NULL, MT_ROW_TEXT, .text = address_text, .put = put_address},
    {"SIZE", "size_bytes", "size_bytes", MT_ROW_SIZE, AT(size)},
    {NULL, NULL, "allocated_bytes", MT_ROW_SIZE, AT(allocated)},
    {"IN USE", "in_use_bytes", "active_bytes", MT_ROW_SIZE, AT(active)},
    {"FULL", "in_use_share", NULL, MT_ROW_SHARE, AT(active),
     .of = offsetof(struct mt_segment_row, size)},
    {NULL, NULL, "requested_bytes", MT_ROW_SIZE, AT(requested)},
    {"FREE", "free_bytes", "free_bytes", MT_ROW_SIZE, AT(free)},
    {"LARGEST FREE", "largest_free_bytes", "largest_free_block_bytes", MT_ROW_MOST, AT(free_hole)},
    {"BLOCKS", "blocks", NULL, MT_ROW_COUNT, AT(live_blocks)},
    {"STREAM", "stream", NULL, MT_ROW_TEXT, .right = true, .text = stream_text, .put = put_stream},
    {"POOL", "pool", NULL, MT_ROW_TEXT, .text = pool_text, .put = put_pool},
    {"MOST OF IT", "most_of_it", NULL, MT_ROW_STACK, AT(top_stack), .text = most_text,
     .put = put_blocks},
};

static struct mt_rows rows_of(const struct mt_report *r, const struct mt_snapshot *s,
                              struct mt_filtered *const *f, const struct mt_segment_rows *rows)
{
    enum { ROOMY = 120 };
    size_t n = rows->rows.n;
    bool several = n && (rows->rows.v[0].device != 0 || rows->rows.v[n - 1].device != 0);
    bool roomy = r->separator || r->width == 0 || r->width >= ROOMY;
    return (struct mt_rows){.r = r,
                            .s = s,
                            .columns = COLUMNS,
                            .n_columns = MT_COUNT(COLUMNS),
                            .rows = rows->rows.v,
                            .n = n,
                            .size = sizeof *rows->rows.v,
                            .ctx = f,
                            .hidden = (several ? 0 : DEVICE) | (roomy ? 0 : SHARES),
                            .named = 1};
}

static enum mt_status table(const struct mt_rows *x, struct mt_error *err)
{
    char of_total[32];
    struct mt_rows counted = *x;
    snprintf(of_total, sizeof of_total, " of %zu", x->n);
    counted.of_total = of_total;
    return mt_rows_print(&counted, 0, err);
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

static void put_blocks(struct mt_out o, const struct mt_rows *x, const void *row)
{
    static const char *const words[] = {"inactive", "active_allocated", "active_pending_free",
                                        "other"};
    const struct mt_segment *segment = segment_of(x, row);
    struct mt_filtered *const *f = x->ctx;
    mt_out_frames(o, x->s, segment->stack);
    struct mt_out blocks = mt_out_array(o, "blocks");
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct mt_block *b = &x->s->blocks[segment->first_block + i];
        bool live = b->state != MT_BLOCK_INACTIVE;
        if (live && !mt_filtered_block(*f, b)) {
            continue;
        }
        struct mt_out one = mt_out_object(blocks, NULL);
        mt_out_addr(one, "address", b->addr);
        mt_out_u64(one, "size_bytes", b->size);
        mt_out_known(one, "requested_bytes", live, b->requested);
        mt_out_text(one, "state", words[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER]);
        if (x->r->verbose) {
            mt_out_frames(one, x->s, live ? b->stack : 0);
        }
    }
}

static enum mt_status json(const struct mt_rows *x, const struct mt_segment_rows *rows,
                           bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, x->r, "segments/1", one_line);
    size_t shown = mt_rows_shown(x);
    uint64_t rest = rows->sum.size;
    for (size_t i = 0; i < shown; i++) {
        rest -= rows->rows.v[i].size;
    }
    mt_out_row_list(root, "segments", x);
    mt_out_u64(root, "reserved_bytes", rows->sum.size);
    mt_out_u64(root, "allocated_bytes", rows->sum.allocated);
    mt_out_u64(root, "active_bytes", rows->sum.active);
    mt_out_u64(root, "others", x->n - shown);
    mt_out_u64(root, "others_bytes", rest);
    mt_out_u64(root, "left_out", rows->left_out);
    return mt_report_json_end(root, err);
}

enum mt_status mt_report_segments(const struct mt_report *r, const struct mt_snapshot *s,
                                  struct mt_filtered *f, const struct mt_segment_rows *rows,
                                  bool one_line, struct mt_error *err)
{
    struct mt_rows x = rows_of(r, s, &f, rows);
    if (r->json) {
        return json(&x, rows, one_line, err);
    }
    if (r->verbose && !r->separator) {
        MT_TRY(tree(r, s, f, rows, err));
    } else {
        MT_TRY(table(&x, err));
    }
    if (rows->left_out && !r->separator) {
        fprintf(r->out, "Left out by the filter: %zu segment%s.\n", rows->left_out,
                rows->left_out == 1 ? "" : "s");
    }
    return MT_OK;
}
