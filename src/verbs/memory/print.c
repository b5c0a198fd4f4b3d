/* SPDX-License-Identifier: MIT */
/* memory: which stacks hold the active memory at the dump. */
#include <inttypes.h>

#include "verbs/memory/print.h"
#include "print/figures.h"
#include "print/report_json.h"
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

static void columns(struct mt_table *t, bool device)
{
    if (device) {
        mt_table_column(t, "DEVICE", MT_RIGHT);
    }
    mt_table_column(t, "BYTES", MT_RIGHT);
    mt_table_column(t, "SHARE", MT_RIGHT);
    mt_table_column(t, "BLOCKS", MT_RIGHT);
    mt_table_column(t, "LARGEST", MT_RIGHT);
    mt_table_column(t, "STACK", MT_LEFT);
    mt_table_names(t, "device,bytes,share,blocks,largest_bytes,stack");
}

/* All but the last, which names the row. */
static void figures(struct mt_table *t, const struct mt_report *r, const struct mt_stack_sum *row,
                    uint64_t whole)
{
    mt_table_size(t, row->bytes);
    mt_table_cell(t, "%s", mt_share_text(r, row->bytes, whole).s);
    mt_table_count(t, row->count);
    mt_table_size(t, row->largest);
}

static void others(struct mt_table *t, const struct mt_report *r, const struct mt_stack_sums *sums,
                   size_t from)
{
    struct mt_stack_sum rest = {0};
    char label[48];
    for (size_t i = from; i < sums->rows.n; i++) {
        rest.bytes += sums->rows.v[i].bytes;
        rest.count += sums->rows.v[i].count;
        rest.largest =
            sums->rows.v[i].largest > rest.largest ? sums->rows.v[i].largest : rest.largest;
    }
    size_t n = sums->rows.n - from;
    snprintf(label, sizeof label, n == 1 ? "[%zu other]" : "[%zu others]", n);
    figures(t, r, &rest, sums->bytes);
    mt_table_cell(t, "%s", label);
}

static enum mt_status rows(struct mt_table *t, const struct mt_report *r,
                           const struct mt_snapshot *s, const struct mt_memory_device *d,
                           bool device, struct mt_error *err)
{
    struct mt_buf label = {0};
    for (size_t i = 0; i < shown_rows(r, d->sums.rows.n); i++) {
        mt_buf_reset(&label);
        mt_stack_label_inner(&label, s, d->sums.rows.v[i].stack, r);
        if (device) {
            mt_table_cell(t, "%" PRId32, d->device);
        }
        figures(t, r, &d->sums.rows.v[i], d->sums.bytes);
        mt_table_stack(t, &label, 0, s, d->sums.rows.v[i].stack);
    }
    bool failed = label.failed;
    mt_buf_release(&label);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

static enum mt_status device_table(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_memory_device *d, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    columns(t, false);
    enum mt_status status = rows(t, r, s, d, false, err);
    size_t shown = shown_rows(r, d->sums.rows.n);
    if (shown < d->sums.rows.n) {
        others(t, r, &d->sums, shown);
    }
    mt_table_rule(t);
    struct mt_stack_sum total = {
        .bytes = d->sums.bytes, .count = d->sums.count, .largest = d->sums.largest};
    figures(t, r, &total, d->sums.bytes);
    mt_table_cell(t, "TOTAL");
    if (status == MT_OK) {
        status = mt_table_print(t, r, 2, err);
    }
    mt_table_free(t);
    return status;
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
            MT_TRY(device_table(r, s, &d->v.v[i], err));
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
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    columns(t, true);
    enum mt_status status = MT_OK;
    for (size_t i = 0; status == MT_OK && i < d->v.n; i++) {
        status = rows(t, r, s, &d->v.v[i], true, err);
    }
    if (status == MT_OK) {
        status = mt_table_print(t, r, 0, err);
    }
    mt_table_free(t);
    return status;
}

/* ---- JSON ---- */

static void put_stacks(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_stack_sums *sums)
{
    struct mt_out stacks = mt_out_array(o, "stacks");
    uint64_t rest = sums->bytes;
    for (size_t i = 0; i < shown_rows(r, sums->rows.n); i++) {
        const struct mt_stack_sum *row = &sums->rows.v[i];
        struct mt_out one = mt_out_object(stacks, NULL);
        mt_out_u64(one, "bytes", row->bytes);
        mt_out_u64(one, "requested_bytes", row->requested);
        mt_out_u64(one, "pending_bytes", row->pending);
        mt_out_u64(one, "largest_bytes", row->largest);
        mt_out_u64(one, "count", row->count);
        mt_out_frames(one, s, row->stack);
        mt_out_forward(one, s, row->stack);
        rest -= row->bytes;
    }
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
        put_stacks(o, r, s, &m->sums);
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
