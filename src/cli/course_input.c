/* SPDX-License-Identifier: MIT */
/* Moments of one process, told by the numbers in the names of files. */
#include "cli/course_input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
#include "cli/logged_input.h"
#include "print/course_report.h"

/* ---- numbers in names ---- */

enum { MOST_NUMBERS = 24, LONGEST_NUMBER = 19 };

/* A path as its numbers and what stands before each and behind the last. */
struct name {
    struct mt_str before[MOST_NUMBERS + 1];
    uint64_t number[MOST_NUMBERS];
    size_t n;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool split(const char *path, struct name *out)
{
    const char *at = path;
    *out = (struct name){0};
    for (const char *p = path; *p;) {
        if (!is_digit(*p)) {
            p++;
            continue;
        }
        const char *end = p;
        while (is_digit(*end)) {
            end++;
        }
        if (out->n == MOST_NUMBERS || end - p > LONGEST_NUMBER) {
            return false;
        }
        out->before[out->n] = (struct mt_str){at, (size_t)(p - at)};
        out->number[out->n++] = strtoull(p, NULL, 10);
        at = p = end;
    }
    out->before[out->n] = mt_str_from(at);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the word right before a number is one of these, whatever stands before it: "mem_rank". */
static bool follows(struct mt_str before, const char *const *words, size_t n)
{
    before.n -= before.n && strchr("_-.=", before.p[before.n - 1]);
    for (size_t i = 0; i < n; i++) {
        struct mt_str word = mt_str_from(words[i]);
        bool whole = before.n == word.n ||
                     (before.n > word.n && !is_letter(before.p[before.n - word.n - 1]));
        if (whole && mt_str_ends(before, word)) {
            return true;
        }
    }
    return false;
}

static bool counts_moments(struct mt_str before)
{
    static const char *const WORDS[] = {"it",   "iter",  "iteration", "iterations",
                                        "step", "epoch", "time"};
    return follows(before, WORDS, MT_COUNT(WORDS));
}

static bool names_process(struct mt_str before)
{
    static const char *const WORDS[] = {"rank", "pid", "proc", "worker"};
    return follows(before, WORDS, MT_COUNT(WORDS));
}

/* Which differ between processes, not between moments of one. */
static bool names_place(struct mt_str before)
{
    static const char *const WORDS[] = {"node", "host", "gpu", "device", "cuda",
                                        "tp",   "pp",   "dp",  "ep",     "cp"};
    return names_process(before) || follows(before, WORDS, MT_COUNT(WORDS));
}

static int by_numbers(const void *a, const void *b)
{
    struct name x, y;
    (void)split(*(const char *const *)a, &x);
    (void)split(*(const char *const *)b, &y);
    for (size_t i = 0; i < x.n && i < y.n; i++) {
        if (x.number[i] != y.number[i]) {
            return x.number[i] < y.number[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Marks in `differs` the numbers in which a name differs from the first; false where more than
 * numbers differ. */
static bool compare(const struct name *first, const char *path, bool *differs)
{
    struct name x;
    if (!split(path, &x) || x.n != first->n) {
        return false;
    }
    for (size_t i = 0; i <= x.n; i++) {
        if (!mt_str_equal(x.before[i], first->before[i])) {
            return false;
        }
        differs[i] |= i < x.n && x.number[i] != first->number[i];
    }
    return true;
}

enum mt_course_told mt_course_names(char **files, size_t n)
{
    struct name first;
    bool differs[MOST_NUMBERS + 1] = {0}, moments = false, process = false, any = false;
    if (n < MT_COURSE_FILES || !split(files[0], &first)) {
        return MT_COURSE_TOLD_NO;
    }
    for (size_t i = 1; i < n; i++) {
        if (!compare(&first, files[i], differs)) {
            return MT_COURSE_TOLD_NO;
        }
    }
    for (size_t i = 0; i < first.n; i++) {
        if (differs[i] && names_place(first.before[i])) {
            return MT_COURSE_TOLD_NO;
        }
        any |= differs[i];
        moments |= differs[i] && counts_moments(first.before[i]);
        process |= !differs[i] && names_process(first.before[i]);
    }
    if (!any || (!moments && !process)) {
        return MT_COURSE_TOLD_NO;
    }
    qsort(files, n, sizeof *files, by_numbers);
    return moments ? MT_COURSE_TOLD_MOMENT : MT_COURSE_TOLD_PROCESS;
}

/* ---- reading ---- */

static bool is_open(const struct mt_course_call *call)
{
    return !call->filter || mt_filter_is_open(call->filter);
}

static int read_logged(struct mt_cli *cli, const struct mt_course_call *call, const char *file,
                       struct mt_course *out)
{
    struct mt_error err;
    struct mt_buf text = {0};
    struct mt_logged l = {0};
    enum mt_status status =
        is_open(call) ? mt_cli_logged_read(file, &text, &l, &err) : mt_cli_logged_unfiltered(&err);
    if (status == MT_OK) {
        status = mt_course_add_logged(out, &l, file, &err);
    }
    mt_logged_release(&l);
    mt_buf_release(&text);
    return status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
}

static enum mt_status add_snapshot(const struct mt_course_call *call, struct mt_report *r,
                                   const struct mt_snapshot *s, const char *file,
                                   struct mt_course *out, struct mt_error *err)
{
    struct mt_filtered f = {0};
    if (is_open(call)) {
        return mt_course_add_snapshot(out, s, NULL, file, mt_course_stack_label, r, err);
    }
    enum mt_status status = mt_filtered_init(&f, call->filter, s, err);
    if (status == MT_OK) {
        status = mt_course_add_snapshot(out, s, &f, file, mt_course_stack_label, r, err);
    }
    mt_filtered_release(&f);
    return status;
}

static int read_file(struct mt_cli *cli, const struct mt_common *common,
                     const struct mt_course_call *call, struct mt_report *r, const char *file,
                     struct mt_course *out)
{
    struct mt_error err;
    struct mt_snapshot s;
    if (mt_cli_is_logged(file)) {
        return read_logged(cli, call, file, out);
    }
    int code = mt_cli_load(cli, common, file, &s);
    if (code != 0 && code != 4) {
        return code;
    }
    enum mt_status status = add_snapshot(call, r, &s, file, out, &err);
    mt_snapshot_release(&s);
    return status == MT_OK ? code : mt_cli_fail(cli, file, &err);
}

static bool is_whole(int code)
{
    return code == 0 || code == 4;
}

/* Whether the moments that have a time come one after the other. */
static bool in_time(const struct mt_course *c)
{
    int64_t before = MT_NO_TIME;
    for (size_t i = 0; i < c->points.n; i++) {
        int64_t us = c->points.v[i].us;
        if (us != MT_NO_TIME && before != MT_NO_TIME && us <= before) {
            return false;
        }
        before = us != MT_NO_TIME ? us : before;
    }
    return true;
}

static int print(struct mt_cli *cli, const struct mt_report *r, const struct mt_course *c,
                 const struct mt_course_call *call)
{
    struct mt_error err;
    enum mt_status status = r->json ? mt_report_course_json(r, c, call->judged, false, &err)
                                    : mt_report_course_text(r, c, call->judged, &err);
    return status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
}

bool mt_cli_course(struct mt_cli *cli, const struct mt_common *common, char **files, size_t n,
                   const struct mt_course_call *call, int *code)
{
    enum mt_course_told told = call->must ? MT_COURSE_TOLD_MOMENT : mt_course_names(files, n);
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_course c;
    if (n < 2 || told == MT_COURSE_TOLD_NO) {
        return false;
    }
    *code = mt_cli_report_begin(cli, common, NULL, &r, &o);
    if (*code) {
        return true;
    }
    mt_course_init(&c, cli->hash_seed);
    for (size_t i = 0; i < n && is_whole(*code); i++) {
        int one = read_file(cli, common, call, &r, files[i], &c);
        *code = one > *code ? one : *code;
    }
    bool is = told == MT_COURSE_TOLD_MOMENT || !is_whole(*code) || in_time(&c);
    if (is && is_whole(*code)) {
        mt_course_conclude(&c, call->threshold);
        int printed = print(cli, &r, &c, call);
        *code = printed ? printed : *code;
    }
    mt_course_release(&c);
    is ? (void)(*code = mt_cli_report_end(cli, &o, *code)) : mt_cli_output_abandon(&o);
    return is;
}
