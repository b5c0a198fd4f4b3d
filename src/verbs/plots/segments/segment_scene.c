/* SPDX-License-Identifier: MIT */
/*
 * The allocator's state as a scene: headings, then a group of rows for each pool and stream, the
 * legend beside them or below. What fills the rows is drawn by segment_pieces.c.
 */
#include <math.h>

#include "support/checked.h"
#include "support/compiler.h"
#include "verbs/plots/segments/segment_picture.h"

#define LEGEND_W 384.0
#define GAP 28.0
#define TOP 82.0
#define WIDE 900.0 /* from here on the legend stands on the right */
#define LABEL_LINE 15.0
#define MOST_GROUPS 60u /* that are drawn */

/* ---- groups ---- */

static void label_line(struct mt_segment_picture *p, double *y, uint32_t color, bool bold,
                       const struct mt_buf *text)
{
    mt_scene_text_buf(p->scene, MT_SEGMENT_MARGIN + 8, *y, bold ? 12.5 : 11.5, color,
                      MT_SEGMENT_LABEL_W - 12, bold, text);
    *y += LABEL_LINE;
}

void mt_segment_say_in_use(struct mt_buf *b, const struct mt_state_sum *sum,
                           struct mt_size_format f)
{
    uint64_t in_use = sum->allocated + sum->pending;
    mt_buf_printf(b, "in use %s (%.0f %%)", mt_size_text(in_use, f).s,
                  sum->reserved ? 100 * (double)in_use / (double)sum->reserved : 0);
    if (sum->pending) {
        mt_buf_printf(b, ", %s of it freed and waiting", mt_size_text(sum->pending, f).s);
    }
}

void mt_segment_say_free(struct mt_buf *b, const struct mt_state_sum *sum, struct mt_size_format f)
{
    uint64_t between = sum->free - sum->empty;
    mt_buf_printf(b, "free %s", mt_size_text(sum->free, f).s);
    if (sum->free == 0) {
        return;
    }
    mt_buf_text(b, sum->empty && between ? ": " : ", all ");
    if (sum->empty) {
        mt_buf_printf(b, "%s%sin %s empty %s", between ? mt_size_text(sum->empty, f).s : "",
                      between ? " " : "", mt_count_text(sum->empty_segments).s,
                      sum->empty_segments == 1 ? "segment" : "segments");
    }
    if (between && sum->empty) {
        mt_buf_printf(b, ", %s ", mt_size_text(between, f).s);
    }
    mt_buf_text(b, between ? "between blocks" : "");
    mt_buf_printf(b, " \xc2\xb7 largest hole %s", mt_size_text(sum->largest_hole, f).s);
}

static void group_names(const struct mt_row_group *g, struct mt_buf *main, struct mt_buf *sub)
{
    bool private = g->pool.a || g->pool.b;
    const char *kind = g->kind == MT_POOL_SMALL ? "small" : "large";
    if (private) {
        mt_buf_printf(main, "private pool %lld,%lld", (long long)g->pool.a, (long long)g->pool.b);
        mt_buf_printf(sub, "%s, %s, ", g->pool.a ? "CUDA graph" : "MemPool", kind);
    } else {
        mt_buf_printf(main, "%s pool", kind);
    }
    mt_buf_printf(sub, "stream %u", (unsigned)g->stream);
}

static void draw_group_label(struct mt_segment_picture *p, const struct mt_row_group *g,
                             double height)
{
    struct mt_buf line = {0}, sub = {0};
    const struct mt_theme *t = p->scene->theme;
    struct mt_size_format f = p->scene->style.size;
    double y = p->y + 11;
    bool private = g->pool.a || g->pool.b;
    group_names(g, &line, &sub);
    mt_scene_rect(p->scene, MT_SEGMENT_MARGIN, p->y, private ? 4 : 2, height,
                  private ? t->good : t->frame);
    label_line(p, &y, t->text, true, &line);
    label_line(p, &y, t->muted, false, &sub);
    mt_buf_reset(&line);
    mt_buf_printf(&line, "%s, %s free", mt_size_text(g->sum.reserved, f).s,
                  mt_size_text(g->sum.free, f).s);
    label_line(p, &y, t->muted, false, &line);
    if (g->sum.free) {
        mt_buf_reset(&line);
        mt_buf_printf(&line, "largest hole %s", mt_size_text(g->sum.largest_hole, f).s);
        label_line(p, &y, t->muted, false, &line);
    }
    if (g->zoom > 1) {
        mt_buf_reset(&line);
        mt_buf_printf(&line, "drawn %u times larger", g->zoom);
        label_line(p, &y, t->faint, false, &line);
    }
    mt_buf_release(&line);
    mt_buf_release(&sub);
}

static double group_height(const struct mt_segment_picture *p, const struct mt_row_group *g)
{
    double lines = (double)g->lines * p->pitch,
           label = LABEL_LINE * (3 + (g->sum.free > 0) + (g->zoom > 1));
    return lines > label ? lines : label;
}

static void draw_group(struct mt_segment_picture *p, const struct mt_row_group *g)
{
    double height = group_height(p, g);
    draw_group_label(p, g, height - 2);
    for (size_t i = 0; i < g->n_pieces; i++) {
        mt_segment_draw_piece(p, &p->rows.pieces.v[g->first_piece + i]);
    }
    p->y += height + MT_SEGMENT_GROUP_SPACE;
}

/* ---- the picture ---- */

/* Returns where they end. */
static double draw_headings(struct mt_segment_picture *p, double width)
{
    struct mt_scene *s = p->scene;
    struct mt_size_format f = s->style.size;
    double room = width - 2 * MT_SEGMENT_MARGIN, top = p->y;
    struct mt_buf b = {0};
    struct mt_mark *m = mt_scene_text_fit(s, MT_SEGMENT_MARGIN, top + 34, 19, s->theme->text, room,
                                          true, "Allocator state");
    double used = m->w + 14;
    mt_buf_str(&b, mt_str_basename(mt_str_from(p->panel->file)));
    mt_buf_printf(&b, " \xc2\xb7 device %zu", p->panel->state->device);
    mt_scene_text_buf(s, MT_SEGMENT_MARGIN + used, top + 34, 14, s->theme->muted, room - used,
                      false, &b);
    mt_buf_reset(&b);
    mt_buf_printf(&b, "%s \xc2\xb7 reserved %s", p->panel->moment,
                  mt_size_text(p->sum.reserved, f).s);
    if (p->sum.reserved) {
        mt_buf_text(&b, " \xc2\xb7 ");
        mt_segment_say_in_use(&b, &p->sum, f);
        mt_buf_text(&b, " \xc2\xb7 ");
        mt_segment_say_free(&b, &p->sum, f);
    }
    if (p->panel->state->unmatched) {
        mt_buf_printf(&b, " \xc2\xb7 %s events do not fit, so this is not exact",
                      mt_count_text(p->panel->state->unmatched).s);
    }
    double y =
        mt_scene_text_lines(s, MT_SEGMENT_MARGIN, top + 56, 12.5, s->theme->muted, room, false, &b);
    mt_buf_reset(&b);
    if (mt_segment_oom(p->panel)) {
        y = mt_segment_say_refusal(p, mt_segment_oom(p->panel), y, room);
    } else if (mt_segment_say_earlier(&b, p->panel, f)) {
        y = mt_scene_text_lines(s, MT_SEGMENT_MARGIN, y + 19, 12.5, s->theme->trouble, room, false,
                                &b);
    }
    s->failed |= b.failed;
    mt_buf_release(&b);
    return y + TOP - 56;
}

/* Tall bars for few lines; fewer and shorter tips for many blocks: an SVG stays below 2 MiB. */
static void choose_detail(struct mt_segment_picture *p)
{
    size_t lines = 0, blocks = p->panel->state->n_blocks;
    for (size_t i = 0; i < p->rows.groups.n; i++) {
        lines += p->rows.groups.v[i].lines;
    }
    p->bar = lines <= 8 ? 30 : lines <= 16 ? 22 : 14;
    p->pitch = p->bar + (lines <= 16 ? 6 : 4);
    p->least_px = blocks > 12000 ? 2 : blocks > 4000 ? 1.2 : 0.8;
    p->tip_frames = blocks > 8000 ? 0 : blocks > 2500 ? 2 : 6;
}

static void sum_up(struct mt_segment_picture *p)
{
    for (size_t i = 0; i < p->panel->state->n_segments; i++) {
        mt_state_add_segment(p->panel->state, i, &p->sum);
    }
}

/* What stands below the last group that has a place. */
static void draw_left_out(struct mt_segment_picture *p)
{
    struct mt_buf b = {0};
    uint64_t reserved = 0;
    for (size_t i = MOST_GROUPS; i < p->rows.groups.n; i++) {
        reserved = mt_add_sat(reserved, p->rows.groups.v[i].sum.reserved);
    }
    mt_buf_printf(&b, "%zu more pools and streams, %s reserved, have no room here",
                  p->rows.groups.n - MOST_GROUPS, mt_size_text(reserved, p->scene->style.size).s);
    mt_scene_text_buf(p->scene, p->x, p->y + 12, 12, p->scene->theme->muted, p->w, false, &b);
    p->y += 28;
    mt_buf_release(&b);
}

static void draw_state(struct mt_segment_picture *p, double width, double *bottom)
{
    struct mt_box legend = {width - MT_SEGMENT_MARGIN - LEGEND_W, p->y, LEGEND_W, 0};
    bool right = width >= WIDE;
    choose_detail(p);
    if (mt_segment_oom(p->panel)) {
        mt_segment_draw_request(p, mt_segment_oom(p->panel));
    }
    for (size_t i = 0; i < p->rows.groups.n && i < MOST_GROUPS; i++) {
        draw_group(p, &p->rows.groups.v[i]);
    }
    if (p->rows.groups.n > MOST_GROUPS) {
        draw_left_out(p);
    }
    if (!right) {
        legend = (struct mt_box){MT_SEGMENT_MARGIN, p->y + 8, width - 2 * MT_SEGMENT_MARGIN, 0};
    }
    double end = mt_segment_draw_legend(p, legend);
    *bottom = (p->y > end ? p->y : end) + 12;
}

static void draw_panel(struct mt_segment_picture *p, double width, double *bottom)
{
    enum { LINES = 34 };
    sum_up(p);
    p->x = MT_SEGMENT_MARGIN + MT_SEGMENT_LABEL_W;
    p->w = width - MT_SEGMENT_MARGIN - p->x - (width >= WIDE ? LEGEND_W + GAP : 0);
    const struct mt_rows_style style = {
        .width = p->w, .lines = LINES, .spacing = 3, .narrow = 8, .gap = 14};
    bool fine = mt_holders_find(&p->holders, p->panel->snapshot, p->panel->state, p->scene->theme,
                                p->panel->look) &&
                mt_rows_lay_out(&p->rows, p->panel->state, &style);
    p->scene->failed |= !fine;
    p->y = draw_headings(p, width);
    if (fine && p->panel->state->n_segments > 0) {
        draw_state(p, width, bottom);
        return;
    }
    mt_scene_text(p->scene, width / 2, p->y + 80, 14, p->scene->theme->muted,
                  "nothing was reserved")
        ->anchor = MT_ANCHOR_MIDDLE;
    *bottom = p->y + 160;
}

enum mt_status mt_plot_segments(struct mt_scene *s, const struct mt_segment_panel *panels, size_t n,
                                struct mt_error *err)
{
    double width = s->style.width > 0 ? s->style.width : 1280, y = 0;
    mt_scene_rect(s, 0, 0, width, 0, s->theme->background);
    for (size_t i = 0; i < n; i++) {
        struct mt_segment_picture p = {.scene = s, .panel = &panels[i], .y = y};
        draw_panel(&p, width, &y);
        mt_rows_release(&p.rows);
    }
    double height = s->style.height > y ? s->style.height : y > 200 ? ceil(y) : 200;
    s->width = width;
    s->height = height;
    if (s->marks.n) {
        s->marks.v[0].h = height;
    }
    if (n > 0) {
        struct mt_buf title = {0};
        mt_buf_text(&title, "Allocator state of ");
        mt_buf_str(&title, mt_str_basename(mt_str_from(panels[0].file)));
        mt_buf_printf(&title, ", %s", panels[0].moment);
        s->title = mt_scene_take(s, &title);
    }
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}
