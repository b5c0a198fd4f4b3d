/* SPDX-License-Identifier: MIT */
/*
 * Every size that WHY and the steps print stands in the log, or is a sum or difference of sizes
 * that do: nothing is invented. Walks all messages of oom_cases.def and the logs of testdata.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "triage/log/log_lines.h"
#include "triage/log/log_number.h"
#include "triage/triage.h"

#include "unit.h"

enum { MOST = 4000 };

struct sizes {
    double v[MOST];
    size_t n;
};

static const char *const CASES[] = {
#define CASE(text, verdict, numbers) text,
#include "oom_cases.def"
#undef CASE
};

/* What the program itself knows: PyTorch's segments, and a context's size in words. */
static const double CONSTANTS[] = {1 << 20,  2 << 20, 10 << 20, 20 << 20,
                                   64 << 20, 1 << 29, 1 << 30};

static void add(struct sizes *s, double bytes)
{
    if (bytes > 0 && s->n < MOST) {
        s->v[s->n++] = bytes;
    }
}

/* All sizes with a unit in a text, and, where `bare`, numbers that may be bytes, MiB or GiB. */
static void collect(struct sizes *s, struct mt_str text, bool bare)
{
    struct mt_buf tight = {0};
    mt_log_squeeze(&tight, text);
    struct mt_str all = mt_buf_view(&tight);
    for (size_t i = 0; i < all.n; i++) {
        bool begins =
            all.p[i] >= '0' && all.p[i] <= '9' && (i == 0 || !strchr("0123456789.,", all.p[i - 1]));
        struct mt_str rest = {all.p + i, all.n - i};
        struct mt_log_size size =
            begins ? mt_log_size_at(rest, bare ? MT_LOG_B : 0) : (struct mt_log_size){0};
        if (size.length == 0 || size.bytes >= MT_LOG_NONSENSE) {
            continue;
        }
        if (bare || size.bytes >= 512) { /* "1 byte a parameter" */
            add(s, (double)size.bytes);
        }
        if (!size.has_unit) {
            add(s, (double)mt_log_size_at(rest, MT_GIB).bytes);
            add(s, (double)mt_log_size_at(rest, MT_MIB).bytes);
        }
    }
    mt_buf_release(&tight);
}

static bool alike(double printed, double known)
{
    double apart = printed > known ? printed - known : known - printed;
    return apart <= 0.006 * printed + (printed > (double)MT_GIB ? 16e6 : 6e4);
}

static bool is_explained(const struct sizes *known, double printed)
{
    for (size_t i = 0; i < MT_COUNT(CONSTANTS); i++) {
        if (alike(printed, CONSTANTS[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < known->n; i++) {
        double a = known->v[i];
        for (size_t k = 0; k <= i; k++) {
            double b = known->v[k], apart = a > b ? a - b : b - a;
            if (alike(printed, a) || alike(printed, apart) || alike(printed, a + b) ||
                alike(printed, b / 2)) {
                return true;
            }
        }
    }
    return false;
}

/* What the request lacked to a limit: held and asked for, less the limit. */
static bool is_excess(const struct sizes *known, size_t events, double printed)
{
    for (size_t i = 0; i < events; i++) {
        for (size_t k = 0; k < events; k++) {
            for (size_t l = 0; l < events; l++) {
                if (alike(printed, known->v[i] + known->v[k] - known->v[l])) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void check(const struct sizes *known, size_t events, struct mt_str said, const char *where,
                  struct mt_buf *wrong)
{
    struct sizes printed = {.n = 0};
    collect(&printed, said, false);
    for (size_t i = 0; i < printed.n; i++) {
        if (!is_explained(known, printed.v[i]) && !is_excess(known, events, printed.v[i])) {
            mt_buf_printf(wrong, "%.40s: %.1f MiB in \"%.*s\"\n", where, printed.v[i] / 1048576,
                          (int)(said.n < 160 ? said.n : 160), said.p);
        }
    }
}

/* The figures of the event count as known: other tests compare them with the log. */
static void know_events(struct sizes *known, const struct mt_triage_result *r)
{
    for (size_t i = 0; i < r->n_incidents; i++) {
        for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
            add(known, (double)mt_oom_get(&r->incidents[i].numbers, (enum mt_oom_field)f));
        }
        const struct mt_oom_numbers *n = &r->incidents[i].numbers;
        add(known, (double)mt_oom_get(n, MT_OOM_ALLOCATED) + (double)mt_oom_get(n, MT_OOM_OUTSIDE) +
                       (double)mt_oom_get(n, MT_OOM_REQUESTED) - /* over what it may take */
                       (double)mt_oom_get(n, MT_OOM_TOTAL));
        for (int hundredths = 1; hundredths <= 20; hundredths++) { /* a smaller share of the card */
            add(known, hundredths * (double)mt_oom_get(n, MT_OOM_TOTAL) / 100);
        }
    }
    for (size_t i = 0; i < r->n_series; i++) {
        add(known, r->series[i].bytes_per_step);
        add(known, (double)r->series[i].first);
        add(known, (double)r->series[i].last);
    }
}

static void walk(struct mt_str log, const char *where, struct mt_buf *wrong)
{
    struct mt_triage_options options = {0};
    struct mt_triage_result r;
    struct mt_error err;
    static struct sizes known;
    struct mt_triage *t = mt_triage_new(&options);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(mt_triage_feed(t, log.p, log.n, &err), MT_OK);
    ck_assert_int_eq(mt_triage_end(t, &err), MT_OK);
    ck_assert_int_eq(mt_triage_decide(t, &r, &err), MT_OK);
    known.n = 0;
    know_events(&known, &r);
    size_t events = known.n;
    collect(&known, (struct mt_str){log.p, log.n < 4000 ? log.n : 4000}, true);
    for (size_t i = 0; i < r.n_evidence; i++) {
        check(&known, events, r.evidence[i], where, wrong);
    }
    for (size_t i = 0; i < r.n_advice; i++) {
        if (strcmp(r.advice[i].id, "larger_shm") != 0) { /* Docker's default */
            check(&known, events, r.advice[i].why, where, wrong);
        }
    }
    mt_triage_free(t);
}

START_TEST(of_every_message)
{
    struct mt_buf wrong = {0};
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        walk(mt_str_from(CASES[i]), CASES[i], &wrong);
    }
    ck_assert_msg(wrong.n == 0, "%.3000s", wrong.p);
    mt_buf_release(&wrong);
}
END_TEST

static void walk_folder(const char *below, struct mt_buf *wrong)
{
    char folder[300], path[600];
    const char *testdata = getenv("TESTDATA") ? getenv("TESTDATA") : "testdata";
    (void)snprintf(folder, sizeof folder, "%.200s/%s", testdata, below);
    DIR *entries = opendir(folder);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *e; (e = readdir(entries)) != NULL;) {
        struct mt_buf log = {0};
        if (!mt_str_ends(mt_str_from(e->d_name), MT_STR(".log"))) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *in = fopen(path, "rb");
        ck_assert_ptr_nonnull(in);
        for (int c; (c = fgetc(in)) != EOF;) {
            mt_buf_char(&log, (char)c);
        }
        fclose(in);
        walk(mt_buf_view(&log), e->d_name, wrong);
        mt_buf_release(&log);
    }
    closedir(entries);
}

START_TEST(of_every_log)
{
    struct mt_buf wrong = {0};
    walk_folder("logs", &wrong);
    walk_folder("logs/programs", &wrong);
    ck_assert_msg(wrong.n == 0, "%.3000s", wrong.p);
    mt_buf_release(&wrong);
}
END_TEST

UNIT_MAIN("triage_figures", of_every_message, of_every_log)
