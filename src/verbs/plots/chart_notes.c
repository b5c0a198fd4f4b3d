/* SPDX-License-Identifier: MIT */
/*
 * Labels on a chart. They are placed greedily: each tries a few places near its point and takes the
 * first that no earlier label or mark has and that the curves leave alone; so the important ones
 * come first, and nothing is ever printed over something else. What the headings say as well is
 * left out where there is no such place; the rest lies on bands then, at worst on a line.
 */
#include "verbs/plots/chart.h"
#include "verbs/plots/trace/trace_words.h"

#define SIZE_PX 12.0
#define HEIGHT_PX 15.0

enum crossing { CLEAR, ON_BANDS, ON_LINES };

void mt_chart_take(struct mt_chart *c, struct mt_box box)
{
    if (c->n_taken < MT_CHART_LABELS) {
        c->taken[c->n_taken++] = box;
    }
}

static bool overlap(struct mt_box a, struct mt_box b, double gap)
{
    return a.x < b.x + b.w + gap && b.x < a.x + a.w + gap && a.y < b.y + b.h && b.y < a.y + a.h;
}

static bool is_free(const struct mt_chart *c, struct mt_box b)
{
    const struct mt_box *p = &c->plot;
    if (b.x < p->x + 2 || b.x + b.w > p->x + p->w - 2 || b.y < p->y - 4 ||
        b.y + b.h > p->y + p->h) {
        return false;
    }
    for (size_t i = 0; i < c->n_taken; i++) {
        if (overlap(b, c->taken[i], 4)) {
            return false;
        }
    }
    return true;
}

/* Whether a label would cover a line, or lie on bands. */
static enum crossing find_crossing(const struct mt_chart *c, struct mt_box b)
{
    const struct mt_timeline *t = c->panel->timeline;
    uint64_t bound = mt_trace_bound(c->panel);
    double capacity = mt_chart_y(c, (double)bound), before = 0;
    bool memory = c->panel->options->subject == MT_TIMELINE_MEMORY;
    enum crossing worst = CLEAR;
    if (bound > 0 && capacity >= b.y - 1 && capacity <= b.y + b.h) {
        return ON_LINES;
    }
    for (size_t i = 0; i < t->samples.n; i++) {
        double x = mt_chart_x(c, t->samples.v[i].x);
        const struct mt_timeline_sample *s = &t->samples.v[i];
        double y = mt_chart_y(c, (double)(memory ? s->reserved : s->live)); /* the line drawn */
        double top = mt_chart_y(c, (double)t->samples.v[i].total);
        double lo = i && before < y ? before : y, hi = i && before > y ? before : y;
        double next = mt_chart_x(c, i + 1 < t->samples.n ? t->samples.v[i + 1].x : 1);
        bool in_it = next >= b.x - 2 && x <= b.x + b.w + 2;
        bool level = in_it && y >= b.y - 1 && y <= b.y + b.h;
        bool step = x >= b.x - 2 && x <= b.x + b.w + 2 && hi >= b.y - 1 && lo <= b.y + b.h;
        if (level || step) {
            return ON_LINES;
        }
        worst = in_it && top < b.y + b.h ? ON_BANDS : worst;
        before = y;
    }
    return worst;
}

/* The thin line from the label in b to its point, when they are apart and on one height or below
 * each other; false: there is none. */
static bool find_tie(struct mt_box b, double x, double y, struct mt_box *line)
{
    bool adjoins = (b.x + b.w <= x && b.x + b.w > x - 14) || (b.x >= x && b.x < x + 14);
    if (b.y + b.h < y - 30 && adjoins) {
        *line = (struct mt_box){x, b.y + 2, 0, y - b.y - 7};
        return true;
    }
    *line = (struct mt_box){b.x + b.w + 5, y, x - b.x - b.w - 11, 0};
    return y > b.y + 2 && y < b.y + b.h - 2 && b.x + b.w < x - 20;
}

/* Whether it would meet a line, which it would be taken for a part of, or a label. */
static bool tie_is_crossed(const struct mt_chart *c, struct mt_box line)
{
    struct mt_box inner = {line.x, line.y, line.w > 14 ? line.w - 14 : line.w, line.h + 1};
    bool level = line.h == 0; /* a vertical one ends at its own mark */
    for (size_t i = 0; i < c->n_taken && level; i++) {
        if (overlap(inner, c->taken[i], 0)) {
            return true;
        }
    }
    return find_crossing(c, line) == ON_LINES;
}

static void put_note(struct mt_chart *c, struct mt_box b, uint32_t color, const char *text)
{
    mt_chart_take(c, b);
    mt_scene_text_fit(c->scene, b.x, b.y + 12, SIZE_PX, color, b.w + 1, true, text)->halo = true;
}

enum { NEAR_ROWS = 3, NEAR_COLUMNS = 3, FAR_ROWS = 13, FAR_COLUMNS = 6 };

/* Tries `rows` times `columns` places and takes the first that is crossed by nothing worse. */
static bool place(struct mt_chart *c, const struct mt_note *n, size_t rows, size_t columns,
                  enum crossing worst)
{
    double w = mt_text_px(n->text, SIZE_PX, true), h = HEIGHT_PX, x = n->x, y = n->y;
    /* Above, beside, below, then further away; each centred, to the left, to the right; and beside,
     * where a line ties it to the point, further to the left. */
    const double ys[FAR_ROWS] = {y - 6 - h,   y - h / 2,   y + 8,      y - 24 - h, y + 26,
                                 y - 42 - h,  y + 44,      y - 60 - h, y - 80 - h, y - 100 - h,
                                 y - 120 - h, y - 160 - h, y - 200 - h};
    const double xs[FAR_COLUMNS] = {x - w / 2,  x - w - 6,  x + 6,
                                    x - w - 40, x - w - 80, x - w - 130};
    for (size_t i = 0; i < rows * columns && c->n_taken < MT_CHART_LABELS; i++) {
        size_t row = i / columns, column = i % columns;
        bool beside = row == 1;
        double away = beside ? column == 2 ? 6 : -6 : 0;
        struct mt_box b = {xs[column] + away, ys[row], w, h};
        bool misplaced = beside ? column == 0 : column > 2;
        if (misplaced || !is_free(c, b) || find_crossing(c, b) > worst) {
            continue;
        }
        struct mt_box line;
        bool tied = find_tie(b, x, y, &line), crossed = tied && tie_is_crossed(c, line);
        if (crossed && worst < ON_LINES) {
            continue;
        }
        if (tied && !crossed) {
            mt_scene_line(c->scene, line.x, line.y, line.x + line.w, line.y + line.h,
                          (n->color & 0xffffff00) | 0x80, 1);
        }
        put_note(c, b, n->color, n->text);
        return true;
    }
    return false;
}

bool mt_chart_note_near(struct mt_chart *c, const struct mt_note *n)
{
    return place(c, n, NEAR_ROWS, NEAR_COLUMNS, CLEAR);
}

bool mt_chart_note(struct mt_chart *c, const struct mt_note *n)
{
    return place(c, n, FAR_ROWS, FAR_COLUMNS, CLEAR);
}

bool mt_chart_note_anyhow(struct mt_chart *c, const struct mt_note *n)
{
    return mt_chart_note_near(c, n) || place(c, n, NEAR_ROWS, NEAR_COLUMNS, ON_BANDS) ||
           mt_chart_note(c, n) || place(c, n, FAR_ROWS, FAR_COLUMNS, ON_BANDS) ||
           place(c, n, FAR_ROWS, FAR_COLUMNS, ON_LINES);
}
