/* SPDX-License-Identifier: MIT */
/* memory: which stacks hold the active memory at the dump. */
#include <inttypes.h>

#include "verbs/memory/print.h"
#include "print/figures.h"
#include "print/rows.h"
#include "print/labels.h"

static size_t shown_rows(const struct mt_report *r, size_t n)
{
    return r->limit && n > r->limit ? r->limit : n;
}

/* ---- text ---- */

static void print_head(const struct mt_report *r, const struct mt_memory_device *d)
{
    const struct mt_counters *c = &d->counters;
    mt_report_line(r, 2, "%s%s%s: %s in use, %s cached and free, %s reserved",
                   mt_color_begin(r, MT_COLOR_HEAD), mt_device_label(d->device).s, mt_color_end(r),
                   mt_report_size(r, c->active).s, mt_report_size(r, c->inactive).s,
                   mt_report_size(r, c->reserved).s);
}

static size_t device_text(struct mt_buf *b, const struct mt_rows *x, const void *row)
{
    const struct mt_memory_device *d = x->ctx;
    (void)row;
    mt_buf_printf(b, "%" PRId32, d->device);
    return 0;
}

static size_t stack_text(struct mt_buf *b, const struct mt_rows *x, const void *row)
{
    mt_stack_label_inner(b, x->s, ((const struct mt_stack_sum *)row)->stack, x->r);
    return 0;
}

static void put_stack(struct mt_out o, const struct mt_rows *x, const void *row)
{
    const struct mt_stack_sum *sum = row;
    mt_out_frames(o, x->s, sum->stack);
    mt_out_forward(o, x->s, sum->stack);
}

#define AT(field) .at = offsetof(struct mt_stack_sum, field)

static const struct mt_row_column COLUMNS[] = {
    {"DEVICE", "device", NULL, MT_ROW_TEXT, .csv_only = true, .right = true, .text = device_text},
    {"BYTES", "bytes", "bytes", MT_ROW_SIZE, AT(bytes)},
    {NULL, NULL, "requested_bytes", MT_ROW_SIZE, AT(requested)},
    {NULL, NULL, "pending_bytes", MT_ROW_SIZE, AT(pending)},
    {"SHARE", "share", NULL, MT_ROW_SHARE, AT(bytes)},
    {"BLOCKS", "blocks", NULL, MT_ROW_COUNT, AT(count)},
    {"LARGEST", "largest_bytes", "largest_bytes", MT_ROW_MOST, AT(largest)},
    {NULL, NULL, "count", MT_ROW_COUNT, AT(count)},
    {"STACK", "stack", NULL, MT_ROW_STACK, AT(stack), .text = stack_text, .put = put_stack},
};

static struct mt_rows rows_of(const struct mt_report *r, const struct mt_snapshot *s,
                              const struct mt_memory_device *d)
{
    return (struct mt_rows){.r = r,
                            .s = s,
                            .columns = COLUMNS,
                            .n_columns = MT_COUNT(COLUMNS),
                            .rows = d->sums.rows.v,
                            .n = d->sums.rows.n,
                            .size = sizeof *d->sums.rows.v,
                            .whole = d->sums.bytes,
                            .ctx = d,
                            .named = MT_COUNT(COLUMNS) - 1};
}

/* With --stack: each row with its stack below it. */
static enum mt_status device_stacks(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_memory_device *d, struct mt_error *err)
{
    struct mt_buf b = {0};
    size_t shown = shown_rows(r, d->sums.rows.n);
    uint64_t rest = d->sums.bytes;
    for (size_t i = 0; i < shown; i++) {
        const struct mt_stack_sum *row = &d->sums.rows.v[i];
        double share = d->sums.bytes ? (double)row->bytes / (double)d->sums.bytes : 0;
        mt_buf_printf(&b, "\n  %s  %s in %s block%s\n", mt_report_size(r, row->bytes).s,
                      mt_percent_text(share).s, mt_count_text(row->count).s,
                      row->count == 1 ? "" : "s");
        mt_stack_lines(&b, s, row->stack, r, 6);
        rest -= row->bytes;
    }
    if (shown < d->sums.rows.n) {
        mt_buf_printf(
            &b, d->sums.rows.n - shown == 1 ? "\n  %s  [%zu other]\n" : "\n  %s  [%zu others]\n",
            mt_report_size(r, rest).s, d->sums.rows.n - shown);
    }
    mt_buf_printf(&b, "\n  %s  TOTAL in %s\n", mt_report_size(r, d->sums.bytes).s,
                  mt_counted_text(d->sums.count, "block").s);
    bool failed = b.failed;
    mt_report_lines(r, mt_buf_view(&b).p);
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

static void print_left_out(const struct mt_report *r, const struct mt_memory_device *d)
{
    uint64_t blocks = d->counters.active_blocks - d->sums.count;
    if (blocks) {
        mt_report_line(r, 2, "Left out by the filter: %s in %s block%s.",
                       mt_report_size(r, d->counters.active - d->sums.bytes).s,
                       mt_count_text(blocks).s, blocks == 1 ? "" : "s");
    }
}

static enum mt_status text(const struct mt_report *r, const struct mt_snapshot *s,
                           const struct mt_memory_devices *d, struct mt_error *err)
{
    if (d->v.n == 0) {
        mt_text_put(r, r->file);
        fputs(": no device has memory here\n", r->out);
    }
    for (size_t i = 0; i < d->v.n; i++) {
        if (i) {
            fputc('\n', r->out);
        }
        print_head(r, &d->v.v[i]);
        if (r->stack_lines == 1) {
            struct mt_rows rows = rows_of(r, s, &d->v.v[i]);
            MT_TRY(mt_rows_print(&rows, 2, err));
        } else {
            MT_TRY(device_stacks(r, s, &d->v.v[i], err));
        }
        print_left_out(r, &d->v.v[i]);
    }
    return MT_OK;
}

static enum mt_status csv(const struct mt_report *r, const struct mt_snapshot *s,
                          const struct mt_memory_devices *d, struct mt_error *err)
{
    static const struct mt_memory_device none = {0};
    MT_VEC(struct mt_rows) lists = {0};
    bool ok = mt_vec_push(&lists, rows_of(r, s, &none)); /* the titles, whatever follows */
    for (size_t i = 0; ok && i < d->v.n; i++) {
        ok = mt_vec_push(&lists, rows_of(r, s, &d->v.v[i]));
    }
    enum mt_status status = ok ? mt_rows_csv(lists.v, lists.n, err) : mt_fail_nomem(err);
    mt_vec_release(&lists);
    return status;
}

/* ---- JSON ---- */

static void put_stacks(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_memory_device *d)
{
    struct mt_rows rows = rows_of(r, s, d);
    uint64_t rest = d->sums.bytes;
    for (size_t i = 0; i < mt_rows_shown(&rows); i++) {
        rest -= d->sums.rows.v[i].bytes;
    }
    mt_out_row_list(o, "stacks", &rows);
    mt_out_u64(o, "others_bytes", rest);
}

static enum mt_status json(const struct mt_report *r, const struct mt_snapshot *s,
                           const struct mt_memory_devices *d, bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "memory/1", one_line);
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < d->v.n; i++) {
        const struct mt_memory_device *m = &d->v.v[i];
        struct mt_out o = mt_out_object(devices, NULL);
        mt_out_i64(o, "device", m->device);
        mt_out_u64(o, "active_bytes", m->counters.active);
        mt_out_u64(o, "inactive_bytes", m->counters.inactive);
        mt_out_u64(o, "reserved_bytes", m->counters.reserved);
        mt_out_u64(o, "shown_bytes", m->sums.bytes);
        mt_out_u64(o, "shown_blocks", m->sums.count);
        put_stacks(o, r, s, m);
    }
    return mt_report_json_end(root, err);
}

enum mt_status mt_report_memory(const struct mt_report *r, const struct mt_snapshot *s,
                                const struct mt_memory_devices *d, bool one_line,
                                struct mt_error *err)
{
    if (r->json) {
        return json(r, s, d, one_line, err);
    }
    return r->separator ? csv(r, s, d, err) : text(r, s, d, err);
}
