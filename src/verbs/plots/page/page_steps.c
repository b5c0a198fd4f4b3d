/* SPDX-License-Identifier: MIT */
/* Texts as the verb steps has them, so that both say the same. */
#include "verbs/plots/page/page_steps.h"

#include "heap/findings/steps.h"
#include "verbs/steps/steps_words.h"
#include "support/checked.h"

enum { MOST_ROWS = 1000, MOST_RUNS = 20000 };

struct writing {
    struct mt_sink *sink;
    const struct mt_replay *r;
    const struct mt_trace_steps *x;
    struct mt_size_format size;
};

static void cell(const struct writing *w, bool first, const char *text)
{
    if (!first) {
        mt_sink_char(w->sink, ',');
    }
    mt_sink_json_str(w->sink, mt_str_from(text));
}

static void size_cell(const struct writing *w, uint64_t bytes)
{
    cell(w, false, mt_size_text(bytes, w->size).s);
}

/* [from, to, event of the peak, [texts]]. */
static void row(const struct writing *w, size_t i)
{
    const struct mt_step_row *row = &w->x->rows.v[i];
    bool timed = row->from_us != MT_NO_TIME && row->to_us != MT_NO_TIME;
    struct mt_sentence note = {0};
    char hits[24] = "";
    if (row->all.requests) {
        (void)snprintf(hits, sizeof hits, "%.1f %%", 100 * mt_step_hit_rate(&row->all));
    }
    mt_steps_note(&note, w->x, i);
    mt_sink_char(w->sink, '[');
    mt_sink_u64(w->sink, row->from);
    mt_sink_char(w->sink, ',');
    mt_sink_u64(w->sink, row->to);
    mt_sink_char(w->sink, ',');
    mt_sink_u64(w->sink, row->peak_event);
    mt_sink_text(w->sink, ",[");
    cell(w, true, mt_count_text(i + 1).s);
    size_cell(w, row->live_before);
    size_cell(w, row->all.peak_bytes);
    cell(w, false, mt_phase_name(row->peak_phase));
    size_cell(w, row->live_after);
    cell(w, false, mt_count_text(row->all.requests).s);
    size_cell(w, row->all.requested_bytes);
    cell(w, false, mt_count_text(row->all.device_allocs).s);
    cell(w, false, hits);
    cell(w, false, timed ? mt_duration_text(mt_time_between(row->from_us, row->to_us)).s : "");
    cell(w, false, note.text);
    mt_sink_text(w->sink, "]]");
}

/* from, phase, from, phase: as many as a screen can show. */
static void runs(const struct writing *w)
{
    size_t every = w->x->runs.n / MOST_RUNS + 1;
    mt_sink_text(w->sink, "],\"runs\":[");
    for (size_t i = 0; i < w->x->runs.n; i += every) {
        mt_sink_text(w->sink, i ? "," : "");
        mt_sink_u64(w->sink, w->x->runs.v[i].from);
        mt_sink_char(w->sink, ',');
        mt_sink_u64(w->sink, w->x->runs.v[i].phase);
    }
    mt_sink_text(w->sink, "],\"phases\":[");
    for (int k = 0; k < MT_PHASE_COUNT; k++) {
        cell(w, k == 0, mt_phase_name((enum mt_phase)k));
    }
    mt_sink_text(w->sink, "]}");
}

static bool write_all(const struct writing *w)
{
    static const char *const TITLES[] = {"step",      "before", "peak", "in",   "after", "requests",
                                         "asked for", "driver", "hits", "time", "note"};
    const struct mt_report plain = {.size = w->size};
    struct mt_buf head = {0};
    mt_steps_count(&head, w->x);
    mt_steps_say_begin(&head, &plain, w->r->snapshot, w->x);
    mt_sink_text(w->sink, "{\"head\":");
    mt_sink_json_str(w->sink, mt_buf_view(&head));
    mt_sink_text(w->sink, ",\"titles\":[");
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        cell(w, i == 0, TITLES[i]);
    }
    mt_sink_text(w->sink, "],\"rows\":[");
    for (size_t i = 0; i < w->x->rows.n && i < MOST_ROWS; i++) {
        mt_sink_text(w->sink, i ? "," : "");
        row(w, i);
    }
    runs(w);
    bool ok = !head.failed;
    mt_buf_release(&head);
    return ok;
}

enum mt_status mt_page_steps_write(struct mt_sink *sink, const struct mt_replay *r,
                                   struct mt_size_format size, struct mt_error *err)
{
    static const struct mt_period_options o = {0};
    struct mt_trace_steps x;
    enum mt_status status = mt_trace_steps_find(&x, r, NULL, &o, err);
    struct writing w = {.sink = sink, .r = r, .x = &x, .size = size};
    if (status == MT_OK && !x.rows.n) {
        mt_sink_text(sink, "null");
    } else if (status == MT_OK && !write_all(&w)) {
        status = mt_fail_nomem(err);
    }
    mt_trace_steps_release(&x);
    return status;
}
