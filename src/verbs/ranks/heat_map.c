/* SPDX-License-Identifier: MIT */
/*
 * Where all ranks have times and were recorded together, a column is one moment of all of them;
 * else each row goes from its own first event to its last. Neighbours of one shade are one
 * rectangle.
 */
#include "verbs/ranks/heat_map.h"

#include <inttypes.h>
#include <stdio.h>

#include "draw/axis.h"
#include "draw/scene.h"

#define WIDTH 1280.0
#define LEFT 84.0
#define HEAT_W 700.0
#define BAR_X (LEFT + HEAT_W + 30)
#define BAR_W 320.0
#define TOP 108.0
#define FOOT 74.0
#define SHADES 16
enum { SHARP = 2 };

struct pen {
    struct mt_scene *s;
    const struct mt_rank_picture *what;
    size_t rows, together; /* ranks in a row */
    double row_h;
    uint64_t most; /* bytes of the darkest shade, and of the longest bar */
    bool common;   /* one axis of time */
    int64_t first_us, last_us;
};

/* ---- scales ---- */

static const struct mt_rank *rank_at(const struct pen *p, size_t i)
{
    return &p->what->ranks->ranks.v[i];
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The recordings overlap, all of them. */
static void find_axis(struct pen *p)
{
    int64_t latest = INT64_MIN, earliest_end = INT64_MAX;
    bool any = false;
    p->common = true;
    p->first_us = INT64_MAX;
    p->last_us = INT64_MIN;
    for (size_t i = 0; i < p->what->ranks->ranks.n; i++) {
        const struct mt_rank_curve *c = rank_at(p, i)->curve;
        if (!c) {
            continue;
        }
        any = true;
        p->common &= c->timed;
        p->first_us = c->first_us < p->first_us ? c->first_us : p->first_us;
        p->last_us = c->last_us > p->last_us ? c->last_us : p->last_us;
        latest = c->first_us > latest ? c->first_us : latest;
        earliest_end = c->last_us < earliest_end ? c->last_us : earliest_end;
    }
    p->common &= any && latest < earliest_end;
}

static void find_scale(struct pen *p)
{
    const struct mt_rank_range *figure = p->what->result->figure;
    p->most = larger(figure[MT_RANK_PEAK].max, figure[MT_RANK_RESERVED].max);
    if (p->what->capacity / 3 <= p->most) {
        p->most = larger(p->most, p->what->capacity);
    }
    p->most = larger(p->most, 1);
}

/* The most of a rank in column `i` of the picture; false: it was not recorded then. */
static bool most_in_column(const struct pen *p, const struct mt_rank_curve *c, int i,
                           uint64_t *most)
{
    double from = i, to = i + 1;
    if (p->common) {
        double all = (double)p->last_us - (double)p->first_us;
        double own = (double)c->last_us - (double)c->first_us;
        double begin = ((double)c->first_us - (double)p->first_us) / all * MT_RANK_COLUMNS;
        from = (from - begin) * all / own;
        to = (to - begin) * all / own;
    }
    if (to <= 0 || from >= MT_RANK_COLUMNS) {
        return false;
    }
    size_t lo = from > 0 ? (size_t)from : 0, hi = (size_t)to;
    hi = hi > lo ? hi : lo + 1;
    for (size_t k = lo; k < hi && k < MT_RANK_COLUMNS; k++) {
        *most = larger(*most, c->most[k]);
    }
    return true;
}

/* ---- shades ---- */

static uint32_t mix(uint32_t a, uint32_t b, double share)
{
    uint32_t out = 0xff;
    for (int shift = 8; shift < 32; shift += 8) {
        double x = a >> shift & 255, y = b >> shift & 255;
        out |= (uint32_t)(x + (y - x) * share + 0.5) << shift;
    }
    return out;
}

/* From the ground over the first hue to the ink of the theme. */
static uint32_t shade(const struct pen *p, int level)
{
    const struct mt_theme *t = p->s->theme;
    double share = (double)level / (SHADES - 1);
    return share < 0.6 ? mix(t->panel, t->deep[0], share / 0.6)
                       : mix(t->deep[0], t->text, (share - 0.6) / 0.4);
}

static int level_of(const struct pen *p, uint64_t bytes)
{
    int level = (int)((double)bytes / (double)p->most * SHADES);
    return bytes == 0 ? 0 : level >= SHADES ? SHADES - 1 : level < 1 ? 1 : level;
}

/* ---- rows ---- */

static void row_levels(const struct pen *p, size_t row, int *levels)
{
    size_t end = (row + 1) * p->together;
    for (int i = 0; i < MT_RANK_COLUMNS; i++) {
        uint64_t most = 0;
        bool any = false;
        for (size_t k = row * p->together; k < end && k < p->what->ranks->ranks.n; k++) {
            const struct mt_rank_curve *c = rank_at(p, k)->curve;
            any |= c && most_in_column(p, c, i, &most);
        }
        levels[i] = any ? level_of(p, most) : -1;
    }
}

static void draw_heat(struct pen *p, size_t row)
{
    int levels[MT_RANK_COLUMNS];
    double y = TOP + (double)row * p->row_h, unit = HEAT_W / MT_RANK_COLUMNS;
    row_levels(p, row, levels);
    for (int from = 0, to; from < MT_RANK_COLUMNS; from = to) {
        for (to = from + 1; to < MT_RANK_COLUMNS && levels[to] == levels[from]; to++) {
        }
        if (levels[from] >= 0) {
            mt_scene_rect(p->s, LEFT + from * unit, y, (to - from) * unit,
                          p->row_h > 6 ? p->row_h - 1 : p->row_h, shade(p, levels[from]));
        }
    }
}

static bool is_odd(const struct pen *p, size_t index)
{
    for (size_t i = 0; i < p->what->result->outliers.n; i++) {
        if (p->what->result->outliers.v[i].index == index) {
            return true;
        }
    }
    return false;
}

struct row {
    int64_t first, last;
    uint64_t peak, reserved;
    bool odd;
};

static struct row row_of(const struct pen *p, size_t row)
{
    size_t from = row * p->together, end = from + p->together;
    struct row x = {.first = rank_at(p, from)->rank};
    for (size_t k = from; k < end && k < p->what->ranks->ranks.n; k++) {
        const struct mt_rank *rank = rank_at(p, k);
        x.last = rank->rank;
        x.odd |= is_odd(p, k);
        x.peak = larger(x.peak, rank->figure[MT_RANK_PEAK]);
        x.reserved = larger(x.reserved, rank->figure[MT_RANK_RESERVED]);
    }
    return x;
}

/* Names of rows stand where they have room: all, or each so many-th. Odd ones have a mark always.
 */
static void draw_name(struct pen *p, size_t row, const struct row *x)
{
    const struct mt_theme *t = p->s->theme;
    double y = TOP + (double)row * p->row_h + p->row_h / 2;
    size_t each = p->row_h >= 11 ? 1 : (size_t)(14 / p->row_h) + 1;
    char name[64];
    if (x->odd) {
        mt_scene_rect(p->s, LEFT - 7, y - p->row_h / 2, 5, p->row_h > 3 ? p->row_h - 1 : p->row_h,
                      t->trouble);
    }
    if (row % each) {
        return;
    }
    if (x->first == x->last) {
        (void)snprintf(name, sizeof name, "%" PRId64, x->first);
    } else {
        (void)snprintf(name, sizeof name, "%" PRId64 "-%" PRId64, x->first, x->last);
    }
    struct mt_mark *m = mt_scene_text(p->s, LEFT - 12, y + 4, 11,
                                      x->odd && each == 1 ? t->trouble : t->muted, name);
    m->anchor = MT_ANCHOR_END;
    m->bold = x->odd && each == 1;
}

static double bar_x(const struct pen *p, uint64_t bytes)
{
    return (double)bytes / (double)p->most * BAR_W;
}

static void draw_bar(struct pen *p, size_t row, const struct row *x)
{
    const struct mt_theme *t = p->s->theme;
    double y = TOP + (double)row * p->row_h, h = p->row_h > 3 ? p->row_h - 1 : p->row_h;
    uint32_t color = x->odd ? t->trouble : t->deep[0];
    mt_scene_rect(p->s, BAR_X, y, bar_x(p, larger(x->reserved, x->peak)), h, t->older);
    mt_scene_rect(p->s, BAR_X, y, bar_x(p, x->peak), h, color);
    if (p->row_h >= 12) {
        double at = bar_x(p, larger(x->reserved, x->peak)) + 6;
        mt_scene_text_fit(p->s, BAR_X + at, y + p->row_h / 2 + 4, 11, t->muted,
                          WIDTH - BAR_X - at - 6, false, mt_size_text(x->peak, p->s->style.size).s)
            ->halo = true;
    }
}

/* A cross where a rank first ran out of memory. */
static void mark_oom(struct pen *p, size_t index)
{
    const struct mt_rank *rank = rank_at(p, index);
    const struct mt_rank_curve *c = rank->curve;
    if (rank->first_oom_us == MT_NO_TIME || !c || !c->timed) {
        return;
    }
    int64_t first = p->common ? p->first_us : c->first_us;
    int64_t last = p->common ? p->last_us : c->last_us;
    double share = ((double)rank->first_oom_us - (double)first) / ((double)last - (double)first);
    double x = LEFT + HEAT_W * (share < 0 ? 0 : share > 1 ? 1 : share);
    double y = TOP + (double)(index / p->together) * p->row_h + p->row_h / 2;
    double r = p->row_h > 12 ? 4 : 3;
    mt_scene_line(p->s, x - r, y - r, x + r, y + r, p->s->theme->trouble, 2);
    mt_scene_line(p->s, x - r, y + r, x + r, y - r, p->s->theme->trouble, 2);
}

/* ---- around them ---- */

static void draw_axes(struct pen *p)
{
    const struct mt_theme *t = p->s->theme;
    double end = TOP + (double)p->rows * p->row_h;
    struct mt_axis a;
    if (p->common) {
        double span = (double)p->last_us - (double)p->first_us;
        mt_axis_time(&a, span, 7);
        for (size_t i = 0; i < a.n; i++) {
            double x = LEFT + HEAT_W * a.ticks[i].value / span;
            mt_scene_line(p->s, x, end, x, end + 5, t->frame, 1);
            mt_scene_text(p->s, x, end + 18, 11, t->muted, a.ticks[i].label)->anchor =
                MT_ANCHOR_MIDDLE;
        }
    } else {
        mt_scene_text(p->s, LEFT, end + 18, 11, t->muted,
                      "each row from its own first event to its last");
    }
    mt_axis_bytes(&a, (double)p->most, 4);
    for (size_t i = 0; i < a.n && a.ticks[i].value <= (double)p->most; i++) {
        double x = BAR_X + a.ticks[i].value / (double)p->most * BAR_W;
        mt_scene_line(p->s, x, TOP, x, end + 5, t->grid, 1);
        mt_scene_text(p->s, x, end + 18, 11, t->muted, a.ticks[i].label)->anchor = MT_ANCHOR_MIDDLE;
    }
}

static void draw_line(struct pen *p, uint64_t bytes, uint32_t color, const char *words, double dy)
{
    double x = BAR_X + bar_x(p, bytes), end = TOP + (double)p->rows * p->row_h;
    mt_scene_line(p->s, x, TOP - 4, x, end, color, 1.5)->dash = 4;
    struct mt_mark *m = mt_scene_text(p->s, x, TOP - 8 - dy, 11, color, words);
    m->anchor = MT_ANCHOR_MIDDLE;
    m->halo = true;
}

static void draw_key(struct pen *p)
{
    const struct mt_theme *t = p->s->theme;
    double y = TOP + (double)p->rows * p->row_h + 34, x = LEFT;
    mt_scene_text(p->s, x, y + 11, 11, t->muted, "0");
    x += 12;
    for (int i = 0; i < SHADES; i++, x += 12) {
        mt_scene_rect(p->s, x, y, 12, 14, shade(p, i));
    }
    mt_scene_text(p->s, x + 6, y + 11, 11, t->muted, mt_size_text(p->most, p->s->style.size).s);
    mt_scene_text(p->s, x + 110, y + 11, 11, t->muted,
                  p->together > 1 ? "in use; of the ranks in a row the most" : "in use");
    mt_scene_rect(p->s, BAR_X, y, 12, 12, t->deep[0]);
    mt_scene_text(p->s, BAR_X + 17, y + 11, 11, t->muted, "peak in use");
    mt_scene_rect(p->s, BAR_X + 100, y, 12, 12, t->older);
    mt_scene_text(p->s, BAR_X + 117, y + 11, 11, t->muted, "reserved at the end");
    mt_scene_rect(p->s, BAR_X + 240, y, 12, 12, t->trouble);
    mt_scene_text(p->s, BAR_X + 257, y + 11, 11, t->muted, "odd");
}

static void say_ranks(struct mt_buf *b, const struct pen *p)
{
    enum { MOST = 12 };
    const struct mt_ranks_result *x = p->what->result;
    mt_buf_text(b, x->outliers.n ? "Odd: rank " : "No rank is odd");
    for (size_t i = 0; i < x->outliers.n && i < MOST; i++) {
        mt_buf_printf(b, "%s%" PRId64, i ? ", " : "", rank_at(p, x->outliers.v[i].index)->rank);
    }
    if (x->outliers.n > MOST) {
        mt_buf_printf(b, " and %zu more", x->outliers.n - MOST);
    }
    size_t next, first = mt_ranks_first_oom(p->what->ranks, &next);
    if (first != SIZE_MAX) {
        mt_buf_printf(b, " \xc2\xb7 rank %" PRId64 " ran out of memory%s", rank_at(p, first)->rank,
                      next != SIZE_MAX ? " first" : "");
    }
    if (p->what->ranks->gaps.n + p->what->ranks->lost.n) {
        mt_buf_text(b, " \xc2\xb7 ranks are missing or not readable, the report names them");
    }
}

static void draw_head(struct pen *p)
{
    const struct mt_theme *t = p->s->theme;
    const struct mt_rank_range *peak = &p->what->result->figure[MT_RANK_PEAK];
    struct mt_size_format f = p->s->style.size;
    struct mt_buf b = {0};
    mt_buf_printf(&b, "Memory of %zu ranks over time", p->what->ranks->ranks.n);
    mt_scene_text_buf(p->s, 28, 34, 19, t->text, WIDTH - 56, true, &b);
    mt_buf_reset(&b);
    if (peak->n) {
        mt_buf_printf(&b, "peak %s to %s, median %s", mt_size_text(peak->min, f).s,
                      mt_size_text(peak->max, f).s, mt_size_text(peak->median, f).s);
        mt_scene_text_buf(p->s, 28, 56, 12.5, t->muted, WIDTH - 56, false, &b);
    }
    mt_buf_reset(&b);
    say_ranks(&b, p);
    mt_scene_text_buf(p->s, 28, 75, 12.5, p->what->result->outliers.n ? t->text : t->muted,
                      WIDTH - 56, p->what->result->outliers.n > 0, &b);
    mt_buf_release(&b);
    mt_scene_text(p->s, LEFT - 12, TOP - 8, 11, t->muted, "rank")->anchor = MT_ANCHOR_END;
}

enum mt_status mt_rank_picture_scene(struct mt_scene *s, const struct mt_rank_picture *what,
                                     struct mt_error *err)
{
    struct pen p = {.s = s, .what = what};
    size_t n = what->ranks->ranks.n;
    p.together = (n + MT_RANK_ROWS - 1) / MT_RANK_ROWS;
    p.together = p.together ? p.together : 1;
    p.rows = (n + p.together - 1) / p.together;
    p.row_h = p.rows <= 24 ? 24 : p.rows <= 64 ? 12 : 768 / (double)p.rows;
    find_axis(&p);
    find_scale(&p);
    s->width = WIDTH;
    s->height = TOP + (double)p.rows * p.row_h + FOOT;
    mt_scene_rect(s, 0, 0, s->width, s->height, s->theme->background);
    draw_head(&p);
    draw_axes(&p);
    mt_scene_rect(s, LEFT, TOP, HEAT_W, (double)p.rows * p.row_h, s->theme->gap);
    for (size_t i = 0; i < p.rows; i++) {
        struct row x = row_of(&p, i);
        draw_heat(&p, i);
        draw_name(&p, i, &x);
        draw_bar(&p, i, &x);
    }
    for (size_t i = 0; i < n; i++) {
        mark_oom(&p, i);
    }
    if (what->result->figure[MT_RANK_PEAK].n) {
        draw_line(&p, what->result->figure[MT_RANK_PEAK].median, s->theme->text, "median", 0);
    }
    if (what->capacity && what->capacity <= p.most) {
        draw_line(&p, what->capacity, s->theme->trouble, "capacity", 13);
    }
    draw_key(&p);
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}

enum mt_status mt_rank_picture_write(const struct mt_report *r, const struct mt_plot_format *format,
                                     const struct mt_rank_picture *what, struct mt_error *err)
{
    struct mt_plot_style style = {.size = r->size};
    struct mt_scene *scene = mt_scene_new(&style);
    enum mt_status status = scene ? mt_rank_picture_scene(scene, what, err) : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = format->paint(scene, SHARP, r->out, err);
    }
    mt_scene_free(scene);
    return status;
}
