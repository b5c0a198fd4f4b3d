/* SPDX-License-Identifier: MIT */
/* What the trace adds up to, the histogram of sizes, segments by size, and the page map. */
#include "verbs/stats/stats_sections.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "support/checked.h"
#include "support/mem.h"
#include "verbs/stats/page_map.h"
#include "print/labels.h"

#include "print/figures.h"

static void heading(const struct mt_report *r, const char *text)
{
    fputc('\n', r->out);
    mt_report_line(r, 4, "  %s%s%s", mt_color_begin(r, MT_COLOR_HEAD), text, mt_color_end(r));
}

/* ---- trace ---- */

static const char *const ACTION_WORDS[] = {
#define X(name, word) word,
    MT_ACTION_MAP(X)
#undef X
};

static void print_actions(const struct mt_report *r, const struct mt_trace_totals *t)
{
    bool timed = t->last_us != MT_NO_TIME && t->last_us > t->first_us;
    fputc('\n', r->out);
    mt_report_line(r, 4, "  %sTrace%s: %s event%s%s%s%s", mt_color_begin(r, MT_COLOR_HEAD),
                   mt_color_end(r), mt_count_text(t->events).s, t->events == 1 ? "" : "s",
                   timed ? " in " : "",
                   timed ? mt_duration_text(mt_time_between(t->first_us, t->last_us)).s : "",
                   t->complete ? ", from an empty allocator on" : "");
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

static bool is_narrow(const struct mt_report *r)
{
    return r->width > 0 && r->width < MT_STATS_NARROW;
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
        if (!is_narrow(r)) {
            bar_cell(t, trace ? k->allocs : k->live_bytes, most);
        }
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
    mt_table_column(t, "REQUESTED", MT_RIGHT);
    if (trace) {
        mt_table_column(t, "REQUESTS", MT_RIGHT);
    }
    mt_table_column(t, "ALIVE", MT_RIGHT);
    mt_table_column(t, "BYTES ALIVE", MT_RIGHT);
    if (!is_narrow(r)) {
        mt_table_column(t, "", MT_LEFT);
    }
    size_rows(t, r, d, trace);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

/* ---- segments ---- */

static void segment_figures(struct mt_table *t, const struct mt_report *r, uint64_t segments,
                            uint64_t reserved, uint64_t allocated, uint64_t blocks)
{
    mt_table_count(t, segments);
    if (!is_narrow(r)) {
        mt_table_size(t, reserved);
    }
    mt_table_size(t, allocated);
    double full = reserved ? (double)allocated / (double)reserved : 0;
    mt_table_cell(t, "%s", reserved ? mt_percent_text(full).s : "");
    mt_table_count(t, blocks);
}

static void segment_rows(struct mt_table *t, const struct mt_report *r,
                         const struct mt_device_totals *d)
{
    size_t n = d->segment_sizes.n;
    size_t shown = r->limit && n > r->limit ? r->limit : n;
    struct mt_segment_size_totals rest = {0};
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_segment_size_totals *k = &d->segment_sizes.v[n - 1 - i];
        uint64_t reserved = k->size * k->segments;
        if (i < shown) {
            mt_table_size(t, k->size);
            segment_figures(t, r, k->segments, reserved, k->allocated, k->allocated_blocks);
            continue;
        }
        rest.segments += k->segments;
        rest.allocated += k->allocated;
        rest.allocated_blocks += k->allocated_blocks;
        bytes += reserved;
    }
    if (shown < n) {
        mt_table_cell(t, n - shown == 1 ? "[%zu other size]" : "[%zu other sizes]", n - shown);
        segment_figures(t, r, rest.segments, bytes, rest.allocated, rest.allocated_blocks);
    }
}

enum mt_status mt_stats_segment_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                                      struct mt_error *err)
{
    static const char *const titles[] = {"SEGMENT SIZE", "SEGMENTS", "RESERVED",
                                         "ALLOCATED",    "FULL",     "BLOCKS IN USE"};
    enum { RESERVED = 2 };
    if (d->segment_sizes.n == 0) {
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    heading(r, "Segments by size");
    for (size_t i = 0; i < MT_COUNT(titles); i++) {
        if (i != RESERVED || !is_narrow(r)) {
            mt_table_column(t, titles[i], MT_RIGHT);
        }
    }
    segment_rows(t, r, d);
    mt_table_rule(t);
    mt_table_cell(t, "TOTAL");
    segment_figures(t, r, d->all.segments, d->all.reserved, d->all.allocated,
                    d->all.allocated_blocks);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

/* ---- page map ---- */

/* A longer map is drawn with larger pages; behind it stand two sizes. */
enum { MAP_COLUMNS = 100, MAP_LEAST = 10, MAP_BESIDE = 30 };

/* The map under construction. Segments that look alike to the byte are one row and their number:
 * the row is printed when the first one that differs comes. */
struct map {
    const struct mt_report *r;
    const struct mt_snapshot *s;
    uint64_t page;
    char *line, *last; /* of the row at hand, and of the one to be printed */
    uint64_t *touched;
    struct mt_page_row row; /* to be printed: the first of `alike` */
    size_t alike;
    bool failed;
};

static uint64_t map_columns(const struct mt_report *r)
{
    int room = r->width - MAP_BESIDE;
    return r->width <= 0 || room > MAP_COLUMNS ? MAP_COLUMNS
                                               : (uint64_t)(room < MAP_LEAST ? MAP_LEAST : room);
}

/* The drawing is no text: blanks in it stay, so only what stands behind it is wrapped. */
static void map_print(struct map *m)
{
    const struct mt_report *r = m->r;
    const struct mt_segment *segment = &m->s->segments[m->row.segment];
    int pages = (int)mt_page_count(m->row.size, m->page);
    struct mt_buf note = {0};
    mt_buf_printf(&note, "%s, ", mt_report_size(r, m->row.size).s);
    if (m->row.pending) {
        mt_buf_printf(&note, "%s pending, ", mt_report_size(r, m->row.pending).s);
    }
    mt_buf_printf(&note, "%s free", mt_report_size(r, m->row.free).s);
    if (segment->stream) {
        mt_buf_text(&note, ", ");
        mt_stream_label(&note, m->s, segment->stream);
    }
    if (segment->pool.a || segment->pool.b) {
        mt_buf_text(&note, ", ");
        mt_pool_label(&note, segment->pool);
    }
    if (m->alike > 1) {
        mt_buf_printf(&note, ", and %s more like it", mt_count_text(m->alike - 1).s);
    }
    fprintf(r->out, "  [%.*s] ", pages, m->last);
    mt_text_print_wrapped(r->out, mt_buf_view(&note).p, pages + 5, 6,
                          r->width > 0 ? r->width : INT_MAX);
    fputc('\n', r->out);
    m->failed |= note.failed;
    mt_buf_release(&note);
}

static bool map_is_alike(const struct map *m, const struct mt_page_row *row)
{
    const struct mt_segment *a = &m->s->segments[m->row.segment];
    const struct mt_segment *b = &m->s->segments[row->segment];
    return m->alike && m->row.size == row->size && m->row.free == row->free &&
           m->row.pending == row->pending && a->stream == b->stream && a->pool.a == b->pool.a &&
           a->pool.b == b->pool.b &&
           memcmp(m->last, m->line, (size_t)mt_page_count(row->size, m->page)) == 0;
}

/* Draws as many rows as the limit has lines for; returns how many segments are in them. */
static size_t map_draw(struct map *m, const struct mt_page_rows *rows)
{
    size_t lines = 0, i = 0;
    for (; i < rows->rows.n; i++) {
        const struct mt_page_row *row = &rows->rows.v[i];
        mt_page_map_fill(m->s, &m->s->segments[row->segment], m->page, m->line, m->touched);
        if (map_is_alike(m, row)) {
            m->alike++;
            continue;
        }
        if (m->alike) {
            map_print(m);
        }
        m->alike = 0;
        if (m->r->limit && lines == m->r->limit) {
            return i;
        }
        char *line = m->last;
        m->last = m->line;
        m->line = line;
        m->row = *row;
        m->alike = 1;
        lines++;
    }
    map_print(m);
    return i;
}

static void map_print_all(struct map *m, const struct mt_page_rows *rows)
{
    const struct mt_report *r = m->r;
    fputc('\n', r->out);
    mt_report_line(r, 4, "  %sMap of the segments of 20 MiB and more%s, one character for %s",
                   mt_color_begin(r, MT_COLOR_HEAD), mt_color_end(r),
                   mt_size_text(m->page, (struct mt_size_format){MT_UNIT_AUTO, false}).s);
    size_t shown = map_draw(m, rows), n = rows->rows.n;
    uint64_t rest = 0, pending = 0;
    for (size_t i = 0; i < shown; i++) {
        pending |= rows->rows.v[i].pending;
    }
    for (size_t i = shown; i < n; i++) {
        rest += rows->rows.v[i].size;
    }
    if (shown < n) {
        fprintf(r->out, "  [%s other%s] %s\n", mt_count_text(n - shown).s,
                n - shown == 1 ? "" : "s", mt_report_size(r, rest).s);
    }
    mt_report_line(r, 4,
                   "  blank: free%s; a letter: one block; a digit: several, that many tenths full; "
                   "*: full",
                   pending ? " or pending" : "");
}

static enum mt_status map_rows(const struct mt_report *r, const struct mt_snapshot *s,
                               const struct mt_page_rows *rows, struct mt_error *err)
{
    struct map m = {.r = r, .s = s, .page = MT_PAGE_SIZE};
    while (mt_page_count(rows->rows.v[0].size, m.page) > map_columns(r)) {
        m.page *= 2;
    }
    size_t pages = (size_t)mt_page_count(rows->rows.v[0].size, m.page);
    m.line = mt_mem_alloc(pages, 1);
    m.last = mt_mem_alloc(pages, 1);
    m.touched = mt_mem_alloc(pages, sizeof *m.touched);
    m.failed = !m.line || !m.last || !m.touched;
    if (!m.failed) {
        map_print_all(&m, rows);
    }
    mt_mem_free(m.line);
    mt_mem_free(m.last);
    mt_mem_free(m.touched);
    return m.failed ? mt_fail_nomem(err) : MT_OK;
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
