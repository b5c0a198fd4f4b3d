/* SPDX-License-Identifier: MIT */
/* peak/1. Groups other than stacks stand under `groups`, with the name that the text shows. */
#include "heap/stacks/event_labels.h"
#include "print/peak_label.h"
#include "print/report_json.h"
#include "verbs/peak/print.h"

static const char *const BY[] = {
    [MT_BY_STACK] = "stack",       [MT_BY_FILE] = "file",     [MT_BY_LINE] = "line",
    [MT_BY_FUNCTION] = "function", [MT_BY_FOLDER] = "folder", [MT_BY_ANNOTATION] = "annotation",
    [MT_BY_STREAM] = "stream",     [MT_BY_POOL] = "pool",     [MT_BY_CATEGORY] = "category",
    [MT_BY_LABEL] = "label",       [MT_BY_REGION] = "region", [MT_BY_NODE] = "node",
    [MT_BY_MODULE] = "module",
};

static void put_row(struct mt_out rows, const struct mt_report *r, const struct mt_snapshot *s,
                    const struct mt_peak *peak, const struct mt_peak_row *row)
{
    struct mt_out o = mt_out_object(rows, NULL);
    mt_out_u64(o, "bytes", row->bytes);
    mt_out_u64(o, "count", row->count);
    mt_out_u64(o, "largest_bytes", row->largest);
    mt_out_u64(o, "preexisting_bytes", row->preexisting);
    if (peak->by == MT_BY_STACK) {
        mt_out_frames(o, s, row->key);
        mt_out_forward(o, s, row->key);
    } else {
        struct mt_buf b = {0};
        mt_peak_row_label(&b, r, s, peak->by, row);
        mt_out_buf(o, "name", &b);
        mt_buf_release(&b);
    }
    mt_out_text(o, "category", mt_peak_row_word(row));
    if (peak->by == MT_BY_CATEGORY) {
        mt_out_text(o, "confidence",
                    mt_category_sure_word((enum mt_category)row->key, peak->sure[row->key]));
    }
}

static void put_rows(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                     const struct mt_peak *peak)
{
    struct mt_out rows = mt_out_array(o, peak->by == MT_BY_STACK ? "stacks" : "groups");
    uint64_t others = 0;
    uint64_t n_others = 0;
    for (size_t i = 0; i < peak->rows.n; i++) {
        if (!r->limit || i < r->limit) {
            put_row(rows, r, s, peak, &peak->rows.v[i]);
        } else {
            others += peak->rows.v[i].bytes;
            n_others++;
        }
    }
    mt_out_u64(o, "others_bytes", others);
    mt_out_u64(o, "others", n_others);
}

static void put_device(struct mt_out devices, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_peak *peak)
{
    struct mt_out o = mt_out_object(devices, NULL);
    mt_out_i64(o, "device", peak->device);
    mt_out_text(o, "at", mt_moment_name(peak->at));
    mt_out_u64(o, "peak_requested_bytes", peak->bytes);
    mt_out_u64(o, "count", peak->count);
    mt_out_known(o, "peak_event", peak->events_done > 0, peak->events_done - 1);
    mt_out_time(o, "peak_us", peak->time_us);
    mt_out_time(o, "since_first_us", peak->since_us);
    mt_out_u64(o, "preexisting_bytes", peak->preexisting_bytes);
    mt_out_known(o, "reserved_bytes", mt_source_has_reserved(&s->source), peak->reserved_bytes);
    mt_out_u64(o, "left_out", peak->left_out);
    mt_out_categories(o, peak->by_category, peak->sure);
    mt_out_text(o, "by", BY[peak->by]);
    put_rows(o, r, s, peak);
}

enum mt_status mt_report_peak_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, bool one_line,
                                   struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "peak/1", one_line);
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_device(devices, r, s, &peaks[i]);
    }
    return mt_report_json_end(root, err);
}
