/* SPDX-License-Identifier: MIT */
/* What the trace adds up to, the histogram of sizes, segments by size, and the page map. */
#include "stats_sections.h"

#include <inttypes.h>

#include <memtool/mem.h>
#include <memtool/page_map.h>
#include <memtool/report_verbs.h>

#include "figures.h"

static void heading(const struct mt_report *r, const char *text)
{
    fprintf(r->out, "\n  %s%s%s\n", mt_color_begin(r, MT_COLOR_HEAD), text, mt_color_end(r));
}

/* ---- trace ---- */

static const char *const ACTION_WORDS[] = {
#define X(name, word) word,
    MT_ACTION_MAP(X)
#undef X
};

static void print_actions(const struct mt_report *r, const struct mt_trace_totals *t)
{
    fprintf(r->out, "\n  %sTrace%s: %s event%s", mt_color_begin(r, MT_COLOR_HEAD), mt_color_end(r),
            mt_count_text(t->events).s, t->events == 1 ? "" : "s");
    if (t->last_us != MT_NO_TIME && t->last_us > t->first_us) {
        fprintf(r->out, " in %s", mt_duration_text(t->last_us - t->first_us).s);
    }
    fputs(t->complete ? ", from an empty allocator on\n" : "\n", r->out);
    struct mt_sentence b = {0};
    const char *before = "   ";
    for (int a = 1; a < MT_ACTION_COUNT; a++) {
        if (t->actions[a]) {
            mt_sentence_add(&b, "%s %s %s", before, ACTION_WORDS[a],
                            mt_count_text(t->actions[a]).s);
            before = ",";
        }
    }
    if (t->actions[MT_ACTION_OTHER]) {
        mt_sentence_add(&b, "%s others %s", before, mt_count_text(t->actions[MT_ACTION_OTHER]).s);
    }
    mt_report_line(r, 4, "%s", b.text);
}

static void trace_splits(struct mt_figures *f, const struct mt_trace_totals *t)
{
    if (t->splits_known) {
        mt_figure_count(f, "splits", t->splits, 0, "", "of a block to serve a smaller request");
        mt_figure_count(f, "merges", t->merges, 0, "", "of freed memory with its neighbours");
    }
}

static void trace_retries(struct mt_figures *f, const struct mt_trace_totals *t)
{
    if (t->retries_known) {
        mt_figure_count(f, "retries", t->retries, 0, "num_alloc_retries", "%s",
                        t->retries ? "the cache was emptied to serve a request" : "");
    } else if (t->whole) {
        mt_figure_text(f, "retries", (struct mt_size_text){"unknown"}, "num_alloc_retries", "%s",
                       t->complete ? "memory went back to the driver and was taken again: by "
                                     "retries, or because the program gave it back"
                                   : "the trace does not begin with an empty allocator");
    }
}

/* Figures that only a whole trace proves; without one, what was seen. */
static void trace_counters(struct mt_figures *f, const struct mt_trace_totals *t)
{
    const uint64_t *a = t->actions;
    const char *seen = t->complete && t->whole ? "" : ", seen in the trace";
    mt_figure_count(f, "device allocations", a[MT_ACTION_SEGMENT_ALLOC] + a[MT_ACTION_SEGMENT_MAP],
                    0, "num_device_alloc", "calls to cudaMalloc or to map pages%s", seen);
    mt_figure_count(f, "device frees", a[MT_ACTION_SEGMENT_FREE] + a[MT_ACTION_SEGMENT_UNMAP], 0,
                    "num_device_free", "calls to cudaFree or to unmap pages%s", seen);
    trace_splits(f, t);
    mt_figure_count(f, "out of memory", a[MT_ACTION_OOM], 0, "num_ooms", "%s",
                    a[MT_ACTION_OOM] ? "the trace holds the moment: memtool triage" : "");
    trace_retries(f, t);
}

enum mt_status mt_stats_trace(const struct mt_report *r, const struct mt_snapshot *s,
                              const struct mt_device_totals *d, struct mt_error *err)
{
    const struct mt_trace_totals *t = &d->trace;
    uint64_t allocs = t->hits + t->misses;
    struct mt_figures f;
    (void)s;
    if (t->events == 0) {
        return MT_OK;
    }
    print_actions(r, t);
    MT_TRY(mt_figures_begin(&f, r, err));
    mt_figure_count(&f, "requests", allocs, 0, "allocation.all.allocated", "%s",
                    t->complete ? "" : "in the trace");
    mt_figure_count(&f, "  from the cache", t->hits, allocs, "", "hits");
    mt_figure_count(&f, "  from the driver", t->misses, allocs, "",
                    "misses: a call to the driver each");
    trace_counters(&f, t);
    return mt_figures_end(&f, err);
}

/* ---- sizes ---- */

enum {
    BAR = 24,
    LEAST_CLASS = 8 /* requests under 512 B all get a block of 512 B: one row for them */
};

static struct mt_size_class class_sum(const struct mt_device_totals *d, unsigned i)
{
    struct mt_size_class sum = d->sizes[i];
    for (unsigned k = 0; i == LEAST_CLASS && k < i; k++) {
        sum.allocs += d->sizes[k].allocs;
        sum.live_blocks += d->sizes[k].live_blocks;
        sum.live_bytes += d->sizes[k].live_bytes;
    }
    return sum;
}

static void bar_cell(struct mt_table *t, uint64_t n, uint64_t most)
{
    static const char full[] = "########################";
    int width = most ? (int)((double)n / (double)most * BAR + 0.5) : 0;
    mt_table_cell(t, "%.*s", n && !width ? 1 : width, full);
}

static struct mt_size_text class_text(unsigned i, struct mt_size_format format)
{
    struct mt_size_text text;
    format.exact = false;
    if (i == LEAST_CLASS) {
        return (struct mt_size_text){"under 512 B"};
    }
    if (i == 63) {
        return mt_size_text(UINT64_C(1) << 63, format);
    }
    snprintf(text.s, sizeof text.s, "%.24s to %.24s", mt_size_text(UINT64_C(1) << i, format).s,
             mt_size_text(UINT64_C(1) << (i + 1), format).s);
    return text;
}

static void size_rows(struct mt_table *t, const struct mt_report *r,
                      const struct mt_device_totals *d, bool trace)
{
    uint64_t most = 0;
    for (unsigned i = LEAST_CLASS; i < MT_SIZE_CLASSES; i++) {
        struct mt_size_class k = class_sum(d, i);
        uint64_t n = trace ? k.allocs : k.live_bytes;
        most = n > most ? n : most;
    }
    for (unsigned i = LEAST_CLASS; i < MT_SIZE_CLASSES; i++) {
        const struct mt_size_class sum = class_sum(d, i), *k = &sum;
        if (!k->allocs && !k->live_blocks) {
            continue;
        }
        mt_table_cell(t, "%s", class_text(i, r->size).s);
        if (trace) {
            mt_table_count(t, k->allocs);
        }
        mt_table_count(t, k->live_blocks);
        mt_table_size(t, k->live_bytes);
        bar_cell(t, trace ? k->allocs : k->live_bytes, most);
    }
}

enum mt_status mt_stats_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                              struct mt_error *err)
{
    bool trace = d->trace.events != 0;
    if (d->all.blocks == 0 && !trace) {
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    heading(r, trace ? "Requests by size, and what of them is alive"
                     : "Live blocks by requested size");
    mt_table_column(t, "requested", MT_RIGHT);
    if (trace) {
        mt_table_column(t, "requests", MT_RIGHT);
    }
    mt_table_column(t, "alive", MT_RIGHT);
    mt_table_column(t, "bytes alive", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    size_rows(t, r, d, trace);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

/* ---- segments ---- */

static void segment_row(struct mt_table *t, const struct mt_segment_size_totals *k)
{
    mt_table_size(t, k->size);
    mt_table_count(t, k->segments);
    mt_table_size(t, k->size * k->segments);
    mt_table_size(t, k->allocated);
    mt_table_cell(
        t, "%s",
        k->size ? mt_percent_text((double)k->allocated / ((double)k->size * (double)k->segments)).s
                : "");
    mt_table_count(t, k->allocated_blocks);
}

static void segment_rows(struct mt_table *t, const struct mt_report *r,
                         const struct mt_device_totals *d)
{
    size_t n = d->segment_sizes.n;
    size_t shown = r->limit && n > r->limit ? r->limit : n;
    for (size_t i = 0; i < shown; i++) {
        segment_row(t, &d->segment_sizes.v[n - 1 - i]);
    }
    struct mt_segment_size_totals rest = {0};
    uint64_t bytes = 0;
    for (size_t i = shown; i < n; i++) {
        const struct mt_segment_size_totals *k = &d->segment_sizes.v[n - 1 - i];
        rest.segments += k->segments;
        rest.allocated += k->allocated;
        rest.allocated_blocks += k->allocated_blocks;
        bytes += k->size * k->segments;
    }
    if (shown < n) {
        mt_table_cell(t, "[%zu other sizes]", n - shown);
        mt_table_count(t, rest.segments);
        mt_table_size(t, bytes);
        mt_table_size(t, rest.allocated);
        mt_table_cell(t, "%s", mt_percent_text((double)rest.allocated / (double)bytes).s);
        mt_table_count(t, rest.allocated_blocks);
    }
}

enum mt_status mt_stats_segment_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                                      struct mt_error *err)
{
    static const char *const titles[] = {"segment size", "segments", "reserved",
                                         "allocated",    "full",     "blocks in use"};
    if (d->segment_sizes.n == 0) {
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    heading(r, "Segments by size");
    for (size_t i = 0; i < MT_COUNT(titles); i++) {
        mt_table_column(t, titles[i], MT_RIGHT);
    }
    segment_rows(t, r, d);
    mt_table_rule(t);
    mt_table_cell(t, "TOTAL");
    mt_table_count(t, d->all.segments);
    mt_table_size(t, d->all.reserved);
    mt_table_size(t, d->all.allocated);
    mt_table_cell(t, "%s", mt_percent_text(1.0 - mt_counters_fragmentation(&d->all)).s);
    mt_table_count(t, d->all.allocated_blocks);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

/* ---- page map ---- */

/* A longer map is drawn with larger pages; behind it stand two sizes. */
enum { MAP_COLUMNS = 100, MAP_LEAST = 10, MAP_BESIDE = 30 };

static uint64_t map_columns(const struct mt_report *r)
{
    int room = r->width - MAP_BESIDE;
    return r->width <= 0 || room > MAP_COLUMNS ? MAP_COLUMNS
                                               : (uint64_t)(room < MAP_LEAST ? MAP_LEAST : room);
}

/* False when out of memory. */
static bool map_row(const struct mt_report *r, const struct mt_snapshot *s,
                    const struct mt_page_row *row, uint64_t page, char *line, uint64_t *touched)
{
    const struct mt_segment *segment = &s->segments[row->segment];
    struct mt_buf note = {0};
    mt_page_map_fill(s, segment, page, line, touched);
    if (segment->stream) {
        mt_buf_text(&note, "  ");
        mt_stream_label(&note, s, segment->stream);
    }
    if (segment->pool.a || segment->pool.b) {
        mt_buf_text(&note, "  ");
        mt_pool_label(&note, segment->pool);
    }
    fprintf(r->out, "  [%.*s] %s, %s free%s\n", (int)mt_page_count(row->size, page), line,
            mt_report_size(r, row->size).s, mt_report_size(r, row->free).s, mt_buf_view(&note).p);
    bool failed = note.failed;
    mt_buf_release(&note);
    return !failed;
}

static enum mt_status map_rows(const struct mt_report *r, const struct mt_snapshot *s,
                               const struct mt_page_rows *rows, struct mt_error *err)
{
    uint64_t page = MT_PAGE_SIZE;
    while (mt_page_count(rows->rows.v[0].size, page) > map_columns(r)) {
        page *= 2;
    }
    size_t pages = (size_t)mt_page_count(rows->rows.v[0].size, page);
    char *line = mt_mem_alloc(pages, 1);
    uint64_t *touched = mt_mem_alloc(pages, sizeof *touched);
    bool ok = line && touched;
    if (ok) {
        fputc('\n', r->out);
        mt_report_line(r, 4, "  %sMap of the segments of 20 MiB and more%s, one character for %s",
                       mt_color_begin(r, MT_COLOR_HEAD), mt_color_end(r),
                       mt_size_text(page, (struct mt_size_format){MT_UNIT_AUTO, false}).s);
    }
    size_t n = rows->rows.n, shown = r->limit && n > r->limit ? r->limit : n;
    for (size_t i = 0; ok && i < shown; i++) {
        ok = map_row(r, s, &rows->rows.v[i], page, line, touched);
    }
    if (ok && shown < n) {
        uint64_t rest = 0;
        for (size_t i = shown; i < n; i++) {
            rest += rows->rows.v[i].size;
        }
        fprintf(r->out, "  [%s others] %s\n", mt_count_text(n - shown).s,
                mt_report_size(r, rest).s);
    }
    if (ok) {
        mt_report_line(r, 4,
                       "  blank: free; a letter: one block; a digit: several, that many "
                       "tenths full; *: full");
    }
    mt_mem_free(line);
    mt_mem_free(touched);
    return ok ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_stats_page_map(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_filtered *f, const struct mt_device_totals *d,
                                 struct mt_error *err)
{
    struct mt_page_rows rows = {0};
    if (d->device < 0) {
        return MT_OK;
    }
    enum mt_status status = mt_page_rows_find(&rows, s, f, d->device, err);
    if (status == MT_OK && rows.rows.n) {
        status = map_rows(r, s, &rows, err);
    }
    mt_page_rows_release(&rows);
    return status;
}
