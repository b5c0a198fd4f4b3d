/* SPDX-License-Identifier: MIT */
/*
 * An overlay as a scene: a line a run, what one has more than the other shaded in its colour, a
 * mark where they diverge, and below, on the same axis, the second minus the first.
 */
#include "draw/axis.h"
#include "verbs/plots/chart.h"
#include "verbs/plots/overlay/overlay.h"

#define LEFT 92.0
#define MARGIN 28.0
#define PANEL_W 1280.0
#define PANEL_H 720.0
#define DIFFERENCE_H 120.0 /* of the strip below */
#define FOOT 46.0
#define ROW 19.0
#define SMALL 11.0
#define NORMAL 12.5

struct pen {
    struct mt_chart c; /* its plot is that of the lines */
    const struct mt_overlay *o;
    struct mt_box below; /* of the difference; h = 0: none */
};

static uint32_t color_of(const struct pen *p, size_t run)
{
    static const uint8_t HUES[MT_OVERLAY_RUNS] = {0, 1, 2, 6, 9, 3, 5, 7};
    return p->c.scene->theme->deep[HUES[p->o->runs[run].color % MT_OVERLAY_RUNS]];
}

static uint32_t faded(uint32_t color, uint32_t alpha)
{
    return (color & 0xffffff00) | alpha;
}

static double edge_x(const struct pen *p, size_t column)
{
    return mt_chart_x(&p->c, (double)column / MT_OVERLAY_COLUMNS);
}

/* ---- the lines ---- */

static void draw_line(struct pen *p, const uint64_t *bytes, size_t n, uint32_t color, double width,
                      double dash)
{
    mt_scene_polyline(p->c.scene, color, width)->dash = dash;
    for (size_t i = 0; i < n; i++) {
        double y = mt_chart_y(&p->c, (double)bytes[i]);
        mt_scene_point(p->c.scene, edge_x(p, i), y);
        mt_scene_point(p->c.scene, edge_x(p, i + 1), y);
    }
}

static void draw_run(struct pen *p, size_t i)
{
    const struct mt_overlay_run *run = &p->o->runs[i];
    uint32_t color = color_of(p, i);
    draw_line(p, run->most_reserved, run->columns, faded(color, 0xb0), 1, 4);
    draw_line(p, run->most, run->columns, color, 2, 0);
    if (run->columns < MT_OVERLAY_COLUMNS && run->columns > 0) { /* where it ends */
        double x = edge_x(p, run->columns),
               y = mt_chart_y(&p->c, (double)run->most[run->columns - 1]);
        mt_scene_rect(p->c.scene, x - 4, y - 4, 8, 8, color)->round = true;
    }
}

/* ---- what one has more ---- */

static size_t common_columns(const struct mt_overlay *o)
{
    size_t a = o->runs[0].columns, b = o->runs[1].columns;
    return a < b ? a : b;
}

static bool second_has_more(const struct mt_overlay *o, size_t column)
{
    return o->runs[1].most[column] > o->runs[0].most[column];
}

/* Both edges of columns [from, to) at the heights that `y` gives of each run. */
static void shade(struct pen *p, size_t from, size_t to,
                  double (*y)(const struct pen *p, size_t run, size_t column), uint32_t color)
{
    mt_scene_polygon(p->c.scene, color);
    for (size_t i = from; i < to; i++) {
        mt_scene_point(p->c.scene, edge_x(p, i), y(p, 1, i));
        mt_scene_point(p->c.scene, edge_x(p, i + 1), y(p, 1, i));
    }
    for (size_t i = to; i > from; i--) {
        mt_scene_point(p->c.scene, edge_x(p, i), y(p, 0, i - 1));
        mt_scene_point(p->c.scene, edge_x(p, i - 1), y(p, 0, i - 1));
    }
}

static double line_y(const struct pen *p, size_t run, size_t column)
{
    return mt_chart_y(&p->c, (double)p->o->runs[run].most[column]);
}

static bool second_is_above(const struct mt_overlay *o, size_t column)
{
    return o->apart[column] > 0;
}

/* Of the strip below: the first run is the zero line. */
static double strip_y(const struct pen *p, size_t run, size_t column)
{
    double zero = p->below.y + p->below.h / 2, apart = (double)p->o->apart[column];
    return run == 0 || p->below.w <= 0 ? zero : zero - apart / p->below.w * p->below.h / 2;
}

static void shade_all(struct pen *p, double (*y)(const struct pen *, size_t, size_t),
                      bool (*is_more)(const struct mt_overlay *, size_t), uint32_t alpha)
{
    size_t end = common_columns(p->o);
    for (size_t from = 0, to; from < end; from = to) {
        bool more = is_more(p->o, from);
        for (to = from + 1; to < end && is_more(p->o, to) == more; to++) {
        }
        shade(p, from, to, y, faded(color_of(p, more), alpha));
    }
}

/* `below.w` is the scale of the strip: the widest difference. */
static void draw_strip(struct pen *p)
{
    struct mt_scene *s = p->c.scene;
    const struct mt_theme *t = s->theme;
    const struct mt_overlay *o = p->o;
    double widest = 0, zero = p->below.y + p->below.h / 2, x = p->c.plot.x;
    for (size_t i = 0; i < common_columns(o); i++) {
        double apart = (double)o->apart[i];
        widest = apart > widest ? apart : -apart > widest ? -apart : widest;
    }
    mt_scene_rect(s, x, p->below.y, p->c.plot.w, p->below.h, t->panel);
    p->below.w = widest;
    if (widest > 0) {
        shade_all(p, strip_y, second_is_above, 0xff);
        for (int sign = -1; sign <= 1; sign += 2) {
            struct mt_size_text size = mt_size_delta_text((int64_t)(sign * widest), s->style.size);
            double y = sign < 0 ? p->below.y + p->below.h : p->below.y + 8;
            mt_scene_text(s, x - 10, y, SMALL, t->muted, size.s)->anchor = MT_ANCHOR_END;
        }
    }
    mt_scene_line(s, x, zero, x + p->c.plot.w, zero, t->frame, 1);
    mt_scene_text(s, x - 10, zero + 4, SMALL, t->muted, "0")->anchor = MT_ANCHOR_END;
}

/* ---- around them ---- */

static double draw_head(struct pen *p)
{
    struct mt_scene *s = p->c.scene;
    struct mt_box a = p->c.area;
    double x = a.x + MARGIN, y = a.y + 34, room = a.w - 2 * MARGIN;
    struct mt_buf b = {0};
    mt_scene_text_fit(s, x, y, 19, s->theme->text, room, true,
                      p->o->segments ? "Reserved memory of the runs, overlaid"
                                     : "Memory of the runs, overlaid");
    y += 8;
    for (size_t i = 0; i < p->o->n; i++, y += ROW) {
        mt_buf_reset(&b);
        mt_buf_str(&b, mt_overlay_name(p->o, i));
        mt_scene_rect(s, x, y + 10, 26, 4, color_of(p, i));
        struct mt_mark *m =
            mt_scene_text_buf(s, x + 34, y + 16, 13, s->theme->text, room * 0.5, true, &b);
        double used = 34 + m->w + 12;
        mt_buf_reset(&b);
        mt_overlay_say_run(&b, p->o, i, s->style.size);
        mt_scene_text_buf(s, x + used, y + 16, NORMAL, s->theme->muted, room - used, false, &b);
    }
    mt_buf_reset(&b);
    mt_overlay_say_difference(&b, p->o, s->style.size);
    if (b.n) {
        y = mt_scene_text_lines(s, x, y + ROW, 13, s->theme->text, room, p->o->differs, &b);
    }
    mt_buf_release(&b);
    return y;
}

static void tick(struct pen *p, double x01, const char *label)
{
    struct mt_scene *s = p->c.scene;
    double x = mt_chart_x(&p->c, x01), bottom = p->c.plot.y + p->c.plot.h;
    double end = p->below.h > 0 ? p->below.y + p->below.h : bottom;
    mt_scene_line(s, x, p->c.plot.y, x, bottom, s->theme->grid, 1);
    if (p->below.h > 0) {
        mt_scene_line(s, x, p->below.y, x, end, s->theme->grid, 1);
    }
    mt_scene_line(s, x, end, x, end + 5, s->theme->frame, 1);
    mt_scene_text(s, x, end + 19, 12, s->theme->muted, label)->anchor = MT_ANCHOR_MIDDLE;
}

static void draw_x_axis(struct pen *p)
{
    const struct mt_overlay *o = p->o;
    static const char *const NAMES[] = {"", "step", "event", "time"};
    double end = p->below.h > 0 ? p->below.y + p->below.h : p->c.plot.y + p->c.plot.h;
    struct mt_axis a;
    if (o->span <= 0) {
        return;
    }
    if (o->axis == MT_OVERLAY_TIME) {
        mt_axis_time(&a, o->span, 8);
    } else {
        mt_axis_counts(&a, 0, o->span - o->lead, o->axis == MT_OVERLAY_STEPS ? 12 : 8);
    }
    for (size_t i = 0; i < a.n; i++) {
        tick(p, (a.ticks[i].value + o->lead) / o->span, a.ticks[i].label);
    }
    if (o->lead > 0) {
        double middle = mt_chart_x(&p->c, o->lead / 2 / o->span);
        mt_scene_text(p->c.scene, middle, end + 19, 12, p->c.scene->theme->muted, "set-up")
            ->anchor = MT_ANCHOR_MIDDLE;
    }
    mt_scene_text(p->c.scene, p->c.plot.x - 10, end + 19, 12, p->c.scene->theme->muted,
                  NAMES[o->axis])
        ->anchor = MT_ANCHOR_END;
}

/* A line down both charts where the two part, with what it is. */
static void mark_parting(struct pen *p)
{
    struct mt_scene *s = p->c.scene;
    struct mt_buf b = {0};
    double x = mt_chart_x(&p->c, p->o->first.x), top = p->c.plot.y;
    mt_scene_line(s, x, top, x, p->below.y + p->below.h, s->theme->trouble, 1.5)->dash = 5;
    mt_overlay_say_parting(&b, p->o, s->style.size);
    bool right = x + 320 < p->c.plot.x + p->c.plot.w;
    struct mt_mark *m = mt_scene_text_buf(s, right ? x + 6 : x - 6, top + 15, NORMAL,
                                          s->theme->trouble, 400, true, &b);
    m->anchor = right ? MT_ANCHOR_START : MT_ANCHOR_END;
    m->halo = true;
    mt_buf_release(&b);
}

static void draw_capacity(struct pen *p)
{
    struct mt_scene *s = p->c.scene;
    double bytes = (double)p->o->capacity, y = mt_chart_y(&p->c, bytes), x = p->c.plot.x;
    struct mt_buf b = {0};
    mt_buf_printf(&b, "capacity (--capacity) %s", mt_size_text(p->o->capacity, s->style.size).s);
    if (bytes > p->c.y_max) {
        mt_buf_text(&b, ", above the picture");
        y = p->c.plot.y;
    } else {
        mt_scene_line(s, x, y, x + p->c.plot.w, y, s->theme->trouble, 1.5);
    }
    struct mt_mark *m = mt_scene_text_buf(s, x + p->c.plot.w - 6, y + 15, 12, s->theme->trouble,
                                          p->c.plot.w, true, &b);
    m->anchor = MT_ANCHOR_END;
    m->halo = true;
    mt_buf_release(&b);
}

static void draw_foot(struct pen *p)
{
    struct mt_buf b = {0};
    const struct mt_box *area = &p->c.area;
    mt_buf_text(&b, p->o->segments ? "solid: reserved; dashed: in use"
                                   : "solid: in use; dashed: reserved");
    mt_buf_text(&b, "; maximum within each pixel");
    mt_buf_text(&b, p->o->lead > 0 ? "; set-up: before the first step" : "");
    mt_scene_text_buf(p->c.scene, p->c.plot.x, area->y + area->h - 8, SMALL,
                      p->c.scene->theme->faint, p->c.plot.w, false, &b);
    mt_buf_release(&b);
}

static void draw_panel(struct mt_scene *s, const struct mt_overlay *o, struct mt_box area,
                       double y_max)
{
    static const struct mt_timeline NO_TIMELINE = {0}; /* axes of bytes alone */
    const struct mt_trace_panel panel = {.timeline = &NO_TIMELINE};
    struct pen p = {.c = {.scene = s, .panel = &panel, .area = area, .y_max = y_max}, .o = o};
    double top = draw_head(&p) + 20, bottom = area.y + area.h - FOOT;
    bool two = o->n == 2;
    p.below = two ? (struct mt_box){0, bottom - DIFFERENCE_H, 0, DIFFERENCE_H} : p.below;
    double plot_end = two ? p.below.y - 30 : bottom;
    p.c.plot = (struct mt_box){area.x + LEFT, top, area.w - LEFT - MARGIN, plot_end - top};
    mt_chart_axes(&p.c);
    if (y_max <= 0) {
        return;
    }
    if (two) {
        draw_strip(&p);
    }
    draw_x_axis(&p);
    if (two) {
        struct mt_buf b = {0};
        mt_buf_str(&b, mt_overlay_name(o, 1));
        mt_buf_text(&b, " minus ");
        mt_buf_str(&b, mt_overlay_name(o, 0));
        mt_scene_text_buf(s, p.c.plot.x + 8, p.below.y - 7, NORMAL, s->theme->muted, p.c.plot.w,
                          false, &b);
        mt_buf_release(&b);
        shade_all(&p, line_y, second_has_more, 0x48);
    }
    for (size_t i = o->n; i > 0; i--) {
        draw_run(&p, i - 1);
    }
    if (o->capacity) {
        draw_capacity(&p);
    }
    if (two && o->differs) {
        mark_parting(&p);
    }
    draw_foot(&p);
}

enum mt_status mt_overlay_scene(struct mt_scene *s, const struct mt_overlay *panels, size_t n,
                                struct mt_error *err)
{
    double y_max = 0, w = s->style.width > 0 ? s->style.width : PANEL_W;
    double h = s->style.height > 0 ? s->style.height / (double)(n ? n : 1) : PANEL_H;
    double least = 420 + ROW * MT_OVERLAY_RUNS;
    h = h < least ? least : h;
    for (size_t i = 0; i < n; i++) {
        double most = 1.1 * (double)mt_overlay_highest(&panels[i]);
        y_max = most > y_max ? most : y_max;
    }
    s->width = w;
    s->height = h * (double)n;
    mt_scene_rect(s, 0, 0, s->width, s->height, s->theme->background);
    for (size_t i = 0; i < n; i++) {
        draw_panel(s, &panels[i], (struct mt_box){0, h * (double)i, w, h}, y_max);
    }
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}
