/* SPDX-License-Identifier: MIT */
/* Reading, writing and judging the lines of a history. */
#include "print/history.h"

#include <inttypes.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include <memtool/version.h>
#include "print/report_json.h"
#include "support/checked.h"

#define SCHEMA "history/1"
/* Doubles hold integers up to here. */
#define EXACT 9007199254740992.0

/* ---- reading ---- */

static bool number_of(const cJSON *object, const char *key, uint64_t *n)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > EXACT) {
        return false;
    }
    *n = (uint64_t)item->valuedouble;
    return true;
}

static bool text_of(struct mt_run_history *h, const cJSON *object, const char *key,
                    struct mt_str *out)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    struct mt_str from = mt_str_from(text ? text : "");
    *out = mt_arena_copy(&h->text, from.p, from.n);
    return out->p != NULL;
}

static void growth_of(const cJSON *object, struct mt_history_entry *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "bytes_per_step");
    e->knows_growth = cJSON_IsNumber(item) && item->valuedouble >= -EXACT && //
                      item->valuedouble <= EXACT;
    e->bytes_per_step = e->knows_growth ? (int64_t)item->valuedouble : 0;
}

static enum mt_status read_entry(struct mt_run_history *h, const cJSON *object, size_t line,
                                 struct mt_error *err)
{
    struct mt_history_entry e = {0};
    const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "schema"));
    bool known = schema && mt_str_equal(mt_str_from(schema), MT_STR(SCHEMA)) &&
                 number_of(object, "peak_requested_bytes", &e.peak) &&
                 number_of(object, "reserved_bytes", &e.reserved);
    if (!known) {
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                       "line %zu is no entry of a history (schema " SCHEMA ")", line);
    }
    (void)number_of(object, "device_calls", &e.device_calls);
    const cJSON *frag = cJSON_GetObjectItemCaseSensitive(object, "fragmentation");
    e.frag = cJSON_IsNumber(frag) ? frag->valuedouble : 0;
    growth_of(object, &e);
    bool ok = text_of(h, object, "commit", &e.commit) && text_of(h, object, "time", &e.time) &&
              text_of(h, object, "file", &e.file) && mt_vec_push(&h->v, e);
    return ok ? MT_OK : mt_fail_nomem(err);
}

static bool is_blank(struct mt_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r') {
            return false;
        }
    }
    return true;
}

enum mt_status mt_history_read(struct mt_run_history *h, struct mt_str lines, struct mt_error *err)
{
    size_t number = 0;
    *h = (struct mt_run_history){0};
    for (size_t at = 0; at < lines.n;) {
        size_t n = mt_str_find((struct mt_str){lines.p + at, lines.n - at}, MT_STR("\n"));
        struct mt_str line = {lines.p + at, n == SIZE_MAX ? lines.n - at : n};
        at += line.n + 1;
        number++;
        if (is_blank(line)) {
            continue;
        }
        cJSON *object = cJSON_ParseWithLength(line.p, line.n);
        enum mt_status status = read_entry(h, object, number, err);
        cJSON_Delete(object);
        MT_TRY(status);
    }
    return MT_OK;
}

void mt_history_release(struct mt_run_history *h)
{
    mt_vec_release(&h->v);
    mt_arena_release(&h->text);
}

/* ---- writing ---- */

void mt_history_line(struct mt_buf *to, const struct mt_history_entry *e)
{
    char share[32];
    struct mt_json_out json = {0};
    struct mt_out o = mt_out_object(mt_out_here(&json), NULL);
    mt_out_text(o, "memtool", MT_VERSION);
    mt_out_text(o, "schema", SCHEMA);
    mt_out_str(o, "commit", e->commit);
    mt_out_str(o, "time", e->time);
    mt_out_str(o, "file", e->file);
    mt_out_u64(o, "peak_requested_bytes", e->peak);
    mt_out_u64(o, "reserved_bytes", e->reserved);
    snprintf(share, sizeof share, "%.6f", e->frag);
    mt_out_number(o, "fragmentation", mt_str_from(share));
    mt_out_u64(o, "device_calls", e->device_calls);
    if (e->knows_growth) {
        mt_out_i64(o, "bytes_per_step", e->bytes_per_step);
    } else {
        mt_out_null(o, "bytes_per_step");
    }
    mt_out_end(o);
    mt_buf_char(&json.text, '\n');
    mt_buf_str(to, mt_buf_view(&json.text));
    to->failed |= json.text.failed;
    mt_buf_release(&json.text);
}

/* ---- judging ---- */

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool median_of(const struct mt_run_history *h, size_t from, size_t to, uint64_t *peak)
{
    size_t n = to - from;
    uint64_t *peaks = mt_mem_alloc(n ? n : 1, sizeof *peaks);
    if (!peaks || !n) {
        mt_mem_free(peaks);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        peaks[i] = h->v.v[from + i].peak;
    }
    qsort(peaks, n, sizeof *peaks, ascending);
    *peak = peaks[(n - 1) / 2] + (peaks[n / 2] - peaks[(n - 1) / 2]) / 2;
    mt_mem_free(peaks);
    return true;
}

bool mt_history_base(const struct mt_run_history *h, size_t n, const struct mt_history_rule *rule,
                     uint64_t *peak)
{
    bool found = false;
    if (rule->against == MT_AGAINST_MEDIAN) {
        return median_of(h, rule->last && rule->last < n ? n - (size_t)rule->last : 0, n, peak);
    }
    for (size_t i = 0; i < n; i++) {
        const struct mt_history_entry *e = &h->v.v[i];
        bool taken = rule->against == MT_AGAINST_BEST
                         ? !found || e->peak < *peak
                         : mt_str_starts(e->commit, mt_str_from(rule->commit));
        *peak = taken ? e->peak : *peak;
        found |= taken;
    }
    return found;
}

uint64_t mt_history_limit(const struct mt_history_rule *rule, uint64_t base)
{
    double share = (double)base * rule->percent / 100;
    uint64_t more = share >= 0x1p63 ? INT64_MAX : (uint64_t)share;
    return mt_add_sat(base, more > rule->bytes ? more : rule->bytes);
}

size_t mt_history_first_bad(const struct mt_run_history *h, uint64_t limit)
{
    size_t first = h->v.n;
    while (first > 0 && h->v.v[first - 1].peak > limit) {
        first--;
    }
    return first < h->v.n ? first : SIZE_MAX;
}
