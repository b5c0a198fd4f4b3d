/* SPDX-License-Identifier: MIT */
/* info: what is this file, and can it be trusted. */
#include <inttypes.h>
#include <limits.h>
#include <time.h>

#include "verbs/info/print.h"
#include "cli/logged_input.h"
#include "print/account_report.h"
#include "print/figures.h"
#include "print/report_json.h"
#include "print/trust_text.h"
#include "snapshot/model/era.h"
#include "support/checked.h"
#include "verbs/info/info_settings.h"

/* ---- what the file is ---- */

static void add_format(struct mt_buf *b, const struct mt_snapshot *s)
{
    const struct mt_source *source = &s->source;
    if (source->format == MT_FORMAT_PICKLE) {
        mt_buf_printf(b, "pickle, protocol %d", source->protocol);
        if (!s->own) {
            mt_buf_printf(b, ", written by %s",
                          source->cpp_writer ? "PyTorch's C++ writer" : "Python");
        }
    } else {
        static const char *const names[] = {[MT_FORMAT_BUILT] = "built in memory",
                                            [MT_FORMAT_JSON] = "JSON",
                                            [MT_FORMAT_TEXT] = "CSV"};
        mt_buf_text(b, names[source->format]);
    }
    mt_buf_text(b, source->zip ? ", in a torch.save file" : "");
    mt_buf_text(b, source->html ? ", in a page of PyTorch's viewer" : "");
    mt_buf_text(b, source->gzip ? ", gzip" : "");
    mt_buf_text(b, source->bare_list ? ", segments only" : "");
}

static void add_era(struct mt_buf *b, struct mt_era era)
{
    if (!era.until) {
        mt_buf_printf(b, "%s or newer", era.from);
    } else if (mt_str_equal(mt_str_from(era.from), mt_str_from(era.until))) {
        mt_buf_text(b, era.from);
    } else {
        mt_buf_printf(b, "%s to %s", era.from, era.until);
    }
}

/* "2026-11-29 15:46:30.123456 UTC"; a snapshot tells no time zone. Before 1971 nothing was
 * recorded: such times count from a midnight or a start that the file does not name. */
static void add_time(struct mt_buf *b, int64_t time_us)
{
    enum { YEAR_1971 = 31536000 };
    time_t seconds = (time_t)(time_us / 1000000);
    int64_t rest = time_us % 1000000;
    struct tm tm;
    char text[32];
    if (rest < 0) {
        rest += 1000000;
        seconds--;
    }
    bool dated = seconds < 0 || seconds >= YEAR_1971;
    if (!gmtime_r(&seconds, &tm) ||
        !strftime(text, sizeof text, dated ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm)) {
        mt_buf_printf(b, "%" PRId64 " us", time_us);
        return;
    }
    mt_buf_printf(b, "%s.%06d%s", text, (int)rest, dated ? " UTC" : ", no date");
}

/* First and last event of all GPUs; false when no event has a time. */
static bool find_times(const struct mt_totals *t, int64_t *first, int64_t *last)
{
    *first = *last = MT_NO_TIME;
    for (size_t i = 0; i < t->devices.n; i++) {
        const struct mt_trace_totals *d = &t->devices.v[i].trace;
        if (d->first_us == MT_NO_TIME || t->devices.v[i].device < 0) {
            continue;
        }
        *first = *first == MT_NO_TIME || d->first_us < *first ? d->first_us : *first;
        *last = *last == MT_NO_TIME || d->last_us > *last ? d->last_us : *last;
    }
    return *first != MT_NO_TIME;
}

static uint64_t count_action(const struct mt_totals *t, enum mt_action action)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->devices.n; i++) {
        n += t->devices.v[i].trace.actions[action];
    }
    return n;
}

static uint64_t count_events(const struct mt_totals *t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->devices.n; i++) {
        n += t->devices.v[i].trace.events;
    }
    return n;
}

/* The command to run next: the question that this file can answer best. */
static void add_next(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                     const struct mt_totals *t)
{
    const char *verb = "peak";
    if (count_action(t, MT_ACTION_OOM) && s->source.told == MT_TOLD_ALL) {
        verb = "triage";
    } else if (count_events(t) <= t->devices.n) {
        verb = "memory";
    }
    mt_buf_printf(b, "memtool %s %s", verb, s->source.salvaged ? "--salvage " : "");
    mt_text_safe(b, mt_str_from(r->file));
}

/* ---- text ---- */

static void line(const struct mt_report *r, const char *label, struct mt_buf *b, bool *failed)
{
    enum { LABEL = 10, COLUMN = 2 + LABEL + 1 };
    fprintf(r->out, "  %-*s ", LABEL, label);
    mt_text_print_wrapped(r->out, mt_buf_view(b).p, COLUMN, COLUMN, r->width ? r->width : INT_MAX);
    fputc('\n', r->out);
    *failed |= b->failed;
    mt_buf_reset(b);
}

static void add_told_device(struct mt_buf *b, const struct mt_report *r,
                            const struct mt_source *source, const struct mt_device_totals *d)
{
    mt_buf_printf(b, "%s allocated", mt_report_size(r, d->all.allocated).s);
    if (mt_source_has_reserved(source)) {
        mt_buf_printf(b, " of %s reserved", mt_report_size(r, d->all.reserved).s);
    }
    mt_buf_printf(b, " at the end; %s", mt_counted_text(d->trace.events, "event").s);
    if (d->trace.actions[MT_ACTION_OOM]) {
        mt_buf_printf(b, " (%s out of memory)", mt_count_text(d->trace.actions[MT_ACTION_OOM]).s);
    }
}

static void add_device(struct mt_buf *b, const struct mt_report *r, const struct mt_info *x,
                       const struct mt_device_totals *d)
{
    const struct mt_source *source = &x->snapshot->source;
    if (source->told != MT_TOLD_ALL) {
        add_told_device(b, r, source, d);
        return;
    }
    const char *least = source->state_cut ? "at least " : "";
    mt_buf_printf(b, "%s%s allocated of %s%s reserved in %s segment%s; %s event%s", least,
                  mt_report_size(r, d->all.allocated).s, least,
                  mt_report_size(r, d->all.reserved).s, mt_count_text(d->all.segments).s,
                  d->all.segments == 1 ? "" : "s", mt_count_text(d->trace.events).s,
                  d->trace.events == 1 ? "" : "s");
    if (d->trace.actions[MT_ACTION_OOM]) {
        mt_buf_printf(b, " (%s out of memory)", mt_count_text(d->trace.actions[MT_ACTION_OOM]).s);
    }
    if (d->trace.complete) {
        mt_buf_text(b, ", from an empty allocator on");
    }
}

static void add_stacks(struct mt_buf *b, const struct mt_snapshot *s)
{
    uint32_t deepest = 0;
    for (size_t i = 1; i < s->n_stacks; i++) {
        deepest = s->stacks[i].n > deepest ? s->stacks[i].n : deepest;
    }
    if (deepest == 0) {
        mt_buf_text(b, "none");
        return;
    }
    mt_buf_printf(b, "%s different, up to %u frames deep", mt_count_text(s->n_stacks - 1).s,
                  deepest);
}

/* Of a file that is no snapshot: who writes it, and what is in it. */
static const struct {
    const char *id, *writer, *holds;
} TOLD[] = {
    [MT_TOLD_TRACE] = {"profiler_trace", "torch.profiler: a trace with memory events",
                       "requests and frees with their stacks, and the sums allocated and reserved "
                       "then; no segments, no blocks"},
    [MT_TOLD_TIMELINE] =
        {"profiler_timeline", "torch.profiler: a raw memory timeline",
         "sizes by category; no stacks, no addresses, nothing of what is reserved"},
    [MT_TOLD_SUMS] = {"profiler_sums", "torch.profiler: a memory timeline",
                      "sums by category, whose changes stand for requests and frees; no stacks, no "
                      "addresses, nothing of what is reserved"},
    [MT_TOLD_RMM] = {"rmm_log", "RMM: the log of its logging adaptor",
                     "requests and frees; no stacks, nothing of what is reserved; times are those "
                     "of a day"},
};

static void add_writer(struct mt_buf *b, const struct mt_snapshot *s)
{
    if (s->source.told != MT_TOLD_ALL) {
        mt_buf_text(b, TOLD[s->source.told].writer);
        return;
    }
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    if (recorded.live) {
        mt_buf_text(b, "memtool's live allocator");
        return;
    }
    if (recorded.mode) {
        mt_buf_printf(b, "memtool capture --mode %s%s", recorded.mode,
                      recorded.plain   ? ", of a program without PyTorch"
                      : recorded.torch ? ", of a PyTorch program"
                                       : "");
        return;
    }
    struct mt_era era = mt_era_find(s);
    if (era.xpu) {
        mt_buf_text(b, "PyTorch for XPU, by the name of its settings; the release is not known");
        return;
    }
    if (era.lacks) {
        mt_buf_printf(b,
                      "unknown: it has %s (PyTorch %s or newer) but not %s, which each of those "
                      "writes; another program made it, or left that out",
                      era.why, era.from, era.lacks);
        return;
    }
    mt_buf_text(b, "PyTorch ");
    add_era(b, era);
    mt_buf_printf(b, " (from: %s)", era.why);
}

static void text_file(const struct mt_report *r, const struct mt_snapshot *s, bool *failed)
{
    struct mt_buf b = {0};
    fputs(mt_color_begin(r, MT_COLOR_HEAD), r->out);
    mt_text_put(r, r->file);
    fprintf(r->out, "%s\n", mt_color_end(r));
    add_format(&b, s);
    mt_buf_printf(&b, ", %s%s", mt_report_size(r, s->source.bytes).s,
                  s->source.gzip ? " unpacked" : "");
    line(r, "format", &b, failed);
    add_writer(&b, s);
    line(r, "written by", &b, failed);
    mt_buf_release(&b);
}

static void text_time(const struct mt_report *r, const struct mt_totals *t, struct mt_buf *b,
                      bool *failed)
{
    int64_t first, last;
    if (find_times(t, &first, &last)) {
        add_time(b, first);
        if (last > first) {
            mt_buf_printf(b, ", for %s", mt_duration_text(mt_time_between(first, last)).s);
        }
        line(r, "time", b, failed);
    }
}

/* The card of a device, where more of it is known than the allocator. */
static void text_card(const struct mt_report *r, const struct mt_account *a, struct mt_buf *b,
                      bool *failed)
{
    mt_account_line(b, r, a);
    *failed |= b->failed;
    if (b->n > 0) {
        line(r, "  card", b, failed);
    }
}

static void text_content(const struct mt_report *r, const struct mt_info *x, bool *failed)
{
    const struct mt_snapshot *s = x->snapshot;
    const struct mt_totals *t = x->totals;
    struct mt_buf b = {0};
    if (t->devices.n == 0) {
        mt_buf_text(&b, "none: nothing is reserved and no event was recorded");
        line(r, "devices", &b, failed);
    }
    for (size_t i = 0; i < t->devices.n; i++) {
        char label[24];
        snprintf(label, sizeof label, "device %d", (int)t->devices.v[i].device);
        add_device(&b, r, x, &t->devices.v[i]);
        line(r, t->devices.v[i].device < 0 ? "pinned" : label, &b, failed);
        text_card(r, mt_accounts_device(x->accounts, t->devices.v[i].device), &b, failed);
    }
    text_time(r, t, &b, failed);
    add_stacks(&b, s);
    line(r, "stacks", &b, failed);
    if (s->n_annotations) {
        mt_buf_printf(&b, "%s marks", mt_count_text(s->n_annotations).s);
        line(r, "annotated", &b, failed);
    }
    mt_buf_release(&b);
}

static enum mt_status text(const struct mt_report *r, const struct mt_info *x, struct mt_error *err)
{
    const struct mt_snapshot *s = x->snapshot;
    const struct mt_trust *trust = x->trust;
    bool failed = false;
    text_file(r, s, &failed);
    text_content(r, x, &failed);
    if (s->source.told == MT_TOLD_ALL) {
        MT_TRY(mt_info_settings_text(r, s, err));
    } else {
        mt_report_line(r, 13, "  holds      %s", TOLD[s->source.told].holds);
        mt_report_line(r, 13, "  answers    %s", mt_cli_told_verbs(s->source.told));
    }
    for (size_t i = 0; i < trust->facts.n; i++) {
        if (r->verbose || mt_trust_limits(trust->facts.v[i].id)) {
            fputc('\n', r->out);
            break;
        }
    }
    MT_TRY(mt_report_trust(r, s, trust, err));
    struct mt_buf b = {0};
    add_next(&b, r, s, x->totals);
    fprintf(r->out, "\nnext: %s\n", mt_buf_view(&b).p);
    failed |= b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

/* ---- JSON ---- */

static void put_buf(struct mt_out o, const char *key, struct mt_buf *b)
{
    mt_out_buf(o, key, b);
    mt_buf_reset(b);
}

static void put_devices(struct mt_out root, const struct mt_totals *t)
{
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < t->devices.n; i++) {
        const struct mt_device_totals *d = &t->devices.v[i];
        struct mt_out o = mt_out_object(devices, NULL);
        mt_out_i64(o, "device", d->device);
        mt_out_u64(o, "allocated_bytes", d->all.allocated);
        mt_out_u64(o, "reserved_bytes", d->all.reserved);
        mt_out_u64(o, "segments", d->all.segments);
        mt_out_u64(o, "events", d->trace.events);
        d->trace.events ? mt_out_bool(o, "complete", d->trace.complete)
                        : mt_out_null(o, "complete");
        mt_out_u64(o, "ooms", d->trace.actions[MT_ACTION_OOM]);
    }
}

static void put_trust(struct mt_out root, const struct mt_report *r, const struct mt_snapshot *s,
                      const struct mt_trust *trust)
{
    struct mt_buf b = {0};
    struct mt_out list = mt_out_array(root, "trust");
    for (size_t i = 0; i < trust->facts.n; i++) {
        const struct mt_trust_fact *fact = &trust->facts.v[i];
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "id", mt_trust_word(fact->id));
        mt_trust_text(&b, r, s, fact);
        put_buf(o, "text", &b);
        mt_out_bool(o, "limits", mt_trust_limits(fact->id));
    }
    mt_buf_release(&b);
}

static void put_source(struct mt_out root, const struct mt_snapshot *s, struct mt_buf *b)
{
    const struct mt_source *source = &s->source;
    mt_out_text(root, "format",
                source->format == MT_FORMAT_JSON   ? "json"
                : source->format == MT_FORMAT_TEXT ? "csv"
                                                   : "pickle");
    source->protocol >= 0 && source->format == MT_FORMAT_PICKLE
        ? mt_out_i64(root, "protocol", source->protocol)
        : mt_out_null(root, "protocol");
    struct mt_out in = mt_out_array(root, "wrapped_in");
    const char *const wrappers[] = {source->gzip ? "gzip" : NULL, source->zip ? "zip" : NULL,
                                    source->html ? "html" : NULL};
    for (size_t i = 0; i < MT_COUNT(wrappers); i++) {
        if (wrappers[i]) {
            mt_out_str(in, NULL, mt_str_from(wrappers[i]));
        }
    }
    mt_out_text(root, "writer", source->cpp_writer ? "c++" : "python");
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    mt_out_text(root, "capture_mode", recorded.mode);
    mt_out_text(root, "told", TOLD[source->told].id);
    mt_out_text(root, "answers", mt_cli_told_verbs(source->told));
    struct mt_era era = mt_era_find(s);
    add_era(b, era);
    put_buf(root, "era", b);
    mt_out_text(root, "era_from", era.from);
    mt_out_text(root, "era_until", era.until);
    mt_out_text(root, "era_why", era.why);
    mt_out_text(root, "era_lacks", era.lacks);
    mt_out_bool(root, "xpu", era.xpu);
    mt_out_u64(root, "unpacked_bytes", source->bytes);
}

static enum mt_status json(const struct mt_report *r, const struct mt_info *x, bool one_line,
                           struct mt_error *err)
{
    const struct mt_snapshot *s = x->snapshot;
    const struct mt_totals *t = x->totals;
    struct mt_json_out json;
    struct mt_buf b = {0};
    int64_t first, last;
    struct mt_out root = mt_report_json(&json, r, "info/1", one_line);
    put_source(root, s, &b);
    put_devices(root, t);
    mt_out_u64(root, "events", count_events(t));
    (void)find_times(t, &first, &last);
    mt_out_time(root, "first_us", first);
    mt_out_time(root, "last_us", last);
    mt_out_u64(root, "stacks", s->n_stacks ? s->n_stacks - 1 : 0);
    mt_out_u64(root, "annotations", s->n_annotations);
    mt_info_settings_json(root, s);
    put_trust(root, r, s, x->trust);
    add_next(&b, r, s, t);
    put_buf(root, "next", &b);
    mt_buf_release(&b);
    return mt_report_json_end(root, err);
}

enum mt_status mt_report_info(const struct mt_report *r, const struct mt_info *x, bool one_line,
                              struct mt_error *err)
{
    return r->json ? json(r, x, one_line, err) : text(r, x, err);
}
