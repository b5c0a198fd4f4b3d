/* SPDX-License-Identifier: MIT */
#include "print/report_json.h"

#include <memtool/version.h>

static void to_stream(void *out, const void *p, size_t n)
{
    (void)fwrite(p, 1, n, out); /* cli/ checks the stream at the end */
}

struct mt_out mt_report_json(struct mt_json_out *json, const struct mt_report *r,
                             const char *schema, bool one_line)
{
    *json = (struct mt_json_out){.to = r->out, .indented = !one_line};
    struct mt_out root = mt_out_object(mt_out_here(json), NULL);
    mt_out_text(root, "memtool", MT_VERSION);
    mt_out_text(root, "schema", schema);
    if (r->file) {
        mt_out_text(root, "file", r->file);
    }
    if (r->lost && *r->lost) {
        mt_out_text(root, "lost", *r->lost);
    }
    if (r->at) {
        mt_out_text(root, "at", r->at);
    }
    return root;
}

enum mt_status mt_report_json_end(struct mt_out root, struct mt_error *err)
{
    struct mt_json_out *json = root.json;
    mt_out_end(root);
    mt_buf_char(&json->text, '\n');
    bool failed = json->text.failed;
    if (!failed) {
        to_stream(json->to, json->text.p, json->text.n);
    }
    mt_buf_release(&json->text);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

void mt_out_time(struct mt_out o, const char *key, int64_t time_us)
{
    time_us == MT_NO_TIME ? mt_out_null(o, key) : mt_out_i64(o, key, time_us);
}

void mt_out_pool_id(struct mt_out o, struct mt_pool_id id)
{
    struct mt_out pair = mt_out_tuple(o, "pool_id");
    mt_out_i64(pair, NULL, id.a);
    mt_out_i64(pair, NULL, id.b);
}
