/* SPDX-License-Identifier: MIT */
/*
 * A growth of one per cent has to be seen, so the axis begins near the lowest peak, not at 0, and
 * ends where all but a twentieth of the runs and the limit lie; what is above stands at its upper
 * edge with a mark.
 */
#include "verbs/history/trend.h"

#include <stdlib.h>
#include <string.h>

#include "draw/axis.h"
#include "draw/paint/term_draw.h"
#include "draw/scene.h"

#define WIDTH 1080.0
#define HEIGHT 460.0
#define LEFT 96.0
#define RIGHT 28.0
#define TOP 100.0
#define BOTTOM 60.0
#define TERM_LEFT 12
#define TERM_ROWS 10
#define LEAST_RUNS 3
enum { SHARP = 2 };

/* ---- the axis ---- */

struct range {
    double lo, hi;
};

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool find_range(const struct mt_trend *t, struct range *out)
{
    size_t n = t->h->v.n;
    uint64_t *peaks = mt_mem_alloc(n ? n : 1, sizeof *peaks);
    if (!peaks) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        peaks[i] = t->h->v.v[i].peak;
    }
    qsort(peaks, n, sizeof *peaks, ascending);
    out->lo = n ? (double)peaks[0] : 0;
    out->hi = n ? (double)peaks[n - 1 - n / 20] : 1;
    if (t->knows_base) {
        out->lo = (double)t->base < out->lo ? (double)t->base : out->lo;
        out->hi = (double)t->limit > out->hi ? (double)t->limit : out->hi;
    }
    mt_mem_free(peaks);
    double room = (out->hi - out->lo) * 0.12;
    room = room > 0 ? room : out->hi > 0 ? out->hi * 0.01 : 1;
    out->lo = out->lo > room ? out->lo - room : 0;
    out->hi += room;
    return true;
}

/* 0 at the lower end, 1 at the upper one and above it. */
static double height_of(const struct range *r, uint64_t bytes)
{
    double up = ((double)bytes - r->lo) / (r->hi - r->lo);
    return up > 1 ? 1 : up < 0 ? 0 : up;
}

static double tick_step(const struct range *r, size_t want)
{
    struct mt_axis a;
    mt_axis_bytes(&a, r->hi - r->lo, want);
    return a.n > 1 ? a.ticks[1].value : r->hi - r->lo;
}

/* ---- a picture ---- */

struct pen {
    struct mt_scene *s;
    const struct mt_trend *t;
    struct range range;
    double w, h; /* of the chart */
};

static double x_of(const struct pen *p, size_t i)
{
    size_t n = p->t->h->v.n;
    return LEFT + (n > 1 ? p->w * (double)i / (double)(n - 1) : p->w / 2);
}

static double y_of(const struct pen *p, uint64_t bytes)
{
    return TOP + p->h * (1 - height_of(&p->range, bytes));
}

static void draw_axes(struct pen *p)
{
    const struct mt_theme *t = p->s->theme;
    double step = tick_step(&p->range, 6), bottom = TOP + p->h;
    struct mt_axis a;
    mt_scene_rect(p->s, LEFT, TOP, p->w, p->h, t->panel);
    for (double v = (double)(uint64_t)(p->range.lo / step + 1) * step; v < p->range.hi; v += step) {
        double y = y_of(p, (uint64_t)v);
        mt_scene_line(p->s, LEFT, y, LEFT + p->w, y, t->grid, 1);
        mt_scene_text(p->s, LEFT - 10, y + 4, 12, t->muted,
                      mt_size_text((uint64_t)v, p->s->style.size).s)
            ->anchor = MT_ANCHOR_END;
    }
    mt_axis_counts(&a, 0, (double)(p->t->h->v.n - 1), 10);
    for (size_t i = 0; i < a.n; i++) {
        double x = x_of(p, (size_t)a.ticks[i].value);
        mt_scene_line(p->s, x, bottom, x, bottom + 5, t->frame, 1);
        mt_scene_text(p->s, x, bottom + 19, 12, t->muted, a.ticks[i].label)->anchor =
            MT_ANCHOR_MIDDLE;
    }
    mt_scene_text(p->s, LEFT - 10, bottom + 19, 12, t->muted, "run")->anchor = MT_ANCHOR_END;
    mt_scene_text(p->s, LEFT, bottom + 42, 11, t->faint,
                  "peak of requested memory; the axis does not begin at 0; a triangle is above it");
}

static void draw_limit(struct pen *p)
{
    const struct mt_theme *t = p->s->theme;
    double y = y_of(p, p->t->limit), base = y_of(p, p->t->base);
    mt_scene_line(p->s, LEFT, base, LEFT + p->w, base, t->good, 1)->dash = 2;
    mt_scene_line(p->s, LEFT, y, LEFT + p->w, y, t->trouble, 1)->dash = 6;
    mt_scene_text(p->s, LEFT + 5, y - 5, 11, t->trouble, "allowed")->halo = true;
    mt_scene_text(p->s, LEFT + 5, base + 14, 11, t->good, "base")->halo = true;
}

static void draw_point(struct pen *p, size_t i, double r)
{
    const struct mt_history_entry *e = &p->t->h->v.v[i];
    uint32_t color = mt_trend_is_bad(p->t, i) ? p->s->theme->trouble : p->s->theme->deep[0];
    double x = x_of(p, i), y = y_of(p, e->peak);
    struct mt_buf tip = {0};
    mt_buf_printf(&tip, "run %zu, peak %s\n", i, mt_size_text(e->peak, p->s->style.size).s);
    mt_buf_str(&tip, mt_str_head(e->commit, 40));
    uint32_t text = mt_scene_take(p->s, &tip);
    if ((double)e->peak > p->range.hi) {
        mt_scene_polygon(p->s, color)->tip = text;
        mt_scene_point(p->s, x - 5, y + 9);
        mt_scene_point(p->s, x, y);
        mt_scene_point(p->s, x + 5, y + 9);
        return;
    }
    struct mt_mark *m = mt_scene_rect(p->s, x - r, y - r, 2 * r, 2 * r, color);
    m->round = true;
    m->tip = text;
}

static void draw_runs(struct pen *p)
{
    size_t n = p->t->h->v.n;
    mt_scene_polyline(p->s, p->s->theme->deep[0], 1.2);
    for (size_t i = 0; i < n; i++) {
        mt_scene_point(p->s, x_of(p, i), y_of(p, p->t->h->v.v[i].peak));
    }
    for (size_t i = 0; i < n; i++) {
        draw_point(p, i, n > 120 ? 2 : 3.5);
    }
}

static void mark_first_bad(struct pen *p)
{
    const struct mt_history_entry *e = &p->t->h->v.v[p->t->first_bad];
    struct mt_buf b = {0};
    double x = x_of(p, p->t->first_bad);
    mt_scene_line(p->s, x, TOP, x, TOP + p->h, p->s->theme->trouble, 1.5)->dash = 4;
    mt_buf_printf(&b, "first bad run: %zu", p->t->first_bad);
    if (e->commit.n) {
        mt_buf_text(&b, ", ");
        mt_buf_str(&b, mt_str_head(e->commit, 12));
    }
    bool right = x + 230 < LEFT + p->w;
    struct mt_mark *m = mt_scene_text_buf(p->s, right ? x + 6 : x - 6, TOP + 15, 12,
                                          p->s->theme->trouble, 300, true, &b);
    m->anchor = right ? MT_ANCHOR_START : MT_ANCHOR_END;
    m->halo = true;
    mt_buf_release(&b);
}

static void draw_head(struct pen *p, const char *file)
{
    const struct mt_theme *t = p->s->theme;
    const struct mt_trend *x = p->t;
    struct mt_size_format f = p->s->style.size;
    struct mt_buf b = {0};
    mt_scene_text(p->s, 28, 34, 19, t->text, "Peak memory from run to run")->bold = true;
    mt_buf_str(&b, mt_str_basename(mt_str_from(file)));
    mt_buf_printf(&b, " \xc2\xb7 %s runs", mt_count_text(x->h->v.n).s);
    if (x->knows_base) {
        mt_buf_printf(&b, " \xc2\xb7 base %s, up to %s allowed", mt_size_text(x->base, f).s,
                      mt_size_text(x->limit, f).s);
    }
    mt_scene_text_buf(p->s, 28, 56, 12.5, t->muted, WIDTH - 56, false, &b);
    mt_buf_reset(&b);
    if (x->first_bad != SIZE_MAX) {
        uint64_t peak = x->h->v.v[x->first_bad].peak;
        mt_buf_printf(&b, "From run %zu on every peak is above it: %s (%s)", x->first_bad,
                      mt_size_text(peak, f).s, mt_size_delta_text((int64_t)(peak - x->base), f).s);
    } else if (x->knows_base) {
        mt_buf_text(&b, "The last run is within it.");
    }
    mt_scene_text_buf(p->s, 28, 76, 13, x->first_bad != SIZE_MAX ? t->trouble : t->text, WIDTH - 56,
                      true, &b);
    mt_buf_release(&b);
}

enum mt_status mt_trend_scene(struct mt_scene *s, const struct mt_trend *x, const char *file,
                              struct mt_error *err)
{
    struct pen p = {.s = s, .t = x, .w = WIDTH - LEFT - RIGHT, .h = HEIGHT - TOP - BOTTOM};
    if (!find_range(x, &p.range)) {
        return mt_fail_nomem(err);
    }
    s->width = WIDTH;
    s->height = HEIGHT;
    mt_scene_rect(s, 0, 0, WIDTH, HEIGHT, s->theme->background);
    draw_head(&p, file);
    if (x->h->v.n) {
        draw_axes(&p);
        if (x->knows_base) {
            draw_limit(&p);
        }
        draw_runs(&p);
    }
    if (x->first_bad != SIZE_MAX) {
        mark_first_bad(&p);
    }
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}

enum mt_status mt_trend_picture(const struct mt_report *r, const struct mt_plot_format *format,
                                const struct mt_trend *x, struct mt_error *err)
{
    struct mt_plot_style style = {.size = r->size};
    struct mt_scene *scene = mt_scene_new(&style);
    enum mt_status status = scene ? mt_trend_scene(scene, x, r->file, err) : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = format->paint(scene, SHARP, r->out, err);
    }
    mt_scene_free(scene);
    return status;
}

/* ---- characters ---- */

static int row_of(const struct range *r, uint64_t bytes)
{
    int row = (int)((1 - height_of(r, bytes)) * TERM_ROWS);
    return row < TERM_ROWS ? row : TERM_ROWS - 1;
}

static void put_runs(struct mt_canvas *c, const struct mt_trend *x, const struct range *r)
{
    const struct mt_theme *t = mt_theme_get(MT_THEME_LIGHT);
    size_t n = x->h->v.n, columns = (size_t)c->width - TERM_LEFT;
    columns = n < columns ? n : columns;
    int limit = x->knows_base ? row_of(r, x->limit) : -1;
    for (size_t i = 0; i < columns && limit >= 0; i++) {
        mt_canvas_put(c, TERM_LEFT + (int)i, limit, "-", t->trouble);
    }
    for (size_t i = 0; i < columns; i++) {
        size_t end = (i + 1) * n / columns, most = i * n / columns;
        for (size_t k = most + 1; k < end; k++) {
            most = x->h->v.v[k].peak > x->h->v.v[most].peak ? k : most;
        }
        bool bad = mt_trend_is_bad(x, most), above = (double)x->h->v.v[most].peak > r->hi;
        mt_canvas_put(c, TERM_LEFT + (int)i, row_of(r, x->h->v.v[most].peak),
                      above ? "^"
                      : bad ? "X"
                            : "*",
                      bad ? t->trouble : t->deep[0]);
    }
}

enum mt_status mt_trend_text(const struct mt_report *r, const struct mt_trend *x,
                             struct mt_error *err)
{
    struct range range;
    struct mt_canvas c;
    struct mt_term_style style = {.charset = MT_TERM_ASCII, .color = r->color, .size = r->size};
    struct mt_buf out = {0};
    int width = r->width > 40 ? r->width : 80;
    if (x->h->v.n < LEAST_RUNS) {
        return MT_OK;
    }
    if (!find_range(x, &range) || !mt_canvas_init(&c, width, TERM_ROWS, &style)) {
        return mt_fail_nomem(err);
    }
    for (int row = 0; row < TERM_ROWS; row++) {
        mt_canvas_put(&c, TERM_LEFT - 1, row, "|", 0);
    }
    const uint64_t ends[] = {(uint64_t)range.hi, (uint64_t)range.lo};
    for (int i = 0; i < 2; i++) {
        struct mt_size_text size = mt_size_text(ends[i], r->size);
        mt_canvas_text(&c, TERM_LEFT - 2 - (int)strlen(size.s), i ? TERM_ROWS - 1 : 0, size.s, 0);
    }
    put_runs(&c, x, &range);
    mt_canvas_write(&c, &out);
    mt_canvas_release(&c);
    bool ok = !out.failed;
    fwrite(out.p ? out.p : "", 1, out.n, r->out);
    fprintf(r->out, "%*s%s\n\n", TERM_LEFT, "",
            x->knows_base ? "peak of each run; - allowed, X above it, ^ above the picture"
                          : "peak of each run");
    mt_buf_release(&out);
    return ok ? MT_OK : mt_fail_nomem(err);
}
