/* SPDX-License-Identifier: MIT */
#include "print/driver_report.h"
#include "print/labels.h"
#include "support/units.h"

enum { SHOWN = 3 };

static struct mt_size_text time_of(const struct mt_driver_price *x, uint64_t calls)
{
    return mt_duration_text((int64_t)mt_driver_price_us(x, calls));
}

/* "about 19.0 ms, 30 % of the time". */
static void add_cost(struct mt_sentence *b, const struct mt_driver_price *x, uint64_t calls,
                     int64_t span_us)
{
    double share = span_us > 0 ? 100.0 * (double)mt_driver_price_us(x, calls) / (double)span_us : 0;
    mt_sentence_add(b, "about %s", time_of(x, calls).s);
    if (span_us > 0 && share <= 100) {
        mt_sentence_add(b, ", %.1f %% of the time", share);
    } else if (span_us > 0) {
        mt_sentence_add(b, ", more than the times in this file leave: the true cost is unknown");
    }
}

static void print_calls(const struct mt_report *r, const struct mt_driver_price *x,
                        const char *calls_of, int64_t span_us)
{
    struct mt_sentence b = {0};
    mt_sentence_add(&b, "driver calls %s: %s, ", calls_of, mt_count_text(x->taken + x->given).s);
    add_cost(&b, x, x->taken + x->given, span_us);
    mt_sentence_add(&b, " (%s us each, %s)", mt_count_text(x->call_us).s,
                    x->measured ? "by the times in this file" : "as measured on an H200");
    if (x->retries && x->knows_retries) {
        mt_sentence_add(&b, "; the cache was emptied for a request %s",
                        mt_counted_text(x->retries, "time").s);
    }
    mt_report_prose(r, 4, "  %s", b.text);
}

static bool print_callers(const struct mt_report *r, const struct mt_snapshot *s,
                          const struct mt_driver_price *x)
{
    struct mt_buf b = {0};
    for (size_t i = 0; i < x->callers.n && i < SHOWN; i++) {
        const struct mt_driver_caller *c = &x->callers.v[i];
        mt_buf_printf(&b, "%s%s at ", i ? ", " : "", mt_counted_text(c->calls, "call").s);
        mt_stack_label_long(&b, s, c->stack, r);
    }
    if (x->callers.n > SHOWN) {
        mt_buf_printf(&b, ", and %s", mt_counted_text(x->callers.n - SHOWN, "other line").s);
    }
    mt_report_prose(r, 4, "    %s", mt_buf_view(&b).p);
    bool ok = !b.failed;
    mt_buf_release(&b);
    return ok;
}

static bool print_emptied(const struct mt_report *r, const struct mt_snapshot *s,
                          const struct mt_driver_price *x, int64_t span_us)
{
    struct mt_buf b = {0};
    struct mt_sentence cost = {0};
    if (x->emptied_stack) {
        mt_stack_label_long(&b, s, x->emptied_stack, r);
    }
    add_cost(&cost, x, 2 * x->regained, span_us);
    mt_report_prose(r, 4,
                    "  the cache is emptied in the loop, %s%s%s: %s (%s) given back to the driver "
                    "and taken again, %s",
                    mt_counted_text(x->emptied, "time").s, b.n ? " at " : "",
                    b.n ? mt_buf_view(&b).p : "", mt_counted_text(x->regained, "segment").s,
                    mt_report_size(r, x->regained_bytes).s, cost.text);
    bool ok = !b.failed;
    mt_buf_release(&b);
    return ok;
}

enum mt_status mt_report_driver_price(const struct mt_report *r, const struct mt_snapshot *s,
                                      const struct mt_driver_price *x, const char *calls_of,
                                      int64_t span_us, struct mt_error *err)
{
    if (!x->taken && !x->given) {
        return MT_OK;
    }
    print_calls(r, x, calls_of, span_us);
    return print_callers(r, s, x) ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_report_emptied(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_driver_price *x, int64_t span_us,
                                 struct mt_error *err)
{
    bool ok = !mt_driver_price_in_loop(x) || print_emptied(r, s, x, span_us);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_out_driver_price(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                         const struct mt_driver_price *x)
{
    struct mt_out driver = mt_out_object(o, "driver");
    mt_out_u64(driver, "taken", x->taken);
    mt_out_u64(driver, "taken_bytes", x->taken_bytes);
    mt_out_u64(driver, "given", x->given);
    mt_out_u64(driver, "given_bytes", x->given_bytes);
    mt_out_u64(driver, "us", mt_driver_price_us(x, x->taken + x->given));
    mt_out_u64(driver, "call_us", x->call_us);
    mt_out_bool(driver, "measured", x->measured);
    mt_out_known(driver, "retries", x->knows_retries, x->retries);
    struct mt_out emptied = mt_out_object(driver, "empty_cache");
    mt_out_u64(emptied, "calls", x->emptied);
    mt_out_u64(emptied, "segments", x->emptied_segments);
    mt_out_u64(emptied, "regained", x->regained);
    mt_out_u64(emptied, "regained_bytes", x->regained_bytes);
    mt_out_u64(emptied, "us", mt_driver_price_us(x, 2 * x->regained));
    mt_out_bool(emptied, "in_loop", mt_driver_price_in_loop(x));
    mt_out_frames(emptied, s, x->emptied_stack);
    struct mt_out stacks = mt_out_array(driver, "stacks");
    for (size_t i = 0; i < x->callers.n && (!r->limit || i < r->limit); i++) {
        struct mt_out one = mt_out_object(stacks, NULL);
        mt_out_u64(one, "calls", x->callers.v[i].calls);
        mt_out_u64(one, "bytes", x->callers.v[i].bytes);
        mt_out_u64(one, "us", mt_driver_price_us(x, x->callers.v[i].calls));
        mt_out_frames(one, s, x->callers.v[i].stack);
    }
}
