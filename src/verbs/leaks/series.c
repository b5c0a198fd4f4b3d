/* SPDX-License-Identifier: MIT */
/* Growth from file to file of one process. */
#include "verbs/leaks/series.h"

#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
#include "cli/logged_input.h"
#include "heap/stacks/fold.h"
#include "heap/sums/totals.h"
#include "print/json_put.h"
#include "support/checked.h"
#include "support/hash.h"

enum { LEAST_FILES = 3 };

/* ---- is it one ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The name without its last number; *behind_word: letters that count moments stand before it. */
static bool split_name(const char *file, struct mt_str *head, struct mt_str *tail)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("it"),        MT_STR_INIT("iter"),  MT_STR_INIT("step"), MT_STR_INIT("epoch"),
        MT_STR_INIT("iteration"), MT_STR_INIT("batch"), MT_STR_INIT("time")};
    struct mt_str name = mt_str_from(file);
    size_t end = name.n;
    while (end > 0 && !is_digit(name.p[end - 1]) && name.p[end - 1] != '/') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && is_digit(name.p[begin - 1])) {
        begin--;
    }
    *head = (struct mt_str){name.p, begin};
    *tail = (struct mt_str){name.p + end, name.n - end};
    struct mt_str word = *head;
    word.n -= word.n && strchr("_-.=", word.p[word.n - 1]);
    for (size_t i = 0; begin < end && i < MT_COUNT(WORDS); i++) {
        if (mt_str_ends(word, WORDS[i])) {
            return true;
        }
    }
    return false;
}

bool mt_series_is(char **files, size_t n)
{
    struct mt_str head, tail, h, t;
    if (n < LEAST_FILES || !split_name(files[0], &head, &tail)) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (!split_name(files[i], &h, &t) || !mt_str_equal(h, head) || !mt_str_equal(t, tail)) {
            return false;
        }
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    struct mt_str hx, hy, tail;
    (void)split_name(*x, &hx, &tail);
    (void)split_name(*y, &hy, &tail);
    unsigned long long m = strtoull(*x + hx.n, NULL, 10), n = strtoull(*y + hy.n, NULL, 10);
    return (m > n) - (m < n);
}

void mt_series_sort(char **files, size_t n)
{
    qsort(files, n, sizeof *files, by_number);
}

/* ---- reading ---- */

struct reading {
    struct mt_series *series;
    const struct mt_report *r;
    struct mt_intern names; /* of stacks; an id is an index in series.stacks + 1 */
};

static bool add_stack(struct reading *x, const struct mt_snapshot *s,
                      const struct mt_stack_sum *sum, size_t file)
{
    struct mt_series *out = x->series;
    struct mt_buf label = {0};
    mt_stack_label(&label, s, sum->stack, x->r);
    uint32_t id = label.failed ? 0 : mt_intern_put(&x->names, label.n ? label.p : "", label.n);
    mt_buf_release(&label);
    struct mt_series_stack fresh = {.since = file};
    if (!id || (id > out->stacks.n && !mt_vec_push(&out->stacks, fresh))) {
        return false;
    }
    struct mt_series_stack *k = &out->stacks.v[id - 1];
    k->name = mt_intern_get(&x->names, id);
    k->last = mt_add_sat(k->last, sum->bytes);
    k->first = file == 0 ? k->last : k->first;
    k->count += sum->count;
    return true;
}

/* What each stack holds in this file, against the one before. */
static bool add_stacks(struct reading *x, const struct mt_snapshot *s, size_t file,
                       struct mt_error *err)
{
    struct mt_series *out = x->series;
    struct mt_stack_sums sums;
    for (size_t i = 0; i < out->stacks.n; i++) {
        out->stacks.v[i].before = out->stacks.v[i].last;
        out->stacks.v[i].last = out->stacks.v[i].count = 0;
    }
    bool ok = mt_stack_sums_find(&sums, s, NULL, MT_ALL_DEVICES, err) == MT_OK;
    for (size_t i = 0; ok && i < sums.rows.n; i++) {
        ok = add_stack(x, s, &sums.rows.v[i], file);
    }
    mt_stack_sums_release(&sums);
    for (size_t i = 0; i < out->stacks.n; i++) {
        struct mt_series_stack *k = &out->stacks.v[i];
        k->since = k->last < k->before ? file : k->since;
    }
    return ok;
}

static enum mt_status add_snapshot(struct reading *x, const struct mt_snapshot *s, const char *file,
                                   struct mt_error *err)
{
    struct mt_series_point p = {.file = file, .us = MT_NO_TIME, .has_reserved = true};
    for (size_t i = 0; i < s->n_segments; i++) {
        p.reserved = mt_add_sat(p.reserved, s->segments[i].total_size);
        for (uint32_t k = 0; k < s->segments[i].n_blocks; k++) {
            const struct mt_block *b = &s->blocks[s->segments[i].first_block + k];
            p.live = mt_add_sat(p.live, b->state != MT_BLOCK_INACTIVE ? b->size : 0);
        }
    }
    for (size_t d = 0; d < s->n_traces; d++) {
        size_t last = s->traces[d].first + s->traces[d].n;
        int64_t us = s->traces[d].n ? s->events[last - 1].time_us : MT_NO_TIME;
        p.us = us > p.us ? us : p.us;
    }
    bool ok = add_stacks(x, s, x->series->points.n, err) && mt_vec_push(&x->series->points, p);
    return ok ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status add_logged(struct mt_series *out, const char *file, struct mt_error *err)
{
    struct mt_buf text = {0};
    struct mt_logged l = {0};
    enum mt_status status = mt_cli_logged_read(file, &text, &l, err);
    if (status == MT_OK && l.tables.n == 0) {
        status = mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "no figures of the allocator are in it");
    }
    if (status == MT_OK) {
        const struct mt_logged_table *t = &l.tables.v[l.tables.n - 1];
        const struct mt_logged_value *live =
            &t->cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL][MT_STAT_COLUMN_CURRENT];
        const struct mt_logged_value *reserved =
            &t->cells[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL][MT_STAT_COLUMN_CURRENT];
        struct mt_series_point p = {file, MT_NO_TIME, mt_logged_bytes(live),
                                    mt_logged_bytes(reserved), reserved->present};
        status = mt_vec_push(&out->points, p) ? MT_OK : mt_fail_nomem(err);
    }
    mt_logged_release(&l);
    mt_buf_release(&text);
    return status;
}

/* ---- what it says ---- */

static int64_t slope(uint64_t first, uint64_t last, size_t n)
{
    return n > 1 ? (int64_t)(last - first) / (int64_t)(n - 1) : 0;
}

/* It leaks when live memory never falls, and rises in all but a fourth of the steps from file to
 * file; a fall below where it began clears it. */
static const char *judge(const struct mt_series *x, uint64_t threshold)
{
    size_t rises = 0, falls = 0, n = x->points.n;
    for (size_t i = 1; i < n; i++) {
        rises += x->points.v[i].live > x->points.v[i - 1].live;
        falls += x->points.v[i].live < x->points.v[i - 1].live;
    }
    if (n < LEAST_FILES) {
        return "unknown";
    }
    bool grows = x->live_per_file > 0 && (uint64_t)x->live_per_file > threshold;
    if (grows && falls == 0 && 4 * rises >= 3 * (n - 1)) {
        return "leak";
    }
    return !grows ? "no_leak" : "unknown";
}

static int by_growth(const void *a, const void *b)
{
    const struct mt_series_stack *x = a, *y = b;
    uint64_t gx = x->last - x->first, gy = y->last - y->first;
    return (gx < gy) - (gx > gy);
}

static void conclude(struct mt_series *x, uint64_t threshold)
{
    size_t n = x->points.n, kept = 0;
    const struct mt_series_point *first = &x->points.v[0], *last = &x->points.v[n - 1];
    x->live_per_file = slope(first->live, last->live, n);
    x->reserved_per_file = slope(first->reserved, last->reserved, n);
    x->verdict = judge(x, threshold);
    for (size_t i = 0; i < x->stacks.n; i++) {
        if (x->stacks.v[i].last > x->stacks.v[i].first) {
            x->stacks.v[kept++] = x->stacks.v[i];
        }
    }
    x->stacks.n = kept;
    if (kept) {
        qsort(x->stacks.v, kept, sizeof *x->stacks.v, by_growth);
    }
}

/* ---- the report ---- */

static enum mt_status print_json(const struct mt_report *r, const struct mt_series *x,
                                 uint64_t threshold, struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "leaks/1");
    mt_put_text(&p, root, "verdict", x->verdict);
    mt_put_null(&p, root, "period");
    mt_put_i64(&p, root, "bytes_per_step", x->live_per_file);
    mt_put_i64(&p, root, "reserved_bytes_per_step", x->reserved_per_file);
    mt_put_u64(&p, root, "threshold_bytes_per_step", threshold);
    cJSON *list = mt_put_array(&p, root, "series");
    for (size_t i = 0; i < x->points.n; i++) {
        const struct mt_series_point *q = &x->points.v[i];
        cJSON *o = mt_put_object(&p, list, NULL);
        mt_put_text(&p, o, "file", q->file);
        mt_put_time(&p, o, "us", q->us);
        mt_put_u64(&p, o, "live_bytes", q->live);
        mt_put_known(&p, o, "reserved_bytes", q->has_reserved, q->reserved);
    }
    list = mt_put_array(&p, root, "stacks");
    for (size_t i = 0; i < x->stacks.n && (!r->limit || i < r->limit); i++) {
        const struct mt_series_stack *k = &x->stacks.v[i];
        cJSON *o = mt_put_object(&p, list, NULL);
        mt_put_i64(&p, o, "bytes_per_step", slope(k->first, k->last, x->points.n));
        mt_put_u64(&p, o, "live_bytes", k->last);
        mt_put_u64(&p, o, "count", k->count);
        mt_put_str(&p, o, "name", k->name);
        mt_put_text(&p, o, "since", x->points.v[k->since].file);
    }
    return mt_put_end(&p, r, root, false, err);
}

static void add_name(struct mt_table *t, const char *file)
{
    struct mt_buf b = {0};
    mt_text_safe(&b, mt_str_basename(mt_str_from(file)));
    mt_table_buf(t, &b);
    mt_buf_release(&b);
}

static enum mt_status print_stacks(const struct mt_report *r, const struct mt_series *x,
                                   struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    static const char *const TITLES[] = {"GROWTH", "ALIVE", "COUNT", "SINCE", "WHERE"};
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], i < 3 ? MT_RIGHT : MT_LEFT);
    }
    for (size_t i = 0; i < x->stacks.n && (!r->limit || i < r->limit); i++) {
        const struct mt_series_stack *k = &x->stacks.v[i];
        mt_table_delta(t, (int64_t)(k->last - k->first));
        mt_table_size(t, k->last);
        mt_table_count(t, k->count);
        add_name(t, x->points.v[k->since].file);
        mt_table_cell(t, "%s", k->name.p);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

static enum mt_status print_text(const struct mt_report *r, const struct mt_series *x,
                                 struct mt_error *err)
{
    bool leak = strcmp(x->verdict, "leak") == 0;
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    uint64_t change = (uint64_t)(x->live_per_file < 0 ? -x->live_per_file : x->live_per_file);
    struct mt_buf b = {0};
    if (x->live_per_file == 0) {
        mt_buf_text(&b, "is the same at the end as at the start");
    } else {
        mt_buf_printf(&b, "%s by %s a file", x->live_per_file < 0 ? "falls" : "grows",
                      mt_report_size(r, change).s);
    }
    mt_report_line(r, 2, "%s%s: live memory %s over %zu files of one process%s",
                   mt_color_begin(r, leak ? MT_COLOR_BAD : MT_COLOR_HEAD),
                   leak                                 ? "Leak"
                   : strcmp(x->verdict, "no_leak") == 0 ? "No leak"
                                                        : "Unknown",
                   mt_buf_view(&b).p, x->points.n, mt_color_end(r));
    mt_buf_release(&b);
    fputc('\n', r->out);
    static const char *const TITLES[] = {"LIVE", "CHANGE", "RESERVED", "CHANGE", "FILE"};
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], i < 4 ? MT_RIGHT : MT_LEFT);
    }
    for (size_t i = 0; i < x->points.n; i++) {
        const struct mt_series_point *q = &x->points.v[i], *before = i ? q - 1 : q;
        mt_table_size(t, q->live);
        i ? mt_table_delta(t, (int64_t)(q->live - before->live)) : mt_table_cell(t, "%s", "");
        q->has_reserved ? mt_table_size(t, q->reserved) : mt_table_cell(t, "%s", "");
        i ? mt_table_delta(t, (int64_t)(q->reserved - before->reserved))
          : mt_table_cell(t, "%s", "");
        add_name(t, q->file);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (status == MT_OK && x->stacks.n) {
        fputc('\n', r->out);
        status = print_stacks(r, x, err);
    }
    return status;
}

/* ---- the call ---- */

static int read_file(struct mt_cli *cli, const struct mt_common *common, struct reading *x,
                     const char *file)
{
    struct mt_error err;
    struct mt_snapshot s;
    enum mt_status status;
    if (mt_cli_is_logged(file)) {
        status = add_logged(x->series, file, &err);
        return status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
    }
    int code = mt_cli_load(cli, common, file, &s);
    if (code != 0 && code != 4) {
        return code;
    }
    status = add_snapshot(x, &s, file, &err);
    mt_snapshot_release(&s);
    return status == MT_OK ? code : mt_cli_fail(cli, file, &err);
}

int mt_series_run(struct mt_cli *cli, const struct mt_common *common, uint64_t threshold,
                  char **files, size_t n)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_series series = {.verdict = "unknown"};
    struct reading x = {.series = &series, .r = &r};
    int code = mt_cli_report_begin(cli, common, NULL, &r, &o), worst = 0;
    if (code) {
        return code;
    }
    mt_intern_init(&x.names, &series.arena, cli->hash_seed);
    for (size_t i = 0; i < n && (worst == 0 || worst == 4); i++) {
        code = read_file(cli, common, &x, files[i]);
        worst = code > worst ? code : worst;
    }
    if (worst == 0 || worst == 4) {
        conclude(&series, threshold);
        enum mt_status status =
            r.json ? print_json(&r, &series, threshold, &err) : print_text(&r, &series, &err);
        worst = status == MT_OK ? worst : mt_cli_fail(cli, NULL, &err);
    }
    mt_intern_release(&x.names);
    mt_arena_release(&series.arena);
    mt_vec_release(&series.points);
    mt_vec_release(&series.stacks);
    return mt_cli_report_end(cli, &o, worst);
}
