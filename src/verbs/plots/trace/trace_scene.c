/* SPDX-License-Identifier: MIT */
/*
 * Memory over time as a scene: stacks as bands, one on the other; the reserved line and the marks
 * (trace_marks.c) over them; a legend in the order of stacking.
 *
 * Each band is painted from its upper edge down to the ground, topmost band first: a lower band
 * covers the rest of the one above it. That needs half the points of true bands and leaves no seams
 * between neighbours.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verbs/plots/chart.h"
#include "verbs/plots/trace/layers.h"
#include "verbs/plots/trace/trace_looks.h"
#include "verbs/plots/trace/trace_marks.h"

#define LEFT 92.0
#define LEGEND_W 384.0
#define GAP 28.0
#define MARGIN 24.0
#define FOOT 54.0
#define LEGEND_FOOT 28.0
#define LEAST_PLOT 140.0 /* height */

/* ---- curves ---- */

/* Values hold until the next moment: a step. */
static void curve_point(struct mt_chart *c, double x, double y, double last_y)
{
    mt_scene_point(c->scene, x, last_y);
    mt_scene_point(c->scene, x, y);
}

/* The upper edge of bands 0 .. band. */
static double edge_at(const struct mt_chart *c, size_t sample, size_t band)
{
    const struct mt_timeline *t = c->panel->timeline;
    const uint64_t *v = t->values + sample * t->bands.n;
    double sum = 0;
    for (size_t b = 0; b <= band; b++) {
        sum += (double)v[b];
    }
    return mt_chart_y(c, sum);
}

static void draw_band(struct mt_chart *c, size_t band, uint32_t color, uint32_t tip)
{
    const struct mt_timeline *t = c->panel->timeline;
    double ground = c->plot.y + c->plot.h, last_y = ground;
    mt_scene_polygon(c->scene, color)->tip = tip;
    mt_scene_point(c->scene, c->plot.x, ground);
    for (size_t i = 0; i < t->samples.n; i++) {
        double y = edge_at(c, i, band);
        if (i == 0) {
            mt_scene_point(c->scene, c->plot.x, y);
        } else {
            curve_point(c, mt_chart_x(c, t->samples.v[i].x), y, last_y);
        }
        last_y = y;
    }
    mt_scene_point(c->scene, mt_chart_x(c, 1), last_y);
    mt_scene_point(c->scene, mt_chart_x(c, 1), ground);
}

static void draw_reserved(struct mt_chart *c, bool live)
{
    const struct mt_timeline *t = c->panel->timeline;
    double last_y = 0;
    if (!live && !mt_source_has_reserved(&c->panel->snapshot->source)) {
        return;
    }
    mt_scene_polyline(c->scene, c->scene->theme->line, 1.5);
    for (size_t i = 0; i < t->samples.n; i++) {
        const struct mt_timeline_sample *s = &t->samples.v[i];
        double y = mt_chart_y(c, (double)(live ? s->live : s->reserved));
        if (i == 0) {
            mt_scene_point(c->scene, c->plot.x, y);
        } else {
            curve_point(c, mt_chart_x(c, s->x), y, last_y);
        }
        last_y = y;
    }
    mt_scene_point(c->scene, mt_chart_x(c, 1), last_y);
}

/* ---- legend ---- */

static void band_tip(struct mt_chart *c, const struct mt_timeline_band *b, const char *main,
                     struct mt_buf *tip)
{
    bool memory = c->panel->options->subject == MT_TIMELINE_MEMORY;
    struct mt_size_format f = c->scene->style.size;
    mt_buf_printf(tip, "%s\n%s %s in %s %s, %s at most", main, mt_size_text(b->at_peak, f).s,
                  mt_trace_is_part(c->panel) ? "when it is most" : "at the peak",
                  mt_count_text(b->count).s,
                  memory          ? b->count == 1 ? "allocation" : "allocations"
                  : b->count == 1 ? "segment"
                                  : "segments",
                  mt_size_text(b->max, f).s);
    if (b->stack < MT_BAND_OLDER) {
        mt_label_frames(tip, &c->scene->style, c->panel->snapshot, b->stack, 8);
    }
}

/* What a tip says of each band. */
static void band_tips(struct mt_chart *c, const struct mt_band_look *looks, uint32_t *tips)
{
    const struct mt_timeline *t = c->panel->timeline;
    for (size_t i = 0; i < t->bands.n; i++) {
        struct mt_buf tip = {0};
        const char *main = looks[i].label.main.p;
        band_tip(c, &t->bands.v[i], main ? main : "", &tip);
        tips[i] = mt_scene_take(c->scene, &tip);
    }
}

static size_t rows_wanted(const struct mt_timeline *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->bands.n; i++) {
        n += mt_trace_has_row(t, &t->bands.v[i]);
    }
    return n;
}

/* Which bands have a row: all, or as many of the largest as there is room for. */
static size_t choose_rows(const struct mt_chart *c, bool *has_row)
{
    const struct mt_timeline *t = c->panel->timeline;
    double room = c->legend.h - MT_LEGEND_HEAD_PX - LEGEND_FOOT;
    size_t fit = room > 0 ? (size_t)(room / MT_LEGEND_ROW_PX) : 0, n = rows_wanted(t);
    for (size_t i = 0; i < t->bands.n; i++) {
        const struct mt_timeline_band *b = &t->bands.v[i];
        size_t larger = 0;
        for (size_t k = 0; k < t->bands.n; k++) {
            larger += t->bands.v[k].at_peak > b->at_peak ||
                      (t->bands.v[k].at_peak == b->at_peak && k < i);
        }
        /* the last row tells what is left out */
        has_row[i] = mt_trace_has_row(t, b) && (n <= fit || larger + 1 < fit);
    }
    return fit;
}

static double legend_row(struct mt_chart *c, double y, const struct mt_legend_row *what)
{
    struct mt_legend_row row = *what;
    uint64_t peak = c->panel->timeline->peak;
    row.share = peak ? (double)row.bytes / (double)peak : 0;
    row.spare = c->legend_spare;
    double height = mt_legend_row(c->scene, c->legend, y, &row);
    c->legend_spare -= height - MT_LEGEND_ROW_PX;
    return y + height;
}

static double legend_rest(struct mt_chart *c, double y, const bool *has_row)
{
    const struct mt_timeline *t = c->panel->timeline;
    struct mt_label l = {.main = {0}};
    struct mt_legend_row row = {.label = &l};
    size_t n = 0;
    for (size_t i = 0; i < t->bands.n; i++) {
        bool left_out = !has_row[i] && mt_trace_has_row(t, &t->bands.v[i]);
        row.bytes += left_out ? t->bands.v[i].at_peak : 0;
        n += left_out;
    }
    if (n > 0) {
        mt_buf_printf(&l.main, "%zu more %s", n, n == 1 ? "band" : "bands");
        mt_buf_text(&l.sub, "no room for them here");
        y = legend_row(c, y, &row);
        mt_label_release(&l);
    }
    return y;
}

/* The rows stand in the order of the picture, so this one is marked. */
static size_t largest_stack(const struct mt_timeline *t)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < t->bands.n; i++) {
        const struct mt_timeline_band *b = &t->bands.v[i];
        if (b->stack < MT_BAND_OLDER &&
            (best == SIZE_MAX || b->at_peak > t->bands.v[best].at_peak)) {
            best = i;
        }
    }
    return best;
}

static void draw_legend(struct mt_chart *c, const struct mt_band_look *looks, const uint32_t *tips)
{
    const struct mt_timeline *t = c->panel->timeline;
    bool has_row[MT_TRACE_BANDS];
    size_t rows = t->bands.n ? choose_rows(c, has_row) : 0;
    if (rows == 0 || (rows == 1 && rows_wanted(t) > 1)) { /* "12 more" alone says nothing */
        return;
    }
    double y = c->legend.y + MT_LEGEND_HEAD_PX;
    size_t largest = largest_stack(t);
    mt_legend_head(c->scene, c->legend, mt_trace_legend_title(c->panel));
    for (size_t i = t->bands.n; i > 0; i--) { /* topmost first, as in the picture */
        const struct mt_timeline_band *b = &t->bands.v[i - 1];
        struct mt_legend_row row = {.color = looks[i - 1].color,
                                    .label = &looks[i - 1].label,
                                    .bytes = b->at_peak,
                                    .most = b->max,
                                    .tip = tips[i - 1],
                                    .largest = t->bands.n > 1 && i - 1 == largest};
        y = has_row[i - 1] ? legend_row(c, y, &row) : y;
    }
    y = legend_rest(c, y, has_row);
    mt_legend_total(c->scene, c->legend, y + 2, "TOTAL", t->peak);
}

/* ---- headings ---- */

/* What was refused, what was free in the cache, and who refused it: a line each. */
static double draw_oom_headings(struct mt_chart *c, double x, double y, double room)
{
    typedef void say_fn(struct mt_buf *, const struct mt_trace_panel *, struct mt_size_format);
    static say_fn *const LINES[] = {mt_trace_say_oom, mt_trace_say_why, mt_trace_say_refusal};
    struct mt_scene *s = c->scene;
    for (size_t i = 0; i < MT_COUNT(LINES); i++) {
        struct mt_buf b = {0};
        LINES[i](&b, c->panel, s->style.size);
        y = mt_scene_text_lines(s, x, y + 18, 12.5, s->theme->trouble, room, i == 0, &b);
        mt_buf_release(&b);
    }
    return y;
}

/* Returns where they end. */
static double draw_headings(struct mt_chart *c)
{
    struct mt_scene *s = c->scene;
    double room = c->area.w - 2 * MARGIN, x = c->area.x + MARGIN, y = c->area.y;
    struct mt_size_format f = s->style.size;
    struct mt_buf b = {0};
    struct mt_mark *m =
        mt_scene_text_fit(s, x, y + 34, 19, s->theme->text, room, true, mt_trace_title(c->panel));
    double used = m->w + 14;
    mt_buf_str(&b, mt_str_basename(mt_str_from(c->panel->file)));
    mt_buf_printf(&b, " \xc2\xb7 device %d", (int)c->panel->timeline->device);
    if (room > used + 80) {
        mt_scene_text_buf(s, x + used, y + 34, 14, s->theme->muted, room - used, false, &b);
    }
    mt_buf_reset(&b);
    mt_trace_say_peak(&b, c->panel, f);
    if ((double)mt_trace_bound(c->panel) > c->y_max) {
        mt_buf_text(&b, " \xc2\xb7 ");
        mt_trace_say_capacity(&b, c->panel, f);
        mt_buf_text(&b, ", above the picture");
    }
    y = mt_scene_text_lines(s, x, y + 56, 12.5, s->theme->muted, room, false, &b);
    mt_buf_reset(&b);
    if (mt_trace_say_growth(&b, &s->style, c->panel, f)) {
        bool leak = c->panel->leaks->verdict == MT_LEAK_YES;
        uint32_t color = leak ? s->theme->text : s->theme->muted;
        y = mt_scene_text_lines(s, x, y + 18, 12.5, color, room, leak, &b);
    }
    if (c->panel->timeline->ooms.n) {
        y = draw_oom_headings(c, x, y, room);
    }
    mt_buf_release(&b);
    return y;
}

/* ---- a panel ---- */

static void draw_empty(struct mt_chart *c)
{
    const char *why = c->panel->replay->n ? "nothing was allocated, or the filters left nothing"
                                          : "no events were recorded and nothing is alive";
    mt_scene_text(c->scene, c->plot.x + c->plot.w / 2, c->plot.y + c->plot.h / 2, 14,
                  c->scene->theme->muted, why)
        ->anchor = MT_ANCHOR_MIDDLE;
}

static void draw_curves(struct mt_chart *c, const struct mt_band_look *looks, const uint32_t *tips)
{
    const struct mt_timeline *t = c->panel->timeline;
    uint32_t stacks[MT_TRACE_BANDS], colors[MT_TRACE_BANDS];
    if (c->panel->per_alloc == 0) {
        for (size_t i = t->bands.n; i > 0; i--) {
            draw_band(c, i - 1, looks[i - 1].color, tips[i - 1]);
        }
        return;
    }
    for (size_t i = 0; i < t->bands.n; i++) {
        stacks[i] = t->bands.v[i].stack;
        colors[i] = looks[i].color;
    }
    mt_layers_draw(c, c->panel->per_alloc, &(struct mt_layer_colors){stacks, colors, t->bands.n});
}

static void draw_panel(struct mt_chart *c, const struct mt_band_look *looks)
{
    const struct mt_timeline *t = c->panel->timeline;
    uint32_t tips[MT_TRACE_BANDS] = {0};
    bool memory = c->panel->options->subject == MT_TIMELINE_MEMORY;
    bool empty = t->peak == 0 && t->reserved_peak == 0;
    c->y_max = empty ? 0 : c->y_max;
    mt_chart_axes(c);
    mt_chart_annotations(c);
    if (empty) {
        draw_empty(c);
        return;
    }
    band_tips(c, looks, tips);
    draw_curves(c, looks, tips);
    draw_reserved(c, !memory);
    mt_trace_marks(c);
    draw_legend(c, looks, tips);
}

/* ---- the picture ---- */

/* All plots of a picture begin and end at the same heights of their panels, whatever stands above
 * and below them, so that a band of so many bytes is as high in one as in another. */
struct layout {
    size_t columns, rows;
    double panel_w, panel_h;
    double head;   /* px above each plot */
    double legend; /* px that the longest legend wants */
    size_t bands;  /* the rows of that one */
    bool legend_right;
};

static size_t most_bands(const struct mt_trace_panel *panels, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bands = rows_wanted(panels[i].timeline);
        most = bands > most ? bands : most;
    }
    return most;
}

static double legend_height(size_t bands)
{
    return bands == 0 ? 0 : MT_LEGEND_HEAD_PX + (double)bands * MT_LEGEND_ROW_PX + LEGEND_FOOT;
}

static struct layout lay_out(const struct mt_plot_style *style, const struct mt_trace_panel *panels,
                             size_t n)
{
    struct layout l = {.columns = 1, .rows = 1};
    for (size_t i = 0; i < n; i++) {
        l.columns = panels[i].column + 1 > l.columns ? panels[i].column + 1 : l.columns;
        l.rows = panels[i].row + 1 > l.rows ? panels[i].row + 1 : l.rows;
    }
    double w = style->width > 0 ? style->width : l.columns == 1 ? 1280 : 760.0 * (double)l.columns;
    l.bands = most_bands(panels, n);
    l.legend = legend_height(l.bands);
    l.panel_w = w / (double)l.columns;
    l.legend_right = l.panel_w >= 900;
    double least = l.legend_right ? 660 : 470 + l.legend;
    l.panel_h = style->height > 0 ? style->height / (double)l.rows : least;
    return l;
}

/* What a panel has across: the plot, and the legend where that stands at its right. */
static void place_across(struct mt_chart *c, const struct layout *l)
{
    double left = c->area.x + LEFT, right = c->area.x + l->panel_w - MARGIN;
    double legend = legend_height(rows_wanted(c->panel->timeline));
    if (l->legend_right) {
        double begin = right - LEGEND_W, end = legend > 0 ? begin - GAP : right;
        c->plot = (struct mt_box){left, 0, end - left, 0};
        c->legend = (struct mt_box){begin, 0, LEGEND_W, legend};
    } else {
        c->plot = (struct mt_box){left, 0, right - left, 0};
        c->legend = (struct mt_box){c->area.x + MARGIN, 0, l->panel_w - 2 * MARGIN, l->legend};
    }
}

/* Draws the headings; returns where the plot begins, below the strips of annotations. */
static double draw_head(struct mt_chart *c, const struct layout *l)
{
    place_across(c, l);
    return draw_headings(c) + 18 + mt_chart_strips(c);
}

/* How much the headings of the panels take; 0 when out of memory, which the drawing will find as
 * well. */
static double highest_head(const struct mt_plot_style *style, const struct mt_trace_panel *panels,
                           size_t n, double y_max, const struct layout *l)
{
    double most = 0;
    struct mt_scene *scratch = mt_scene_new(style);
    for (size_t i = 0; i < n && scratch; i++) {
        struct mt_chart c = {.scene = scratch, .panel = &panels[i], .y_max = y_max};
        c.area.w = l->panel_w;
        double height = draw_head(&c, l);
        most = height > most ? height : most;
    }
    mt_scene_free(scratch);
    return most;
}

static void place_panel(struct mt_chart *c, const struct layout *l)
{
    const struct mt_trace_panel *p = c->panel;
    c->area = (struct mt_box){(double)p->column * l->panel_w, (double)p->row * l->panel_h,
                              l->panel_w, l->panel_h};
    (void)draw_head(c, l);
    double top = c->area.y + l->head, bottom = c->area.y + l->panel_h - FOOT;
    c->plot.y = top;
    if (l->legend_right) {
        double room = c->area.y + l->panel_h - 8 - top, legend = c->legend.h;
        c->legend.y = top;
        c->legend.h = legend < room ? legend : room;
        c->legend_spare = room - c->legend.h;
    } else {
        double room = bottom - top - LEAST_PLOT; /* a small picture: the curves before the legend */
        double legend = c->legend.h < room ? c->legend.h : room;
        double two_rows = legend_height(l->bands < 2 ? l->bands : 2);
        c->legend.h = legend < two_rows ? 0 : legend;
        bottom -= c->legend.h;
        c->legend.y = bottom + FOOT;
    }
    c->plot.h = bottom - top;
}

static void scene_title(struct mt_scene *s, const struct mt_trace_panel *p)
{
    struct mt_buf title = {0};
    mt_buf_printf(&title, "%s of ", mt_trace_title(p));
    mt_buf_str(&title, mt_str_basename(mt_str_from(p->file)));
    mt_buf_printf(&title, ", device %d, ", (int)p->timeline->device);
    if (mt_trace_is_part(p)) {
        mt_buf_printf(&title, "only %s, ", p->only);
    }
    mt_buf_printf(&title, "%s %s", mt_trace_is_part(p) ? "at most" : "peak",
                  mt_size_text(p->timeline->peak, s->style.size).s);
    s->title = mt_scene_take(s, &title);
}

enum mt_status mt_plot_look_init(struct mt_timeline *t, const struct mt_replay *r,
                                 struct mt_error *err)
{
    const struct mt_timeline_options o = {.subject = MT_TIMELINE_MEMORY,
                                          .columns = MT_PLOT_LOOK_COLUMNS,
                                          .bands = MT_PLOT_LOOK_BANDS,
                                          .last = SIZE_MAX};
    return mt_timeline_init(t, r, &o, err);
}

enum mt_status mt_plot_trace(struct mt_scene *s, const struct mt_trace_panel *panels, size_t n,
                             struct mt_error *err)
{
    double y_max = mt_trace_scale(panels, n);
    struct layout l = lay_out(&s->style, panels, n);
    l.head = highest_head(&s->style, panels, n, y_max, &l);
    double least = ceil(l.head + LEAST_PLOT + FOOT); /* leaves the curves some room */
    struct mt_band_look *looks = mt_trace_looks_new(&s->style, panels, n);
    if (!looks) {
        return mt_fail_nomem(err);
    }
    l.panel_h = l.panel_h < least ? least : l.panel_h;
    s->width = l.panel_w * (double)l.columns;
    s->height = l.panel_h * (double)l.rows;
    if (n > 0) {
        scene_title(s, &panels[0]);
    }
    mt_scene_rect(s, 0, 0, s->width, s->height, s->theme->background);
    for (size_t i = 0; i < n; i++) {
        struct mt_chart c = {.scene = s, .panel = &panels[i], .y_max = y_max};
        place_panel(&c, &l);
        draw_panel(&c, looks + i * MT_TRACE_BANDS);
    }
    mt_trace_looks_free(looks, n);
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}
