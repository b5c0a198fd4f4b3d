/* SPDX-License-Identifier: MIT */
/* peak/1. Groups other than stacks stand under `groups`, with the name that the text shows. */
#include "heap/stacks/event_labels.h"
#include "print/peak_label.h"
#include "print/json_put.h"
#include "verbs/peak/print.h"

static const char *const BY[] = {
    [MT_BY_STACK] = "stack",       [MT_BY_FILE] = "file",     [MT_BY_LINE] = "line",
    [MT_BY_FUNCTION] = "function", [MT_BY_FOLDER] = "folder", [MT_BY_ANNOTATION] = "annotation",
    [MT_BY_STREAM] = "stream",     [MT_BY_POOL] = "pool",     [MT_BY_CATEGORY] = "category",
    [MT_BY_LABEL] = "label",       [MT_BY_REGION] = "region", [MT_BY_NODE] = "node",
    [MT_BY_MODULE] = "module",
};

static void put_row(struct mt_put *p, cJSON *rows, const struct mt_report *r,
                    const struct mt_snapshot *s, const struct mt_peak *peak,
                    const struct mt_peak_row *row)
{
    cJSON *o = mt_put_object(p, rows, NULL);
    mt_put_u64(p, o, "bytes", row->bytes);
    mt_put_u64(p, o, "count", row->count);
    mt_put_u64(p, o, "largest_bytes", row->largest);
    mt_put_u64(p, o, "preexisting_bytes", row->preexisting);
    if (peak->by == MT_BY_STACK) {
        mt_put_item(p, o, "frames", mt_json_frames(s, row->key));
        mt_put_forward(p, o, s, row->key);
    } else {
        struct mt_buf b = {0};
        mt_peak_row_label(&b, r, s, peak->by, row);
        p->failed |= b.failed;
        mt_put_str(p, o, "name", mt_buf_view(&b));
        mt_buf_release(&b);
    }
    mt_put_text(p, o, "category", mt_peak_row_word(row));
    if (peak->by == MT_BY_CATEGORY) {
        mt_put_text(p, o, "confidence",
                    mt_category_sure_word((enum mt_category)row->key, peak->sure[row->key]));
    }
}

static void put_rows(struct mt_put *p, cJSON *o, const struct mt_report *r,
                     const struct mt_snapshot *s, const struct mt_peak *peak)
{
    cJSON *rows = mt_put_array(p, o, peak->by == MT_BY_STACK ? "stacks" : "groups");
    uint64_t others = 0;
    uint64_t n_others = 0;
    for (size_t i = 0; i < peak->rows.n; i++) {
        if (!r->limit || i < r->limit) {
            put_row(p, rows, r, s, peak, &peak->rows.v[i]);
        } else {
            others += peak->rows.v[i].bytes;
            n_others++;
        }
    }
    mt_put_u64(p, o, "others_bytes", others);
    mt_put_u64(p, o, "others", n_others);
}

static void put_device(struct mt_put *p, cJSON *devices, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_peak *peak)
{
    cJSON *o = mt_put_object(p, devices, NULL);
    mt_put_i64(p, o, "device", peak->device);
    mt_put_text(p, o, "at", mt_moment_name(peak->at));
    mt_put_u64(p, o, "peak_requested_bytes", peak->bytes);
    mt_put_u64(p, o, "count", peak->count);
    mt_put_known(p, o, "peak_event", peak->events_done > 0, peak->events_done - 1);
    mt_put_time(p, o, "peak_us", peak->time_us);
    mt_put_time(p, o, "since_first_us", peak->since_us);
    mt_put_u64(p, o, "preexisting_bytes", peak->preexisting_bytes);
    mt_put_known(p, o, "reserved_bytes", mt_source_has_reserved(&s->source), peak->reserved_bytes);
    mt_put_u64(p, o, "left_out", peak->left_out);
    mt_put_categories(p, o, peak->by_category, peak->sure);
    mt_put_text(p, o, "by", BY[peak->by]);
    put_rows(p, o, r, s, peak);
}

enum mt_status mt_report_peak_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, bool one_line,
                                   struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "peak/1");
    cJSON *devices = mt_put_array(&p, root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_device(&p, devices, r, s, &peaks[i]);
    }
    return mt_put_end(&p, r, root, one_line, err);
}
