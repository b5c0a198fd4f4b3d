/* SPDX-License-Identifier: MIT */
/*
 * Every format, plain and as people paste it: behind prefixes, wrapped at any column, quoted, with
 * colours and CRLF, between lines of noise, in pieces of any size. None of that may change the
 * verdict or a number.
 */
#include <stdlib.h>

#include "triage/triage.h"
#include "support/units.h"

#include "triage/log/log_formats.h"
#include "triage/log/log_lines.h"

#include "unit.h"

struct oom_case {
    const char *text;
    enum mt_verdict verdict;
    const char *numbers;
};

static const struct oom_case CASES[] = {
#define CASE(text, verdict, numbers) {text, MT_VERDICT_##verdict, numbers},
#include "oom_cases.def"
#undef CASE
};

/* ---- comparing ---- */

static enum mt_oom_field field_of(char name)
{
    static const char NAMES[] = "TFNPARUVLOX";
    const char *at = strchr(NAMES, name);
    ck_assert_ptr_nonnull(at);
    return (enum mt_oom_field)(at - NAMES);
}

static bool has_number(const struct mt_triage_result *r, const char *item, size_t n)
{
    uint64_t want;
    enum mt_oom_field f = field_of(item[0]);
    ck_assert(mt_size_parse((struct mt_str){item + 2, n - 2}, &want));
    for (size_t i = 0; i < r->n_incidents; i++) {
        const struct mt_oom_numbers *x = &r->incidents[i].numbers;
        uint64_t distance = x->v[f] > want ? x->v[f] - want : want - x->v[f];
        if (mt_oom_has(x, f) && distance <= 2 + want / 1000000) {
            return true;
        }
    }
    return false;
}

/* What is wrong with the result, appended to *wrong. */
static void compare(const struct oom_case *c, const struct mt_triage_result *r,
                    struct mt_buf *wrong)
{
    if (r->verdict != c->verdict) {
        mt_buf_printf(wrong, "%s, not %s: %.70s\n", mt_verdict_id(r->verdict),
                      mt_verdict_id(c->verdict), c->text);
    }
    for (const char *item = c->numbers; *item;) {
        size_t n = strcspn(item, " ");
        if (!has_number(r, item, n)) {
            mt_buf_printf(wrong, "no %.*s: %.70s\n", (int)n, item, c->text);
        }
        item += n + (item[n] == ' ');
    }
}

static void triage(const struct oom_case *c, const struct mt_buf *log, size_t chunk,
                   struct mt_buf *wrong)
{
    struct mt_triage_options options = {0};
    struct mt_triage_result r;
    struct mt_error err;
    struct mt_triage *t = mt_triage_new(&options);
    ck_assert_ptr_nonnull(t);
    for (size_t at = 0; at < log->n; at += chunk) {
        size_t n = chunk < log->n - at ? chunk : log->n - at;
        ck_assert_int_eq(mt_triage_feed(t, log->p + at, n, &err), MT_OK);
    }
    ck_assert_int_eq(mt_triage_end(t, &err), MT_OK);
    ck_assert_int_eq(mt_triage_decide(t, &r, &err), MT_OK);
    compare(c, &r, wrong);
    mt_triage_free(t);
}

static void triage_all(const char *dress_name, void (*dress)(struct mt_buf *out, const char *text),
                       size_t chunk)
{
    struct mt_buf log = {0}, wrong = {0};
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        mt_buf_reset(&log);
        dress(&log, CASES[i].text);
        ck_assert(!log.failed);
        triage(&CASES[i], &log, chunk, &wrong);
    }
    mt_buf_release(&log);
    ck_assert_msg(wrong.n == 0, "%s:\n%.3000s", dress_name, wrong.p);
    mt_buf_release(&wrong);
}

/* ---- dresses ---- */

static void plain(struct mt_buf *out, const char *text)
{
    mt_buf_text(out, text);
}

static void each_line(struct mt_buf *out, const char *text, const char *before, const char *after)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        mt_buf_text(out, before);
        mt_buf_add(out, text, n);
        mt_buf_text(out, after);
        text += n + (text[n] == '\n');
    }
}

/* A terminal of `width` columns breaks lines anywhere, also in words. */
static void wrap_at(struct mt_buf *out, const char *text, size_t width)
{
    size_t column = 0;
    for (; *text; text++) {
        if (*text == '\n' || column == width) {
            mt_buf_char(out, '\n');
            column = 0;
        }
        if (*text != '\n') {
            mt_buf_char(out, *text);
            column++;
        }
    }
}

static void with_rank(struct mt_buf *out, const char *text)
{
    each_line(out, text, "2025-03-04 05:06:07,891 [rank3]: ", "\n");
}

static void with_worker(struct mt_buf *out, const char *text)
{
    each_line(out, text, "(EngineCore_0 pid=2421) ERROR 10-14 12:32:47 [core.py:233] ", "\r\n");
}

static void with_label(struct mt_buf *out, const char *text)
{
    each_line(out, text, "12: ", "\n");
}

static void with_logger(struct mt_buf *out, const char *text)
{
    each_line(out, text, "2025-02-03 04:05:06,789 - __main__ - ERROR - ", "\n");
}

/* The terminal wrapped what had a prefix: only the first piece has one. */
static void prefixed_then_wrapped(struct mt_buf *out, const char *text)
{
    struct mt_buf first = {0};
    with_rank(&first, text);
    wrap_at(out, first.p, 90);
    mt_buf_release(&first);
}

static void quoted(struct mt_buf *out, const char *text)
{
    mt_buf_text(out, "```\n");
    each_line(out, text, "> ", "\n");
    mt_buf_text(out, "```\n");
}

static void coloured(struct mt_buf *out, const char *text)
{
    each_line(out, text, "\033[0;31m", "\033[0m\n");
}

static void in_html(struct mt_buf *out, const char *text)
{
    mt_buf_text(out, "<table><tr><td class=\"log\">\n");
    each_line(out, text, "<span>", "</span><br/>\n");
    mt_buf_text(out, "</td></tr></table>\n");
}

static void compose(struct mt_buf *out, const char *text)
{
    each_line(out, text, "trainer-1  | ", "\n");
}

static void noisy(struct mt_buf *out, const char *text)
{
    for (int i = 0; i < 500; i++) {
        mt_buf_printf(out, "epoch 1 step %d: loss %d.%d, it/s 3.%d\n", i, i % 7, i % 97, i % 10);
    }
    mt_buf_text(out, "Traceback (most recent call last):\n  File \"a.py\", line 3, in main\n");
    mt_buf_text(out, text);
    mt_buf_text(out, "\nclosing files\n");
    for (int i = 0; i < 200; i++) {
        mt_buf_printf(out, "background thread %d: nothing to report, queue is empty\n", i);
    }
}

static void wrapped_80(struct mt_buf *out, const char *text)
{
    wrap_at(out, text, 80);
}

static void wrapped_57(struct mt_buf *out, const char *text)
{
    wrap_at(out, text, 57);
}

static void wrapped_120(struct mt_buf *out, const char *text)
{
    wrap_at(out, text, 120);
}

static void json_line(struct mt_buf *out, const char *text)
{
    mt_buf_text(out, "{\"level\":\"error\",\"message\":\"");
    for (; *text; text++) {
        if (*text == '\n') {
            mt_buf_text(out, "\\n");
        } else if (*text == '"') {
            mt_buf_text(out, "\\\"");
        } else {
            mt_buf_char(out, *text);
        }
    }
    mt_buf_text(out, "\"}\n");
}

static void utf16(struct mt_buf *out, const char *text)
{
    mt_buf_add(out, "\xff\xfe", 2);
    for (; *text; text++) {
        mt_buf_add(out, text, 1);
        mt_buf_add(out, "", 1);
    }
}

START_TEST(as_printed)
{
    triage_all("plain", plain, SIZE_MAX / 2);
}
END_TEST

START_TEST(behind_prefixes)
{
    triage_all("with_rank", with_rank, SIZE_MAX / 2);
    triage_all("with_worker", with_worker, SIZE_MAX / 2);
    triage_all("compose", compose, SIZE_MAX / 2);
    triage_all("with_label", with_label, SIZE_MAX / 2);
    triage_all("with_logger", with_logger, SIZE_MAX / 2);
    triage_all("prefixed_then_wrapped", prefixed_then_wrapped, SIZE_MAX / 2);
}
END_TEST

START_TEST(quoted_and_coloured)
{
    triage_all("quoted", quoted, SIZE_MAX / 2);
    triage_all("coloured", coloured, SIZE_MAX / 2);
    triage_all("in_html", in_html, SIZE_MAX / 2);
    triage_all("json_line", json_line, SIZE_MAX / 2);
    triage_all("utf16", utf16, 1021);
}
END_TEST

START_TEST(wrapped)
{
    triage_all("wrapped_80", wrapped_80, SIZE_MAX / 2);
    triage_all("wrapped_57", wrapped_57, SIZE_MAX / 2);
    triage_all("wrapped_120", wrapped_120, SIZE_MAX / 2);
}
END_TEST

START_TEST(between_noise_and_in_pieces)
{
    triage_all("noisy", noisy, 4093);
    triage_all("plain", plain, 1);
    triage_all("wrapped_80", wrapped_80, 7);
}
END_TEST

START_TEST(every_row_has_a_case)
{
    struct mt_buf tight = {0};
    for (size_t i = 0; i < MT_LOG_FORMATS_N; i++) {
        const struct mt_log_format *f = &MT_LOG_FORMATS[i];
        bool found = false;
        for (size_t c = 0; c < MT_COUNT(CASES) && !found; c++) {
            mt_buf_reset(&tight);
            mt_log_squeeze(&tight, mt_str_from(CASES[c].text));
            struct mt_str text = mt_buf_view(&tight);
            found = mt_str_find(text, f->phrase) != SIZE_MAX &&
                    (!f->needs || mt_str_find(text, mt_str_from(f->needs)) != SIZE_MAX) &&
                    (!f->unless || mt_str_find(text, mt_str_from(f->unless)) == SIZE_MAX);
        }
        ck_assert_msg(found, "no case for %s: %s", f->id, f->phrase.p);
    }
    mt_buf_release(&tight);
}
END_TEST

UNIT_MAIN("log_formats", as_printed, behind_prefixes, quoted_and_coloured, wrapped,
          between_noise_and_in_pieces, every_row_has_a_case)
