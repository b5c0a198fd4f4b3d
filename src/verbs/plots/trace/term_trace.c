/* SPDX-License-Identifier: MIT */
/*
 * The timeline in characters: a column of cells shows the moment of its highest total, so that the
 * peak is always there. With colour each cell holds two half blocks.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/axis.h"
#include "draw/paint/term_draw.h"
#include "draw/palette.h"
#include "verbs/plots/trace/trace_looks.h"

#define LEFT 11 /* columns of the labels of bytes, with the axis */

struct term {
    const struct mt_trace_panel *panel;
    const struct mt_plot_style *style;
    const struct mt_term_style *term;
    struct mt_canvas canvas;
    const struct mt_band_look *looks;
    double y_max;
    int columns, rows; /* of the chart */
};

/* ---- columns ---- */

/* The sample that stands for a column: the highest of those in it, else the last one before. */
static size_t sample_for(const struct term *t, int column)
{
    const struct mt_timeline *l = t->panel->timeline;
    double lo = (double)column / t->columns, hi = (double)(column + 1) / t->columns;
    size_t best = SIZE_MAX, before = 0;
    for (size_t i = 0; i < l->samples.n; i++) {
        double x = l->samples.v[i].x;
        if (x < lo) {
            before = i;
        } else if ((x < hi || column == t->columns - 1) &&
                   (best == SIZE_MAX || l->samples.v[i].total > l->samples.v[best].total)) {
            best = i;
        }
    }
    return best == SIZE_MAX ? before : best;
}

/* The band at so many bytes above the ground, or SIZE_MAX above all. */
static size_t band_at(const struct term *t, size_t sample, double bytes)
{
    const struct mt_timeline *l = t->panel->timeline;
    const uint64_t *v = l->values + sample * l->bands.n;
    double sum = 0;
    for (size_t b = 0; b < l->bands.n; b++) {
        sum += (double)v[b];
        if (bytes < sum) {
            return b;
        }
    }
    return SIZE_MAX;
}

/* Row (0 = top) in which so many bytes lie. */
static int row_of(const struct term *t, double bytes)
{
    double up = floor(bytes / t->y_max * t->rows);
    return up >= t->rows ? 0 : t->rows - 1 - (up > 0 ? (int)up : 0);
}

static void draw_column(struct term *t, int column)
{
    const struct mt_timeline *l = t->panel->timeline;
    size_t sample = sample_for(t, column);
    double unit = t->y_max / t->rows;
    bool halves = t->term->color && t->term->charset != MT_TERM_ASCII;
    for (int row = 0; row < t->rows; row++) {
        double ground = (t->rows - 1 - row) * unit;
        size_t middle = band_at(t, sample, ground + unit / 2);
        if (halves) {
            size_t lower = band_at(t, sample, ground + unit / 4);
            size_t upper = band_at(t, sample, ground + unit * 3 / 4);
            struct mt_cell *c = &t->canvas.cells[row * t->canvas.width + LEFT + column];
            c->halves = true;
            c->upper = upper == SIZE_MAX ? 0 : t->looks[upper].color;
            c->lower = lower == SIZE_MAX ? 0 : t->looks[lower].color;
        } else if (middle != SIZE_MAX) {
            mt_canvas_put(&t->canvas, LEFT + column, row,
                          mt_term_fill(t->term, t->looks[middle].fill), t->looks[middle].color);
        }
    }
    bool memory = t->panel->options->subject == MT_TIMELINE_MEMORY;
    uint64_t line = memory ? l->samples.v[sample].reserved : l->samples.v[sample].live;
    int row = row_of(t, (double)line);
    struct mt_cell *c = &t->canvas.cells[row * t->canvas.width + LEFT + column];
    if (line > 0 && (!memory || (c->halves ? !c->upper && !c->lower : !c->text[0]))) {
        mt_canvas_put(&t->canvas, LEFT + column, row, mt_term_sign(t->term, MT_SIGN_LINE), 0);
    }
}

/* ---- around them ---- */

static void draw_byte_axis(struct term *t)
{
    struct mt_axis a;
    mt_axis_bytes(&a, t->y_max, t->rows > 12 ? 5 : 3);
    for (int row = 0; row < t->rows; row++) {
        mt_canvas_put(&t->canvas, LEFT - 1, row, mt_term_sign(t->term, MT_SIGN_BAR), 0);
    }
    for (size_t i = 0; i < a.n && a.ticks[i].value < t->y_max; i++) {
        const char *label = a.ticks[i].label;
        int row = i == 0 ? t->rows : row_of(t, a.ticks[i].value);
        mt_canvas_text(&t->canvas, LEFT - 2 - (int)strlen(label), row, label, 0);
    }
    mt_canvas_put(&t->canvas, LEFT - 1, t->rows, mt_term_sign(t->term, MT_SIGN_CORNER), 0);
    for (int x = 0; x < t->columns; x++) {
        mt_canvas_put(&t->canvas, LEFT + x, t->rows, mt_term_sign(t->term, MT_SIGN_LINE), 0);
    }
}

static void draw_x_axis(struct term *t)
{
    const struct mt_timeline *l = t->panel->timeline;
    struct mt_axis a;
    double lo = 0, hi = 0;
    if (l->last == l->first) {
        return;
    }
    int want = t->columns / 14 > 2 ? t->columns / 14 : 2, free_from = 0;
    const char *name = l->by_time ? "time" : "event";
    if (l->by_time) {
        hi = (double)l->last_us - (double)l->first_us;
        mt_axis_time(&a, hi, (size_t)want);
    } else {
        lo = (double)l->first;
        hi = (double)l->last;
        mt_axis_counts(&a, lo, hi, (size_t)want);
    }
    mt_canvas_text(&t->canvas, LEFT - 2 - (int)strlen(name), t->rows + 1, name, 0);
    for (size_t i = 0; i < a.n; i++) {
        int n = (int)strlen(a.ticks[i].label);
        int x = (int)((a.ticks[i].value - lo) / (hi - lo) * t->columns) - n / 2;
        x = x < 0 ? 0 : x + n > t->columns ? t->columns - n : x;
        if (x >= free_from) {
            mt_canvas_text(&t->canvas, LEFT + x, t->rows + 1, a.ticks[i].label, 0);
            free_from = x + n + 2;
        }
    }
}

static void draw_ooms(struct term *t)
{
    const struct mt_timeline *l = t->panel->timeline;
    for (size_t i = 0; i < l->ooms.n; i++) {
        int x = (int)(l->ooms.v[i].x * t->columns);
        mt_canvas_put(&t->canvas, LEFT + (x < t->columns ? x : t->columns - 1),
                      row_of(t, (double)l->ooms.v[i].reserved + (double)l->ooms.v[i].need),
                      mt_term_sign(t->term, MT_SIGN_CROSS), mt_theme_get(t->style->theme)->trouble);
    }
}

static void put_headings(struct term *t, struct mt_buf *out)
{
    const struct mt_trace_panel *p = t->panel;
    uint32_t trouble = mt_theme_get(t->style->theme)->trouble;
    struct mt_buf b = {0};
    mt_buf_printf(&b, "%s: ", mt_trace_title(p));
    mt_buf_str(&b, mt_str_basename(mt_str_from(p->file)));
    mt_buf_printf(&b, ", device %d", (int)p->timeline->device);
    mt_term_lines(t->term, out, &b, 0);
    mt_buf_reset(&b);
    mt_trace_say_peak(&b, p, t->term->size);
    mt_term_lines(t->term, out, &b, 0);
    mt_buf_reset(&b);
    if (mt_trace_say_growth(&b, t->style, p, t->term->size)) {
        mt_term_lines(t->term, out, &b, 0);
    }
    if (p->timeline->ooms.n) {
        mt_buf_reset(&b);
        mt_trace_say_oom(&b, p, t->term->size);
        mt_term_lines(t->term, out, &b, trouble);
        mt_buf_reset(&b);
        mt_trace_say_why(&b, p, t->term->size);
        mt_term_lines(t->term, out, &b, trouble);
        mt_buf_reset(&b);
        mt_trace_say_refusal(&b, p, t->term->size);
        mt_term_lines(t->term, out, &b, trouble);
    }
    mt_buf_release(&b);
    mt_buf_char(out, '\n');
}

static void put_legend(struct term *t, struct mt_buf *out)
{
    const struct mt_timeline *l = t->panel->timeline;
    bool memory = t->panel->options->subject == MT_TIMELINE_MEMORY;
    mt_buf_printf(out, "\n%s\n", mt_trace_legend_title(t->panel));
    for (size_t i = l->bands.n; i > 0; i--) {
        const struct mt_timeline_band *b = &l->bands.v[i - 1];
        double share = !b->at_peak ? -1 : (double)b->at_peak / (double)l->peak;
        const struct mt_band_look *look = &t->looks[i - 1];
        if (mt_trace_has_row(l, b)) {
            mt_term_legend(t->term, out, mt_term_fill(t->term, look->fill), look->color,
                           b->at_peak ? b->at_peak : b->max, share, &look->label);
        }
    }
    mt_term_legend_total(t->term, out, l->peak, "TOTAL");
    if (!memory || mt_source_has_reserved(&t->panel->snapshot->source)) {
        mt_term_key(t->term, out, MT_SIGN_LINE,
                    memory ? l->reserved_peak : l->samples.v[l->samples.n - 1].live,
                    memory ? "reserved, at most" : "in use, at the end");
    }
    if (l->ooms.n) {
        mt_term_key(t->term, out, MT_SIGN_CROSS, 0, "out of memory");
    }
}

static bool draw_panel(struct term *t, struct mt_buf *out)
{
    put_headings(t, out);
    if (t->panel->timeline->peak == 0 && t->panel->timeline->reserved_peak == 0) {
        mt_buf_text(out, "nothing to draw\n");
        return true;
    }
    if (!mt_canvas_init(&t->canvas, t->term->width, t->rows + 2, t->term)) {
        return false;
    }
    draw_byte_axis(t);
    for (int x = 0; x < t->columns; x++) {
        draw_column(t, x);
    }
    draw_x_axis(t);
    draw_ooms(t);
    mt_canvas_write(&t->canvas, out);
    put_legend(t, out);
    mt_canvas_release(&t->canvas);
    return true;
}

enum mt_status mt_term_trace(const struct mt_trace_panel *panels, size_t n,
                             const struct mt_plot_style *style, const struct mt_term_style *term,
                             struct mt_buf *out, struct mt_error *err)
{
    struct mt_band_look *looks = mt_trace_looks_new(style, panels, n);
    bool fine = looks != NULL;
    for (size_t i = 0; fine && i < n; i++) {
        struct term t = {.panel = &panels[i],
                         .looks = looks + i * MT_TRACE_BANDS,
                         .style = style,
                         .term = term,
                         .y_max = mt_trace_scale(panels, n),
                         .rows = term->height,
                         .columns = term->width - LEFT};
        mt_buf_text(out, i ? "\n" : "");
        fine = draw_panel(&t, out);
    }
    mt_trace_looks_free(looks, n);
    return fine && !out->failed ? MT_OK : mt_fail_nomem(err);
}
