/* SPDX-License-Identifier: MIT */
/* An overlay in characters: what two runs have in common is one fill, what one has more another. */
#include <math.h>
#include <string.h>

#include "draw/axis.h"
#include "draw/paint/term_draw.h"
#include "draw/palette.h"
#include "verbs/plots/overlay/overlay.h"

#define LEFT 11

struct term {
    const struct mt_overlay *o;
    const struct mt_term_style *style;
    const struct mt_theme *theme;
    struct mt_canvas canvas;
    double y_max;
    int columns, rows;
};

static uint32_t color_of(const struct term *t, size_t run)
{
    return t->theme->deep[t->o->runs[run].color % MT_HUES];
}

/* The most of a run in a column of characters; false: it has ended before. */
static bool most_of(const struct term *t, size_t run, int column, uint64_t *most)
{
    const struct mt_overlay_run *x = &t->o->runs[run];
    size_t from = (size_t)column * MT_OVERLAY_COLUMNS / (size_t)t->columns;
    size_t to = (size_t)(column + 1) * MT_OVERLAY_COLUMNS / (size_t)t->columns;
    *most = 0;
    for (size_t i = from; i < to && i < x->columns; i++) {
        *most = x->most[i] > *most ? x->most[i] : *most;
    }
    return from < x->columns;
}

static int height_of(const struct term *t, uint64_t bytes)
{
    return (int)floor((double)bytes / t->y_max * t->rows + 0.5);
}

/* Up to where all reach one fill; above it that of the run that reaches there. */
static void draw_column(struct term *t, int column)
{
    int top[MT_OVERLAY_RUNS], all = t->rows;
    for (size_t i = 0; i < t->o->n; i++) {
        uint64_t most;
        top[i] = most_of(t, i, column, &most) ? height_of(t, most) : 0;
        all = top[i] < all ? top[i] : all;
    }
    all = t->o->n > 1 ? all : 0;
    bool ascii = t->style->charset == MT_TERM_ASCII;
    for (int up = 0; up < t->rows; up++) {
        int row = t->rows - 1 - up;
        if (up < all) {
            mt_canvas_put(&t->canvas, LEFT + column, row, ascii ? ":" : "\u2591", 0);
            continue;
        }
        for (size_t i = 0; i < t->o->n; i++) {
            if (up < top[i]) {
                mt_canvas_put(&t->canvas, LEFT + column, row,
                              mt_term_fill(t->style, t->o->runs[i].color), color_of(t, i));
                break;
            }
        }
    }
}

static void draw_axes(struct term *t)
{
    struct mt_axis a;
    mt_axis_bytes(&a, t->y_max, t->rows > 12 ? 5 : 3);
    for (int row = 0; row < t->rows; row++) {
        mt_canvas_put(&t->canvas, LEFT - 1, row, mt_term_sign(t->style, MT_SIGN_BAR), 0);
    }
    for (size_t i = 0; i < a.n && a.ticks[i].value < t->y_max; i++) {
        int row = t->rows - height_of(t, (uint64_t)a.ticks[i].value);
        mt_canvas_text(&t->canvas, LEFT - 2 - (int)strlen(a.ticks[i].label), row, a.ticks[i].label,
                       0);
    }
    mt_canvas_put(&t->canvas, LEFT - 1, t->rows, mt_term_sign(t->style, MT_SIGN_CORNER), 0);
    for (int x = 0; x < t->columns; x++) {
        mt_canvas_put(&t->canvas, LEFT + x, t->rows, mt_term_sign(t->style, MT_SIGN_LINE), 0);
    }
}

static void draw_x_axis(struct term *t)
{
    static const char *const NAMES[] = {"", "step", "event", "time"};
    const struct mt_overlay *o = t->o;
    struct mt_axis a;
    int want = t->columns / 14 > 2 ? t->columns / 14 : 2, free_from = 0;
    if (o->span <= 0) {
        return;
    }
    if (o->axis == MT_OVERLAY_TIME) {
        mt_axis_time(&a, o->span, (size_t)want);
    } else {
        mt_axis_counts(&a, 0, o->span - o->lead, (size_t)want);
    }
    const char *name = NAMES[o->axis];
    mt_canvas_text(&t->canvas, LEFT - 2 - (int)strlen(name), t->rows + 1, name, 0);
    for (size_t i = 0; i < a.n; i++) {
        int n = (int)strlen(a.ticks[i].label);
        int x = (int)((a.ticks[i].value + o->lead) / o->span * t->columns) - n / 2;
        x = x < 0 ? 0 : x + n > t->columns ? t->columns - n : x;
        if (x >= free_from) {
            mt_canvas_text(&t->canvas, LEFT + x, t->rows + 1, a.ticks[i].label, 0);
            free_from = x + n + 2;
        }
    }
    int part = (int)(o->first.x * t->columns);
    if (o->differs) {
        mt_canvas_put(&t->canvas, LEFT + part, t->rows, mt_term_sign(t->style, MT_SIGN_CROSS),
                      t->theme->trouble);
    }
}

static void put_head(struct term *t, struct mt_buf *out)
{
    struct mt_buf b = {0};
    mt_buf_text(&b, t->o->segments ? "Reserved memory of the runs, overlaid"
                                   : "Memory of the runs, overlaid");
    mt_term_lines(t->style, out, &b, 0);
    for (size_t i = 0; i < t->o->n; i++) {
        mt_buf_reset(&b);
        mt_buf_str(&b, mt_overlay_name(t->o, i));
        mt_buf_text(&b, ": ");
        mt_overlay_say_run(&b, t->o, i, t->style->size);
        mt_term_ink(t->style, color_of(t, i), out);
        mt_buf_printf(out, "%s ", mt_term_fill(t->style, t->o->runs[i].color));
        mt_term_ink_end(t->style, out);
        mt_term_lines(t->style, out, &b, 0);
    }
    if (t->o->n > 1) {
        mt_buf_printf(out, "%s what all have\n",
                      t->style->charset == MT_TERM_ASCII ? ":" : "\u2591");
    }
    mt_buf_reset(&b);
    mt_overlay_say_difference(&b, t->o, t->style->size);
    if (b.n) {
        mt_term_lines(t->style, out, &b, 0);
    }
    mt_buf_release(&b);
    mt_buf_char(out, '\n');
}

static bool draw_panel(struct term *t, struct mt_buf *out)
{
    put_head(t, out);
    if (t->y_max <= 0) {
        mt_buf_text(out, "nothing to draw\n");
        return true;
    }
    if (!mt_canvas_init(&t->canvas, t->style->width, t->rows + 2, t->style)) {
        return false;
    }
    for (int x = 0; x < t->columns; x++) {
        draw_column(t, x);
    }
    draw_axes(t);
    draw_x_axis(t);
    mt_canvas_write(&t->canvas, out);
    mt_canvas_release(&t->canvas);
    if (t->o->differs) {
        struct mt_buf b = {0};
        mt_buf_printf(&b, "%s ", mt_term_sign(t->style, MT_SIGN_CROSS));
        mt_overlay_say_parting(&b, t->o, t->style->size);
        mt_term_lines(t->style, out, &b, 0);
        mt_buf_release(&b);
    }
    return true;
}

enum mt_status mt_overlay_term(const struct mt_overlay *panels, size_t n,
                               const struct mt_plot_style *style, const struct mt_term_style *term,
                               struct mt_buf *out, struct mt_error *err)
{
    bool fine = true;
    uint64_t highest = 0;
    for (size_t i = 0; i < n; i++) { /* only lines of what is in use are drawn */
        for (size_t k = 0; k < panels[i].n; k++) {
            uint64_t peak = panels[i].runs[k].timeline->peak;
            highest = peak > highest ? peak : highest;
        }
    }
    for (size_t i = 0; fine && i < n; i++) {
        struct term t = {.o = &panels[i],
                         .style = term,
                         .theme = mt_theme_get(style->theme),
                         .y_max = 1.04 * (double)highest,
                         .rows = term->height,
                         .columns = term->width - LEFT};
        mt_buf_text(out, i ? "\n" : "");
        fine = draw_panel(&t, out);
    }
    return fine && !out->failed ? MT_OK : mt_fail_nomem(err);
}
