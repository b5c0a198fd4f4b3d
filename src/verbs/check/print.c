/* SPDX-License-Identifier: MIT */
/* The outcome of budgets in one line, in detail, as JSON and as JUnit XML. */
#include "verbs/check/print.h"
#include "print/report_json.h"

#include <inttypes.h>

#include "print/report_json.h"

bool mt_check_ok(const struct mt_check_outcome *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (!o->results[i].ok) {
            return false;
        }
    }
    return !o->error;
}

/* ---- a rule in words ---- */

static void say_bytes(struct mt_buf *b, const struct mt_report *r, const char *what,
                      const struct mt_budget_result *x)
{
    if (x->ok) {
        mt_buf_printf(b, "%s %s of %s", what, mt_report_size(r, x->found).s,
                      mt_report_size(r, x->limit).s);
    } else {
        mt_buf_printf(b, "%s %s is %s over %s %s", what, mt_report_size(r, x->found).s,
                      mt_report_size(r, x->found - x->limit).s, mt_budget_rule_option(x->rule),
                      mt_report_size(r, x->limit).s);
    }
}

static void say_growth(struct mt_buf *b, const struct mt_report *r,
                       const struct mt_budget_result *x)
{
    mt_buf_printf(b, "peak %s against the base, %s %s allowed",
                  mt_report_delta(r, x->found_signed).s, x->ok ? "up to" : "only",
                  mt_report_delta(r, (int64_t)x->limit).s);
}

static void say_leak(struct mt_buf *b, const struct mt_report *r, const struct mt_budget_result *x)
{
    if (x->is_unknown) {
        mt_buf_printf(b, "leaks not known, memtool leaks says why%s",
                      x->ok ? "; --strict makes that fail" : "");
    } else if (x->ok) {
        mt_buf_text(b, "no leak");
    } else {
        mt_buf_printf(b, "live memory rises by %s %s", mt_report_size(r, x->found).s,
                      x->by_prints ? "from print to print" : "per step");
    }
}

/* Both speak of steps after warm-up. */
static void say_price(struct mt_buf *b, const struct mt_budget_result *x)
{
    bool hits = x->rule == MT_BUDGET_MIN_HITS;
    if (x->is_unknown) {
        mt_buf_printf(b, "%s not known: no steps were found%s", hits ? "hits" : "driver calls",
                      x->ok ? "; --strict makes that fail" : "");
    } else if (hits) {
        mt_buf_printf(b, "hits %.1f %% %s %.1f %%", 100 * x->found_ratio,
                      x->ok ? "of at least" : "are under --min-hits", 100 * x->limit_ratio);
    } else {
        mt_buf_printf(b, x->ok ? "%s in a step, %s allowed" : "%s in a step, only %s allowed",
                      mt_counted_text(x->found, "driver call").s, mt_count_text(x->limit).s);
    }
}

void mt_check_say(struct mt_buf *b, const struct mt_report *r, const struct mt_budget_result *x)
{
    if (x->is_missing) {
        mt_buf_printf(b, "%s not known: the file does not tell it%s",
                      mt_budget_rule_option(x->rule) + 2,
                      x->ok ? "; --strict makes that fail" : "");
        return;
    }
    switch (x->rule) {
    case MT_BUDGET_MAX_PEAK: say_bytes(b, r, "peak", x); break;
    case MT_BUDGET_MAX_RESERVED: say_bytes(b, r, "reserved", x); break;
    case MT_BUDGET_HISTORY:
        if (x->is_unknown) {
            mt_buf_printf(b, "peak %s is the first of its history", mt_report_size(r, x->found).s);
        } else {
            mt_buf_printf(b, "peak %s, the history allows %s", mt_report_size(r, x->found).s,
                          mt_report_size(r, x->limit).s);
        }
        break;
    case MT_BUDGET_MAX_GROWTH: say_growth(b, r, x); break;
    case MT_BUDGET_MIN_HITS:
    case MT_BUDGET_MAX_DRIVER_CALLS: say_price(b, x); break;
    case MT_BUDGET_MAX_FRAG:
        mt_buf_printf(b, "cut up %.1f %% %s %.1f %%", 100 * x->found_ratio,
                      x->ok ? "of" : "is over --max-frag", 100 * x->limit_ratio);
        break;
    case MT_BUDGET_NO_OOM:
        if (x->ok) {
            mt_buf_text(b, "no out-of-memory");
        } else {
            mt_buf_text(b, "ran out of memory ");
            mt_buf_printf(b, x->found == 1 ? "once" : "%" PRIu64 " times", x->found);
        }
        break;
    default: say_leak(b, r, x);
    }
}

/* ---- text ---- */

/* "FILE: ok (peak ..., no out-of-memory)"; when broken, only what is. */
enum mt_status mt_report_check_text(const struct mt_report *r, const struct mt_check_outcome *o,
                                    struct mt_error *err)
{
    struct mt_buf b = {0};
    bool ok = mt_check_ok(o);
    mt_text_safe(&b, mt_str_from(o->file));
    mt_buf_printf(&b, ": %s%s%s", mt_color_begin(r, ok ? MT_COLOR_GOOD : MT_COLOR_BAD),
                  ok ? "ok" : "over budget", mt_color_end(r));
    const char *before = ok ? " (" : ": ";
    for (size_t i = 0; i < o->n; i++) {
        if (ok || !o->results[i].ok) {
            mt_buf_text(&b, before);
            mt_check_say(&b, r, &o->results[i]);
            before = ", ";
        }
    }
    mt_buf_text(&b, ok ? ")" : "");
    bool failed = b.failed;
    mt_report_line(r, 2, "%s", mt_buf_view(&b).p);
    for (size_t i = 0; r->verbose && i < o->n; i++) {
        mt_buf_reset(&b);
        mt_check_say(&b, r, &o->results[i]);
        failed |= b.failed;
        mt_report_line(r, 9, "  %-6s %-18s %s",
                       !o->results[i].ok          ? "broken"
                       : o->results[i].is_unknown ? "open"
                                                  : "ok",
                       mt_budget_rule_option(o->results[i].rule), mt_buf_view(&b).p);
    }
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

/* ---- JSON ---- */

static void put_number(struct mt_out o, const char *key, const struct mt_budget_result *x,
                       bool limit)
{
    if (x->is_unknown && !limit) {
        mt_out_null(o, key);
    } else if (x->is_ratio) {
        mt_out_f64(o, key, limit ? x->limit_ratio : x->found_ratio);
    } else if (x->is_signed && !limit) {
        mt_out_i64(o, key, x->found_signed);
    } else {
        mt_out_u64(o, key, limit ? x->limit : x->found);
    }
}

enum mt_status mt_report_check_json(const struct mt_report *r, const struct mt_check_outcome *o,
                                    bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "check/1", one_line);
    mt_out_bool(root, "ok", mt_check_ok(o));
    mt_out_text(root, "base", o->base);
    struct mt_out results = mt_out_array(root, "results");
    for (size_t i = 0; i < o->n; i++) {
        const struct mt_budget_result *x = &o->results[i];
        struct mt_out one = mt_out_object(results, NULL);
        mt_out_text(one, "rule", mt_budget_rule_name(x->rule));
        put_number(one, "limit", x, true);
        put_number(one, "found", x, false);
        mt_out_bool(one, "ok", x->ok);
    }
    return mt_report_json_end(root, err);
}

/* ---- JUnit ---- */

/* Text for an attribute. mt_text_safe leaves no control characters, which XML does not allow. */
static void xml_text(struct mt_buf *out, struct mt_str text)
{
    struct mt_buf safe = {0};
    mt_text_safe(&safe, text);
    for (size_t i = 0; i < safe.n; i++) {
        switch (safe.p[i]) {
        case '&': mt_buf_text(out, "&amp;"); break;
        case '<': mt_buf_text(out, "&lt;"); break;
        case '>': mt_buf_text(out, "&gt;"); break;
        case '"': mt_buf_text(out, "&quot;"); break;
        default: mt_buf_char(out, safe.p[i]);
        }
    }
    out->failed |= safe.failed;
    mt_buf_release(&safe);
}

static void xml_attribute(struct mt_buf *b, const char *name, struct mt_str text)
{
    mt_buf_printf(b, " %s=\"", name);
    xml_text(b, text);
    mt_buf_char(b, '"');
}

static void junit_case(struct mt_buf *b, const struct mt_check_outcome *o,
                       const struct mt_budget_result *x)
{
    static const struct mt_report plain = {.size = {MT_UNIT_AUTO, true}};
    struct mt_buf message = {0};
    mt_buf_text(b, "    <testcase");
    xml_attribute(b, "classname", mt_str_from(o->file));
    xml_attribute(b, "name", mt_str_from(x ? mt_budget_rule_name(x->rule) : "read"));
    if (x) {
        mt_check_say(&message, &plain, x);
    }
    if (x && x->ok && x->is_unknown) {
        mt_buf_text(b, ">\n      <skipped");
        xml_attribute(b, "message", mt_buf_view(&message));
        mt_buf_text(b, "/>\n    </testcase>\n");
    } else if (x && x->ok) {
        mt_buf_text(b, ">\n      <system-out>");
        xml_text(b, mt_buf_view(&message));
        mt_buf_text(b, "</system-out>\n    </testcase>\n");
    } else {
        mt_buf_text(b, x ? ">\n      <failure" : ">\n      <error");
        xml_attribute(b, "message", x ? mt_buf_view(&message) : mt_str_from(o->error));
        mt_buf_text(b, "/>\n    </testcase>\n");
    }
    b->failed |= message.failed;
    mt_buf_release(&message);
}

enum mt_status mt_report_check_junit(FILE *to, const struct mt_check_outcome *outcomes, size_t n,
                                     struct mt_error *err)
{
    struct mt_buf b = {0};
    size_t tests = 0, failures = 0, errors = 0, skipped = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_check_outcome *o = &outcomes[i];
        tests += o->error ? 1 : o->n;
        errors += o->error != NULL;
        for (size_t k = 0; !o->error && k < o->n; k++) {
            failures += !o->results[k].ok;
            skipped += o->results[k].ok && o->results[k].is_unknown;
        }
    }
    mt_buf_printf(&b,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "  <testsuite name=\"memtool check\" tests=\"%zu\" failures=\"%zu\" "
                  "errors=\"%zu\" skipped=\"%zu\">\n",
                  tests, failures, errors, skipped);
    for (size_t i = 0; i < n; i++) {
        if (outcomes[i].error) {
            junit_case(&b, &outcomes[i], NULL);
        }
        for (size_t k = 0; !outcomes[i].error && k < outcomes[i].n; k++) {
            junit_case(&b, &outcomes[i], &outcomes[i].results[k]);
        }
    }
    mt_buf_text(&b, "  </testsuite>\n</testsuites>\n");
    bool failed = b.failed;
    fputs(mt_buf_view(&b).p, to);
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}
