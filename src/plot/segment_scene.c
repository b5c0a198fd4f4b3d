/* SPDX-License-Identifier: MIT */
/*
 * The allocator's state as a scene: a group of rows for each pool and stream, segments to scale,
 * blocks in the colour of their stack, holes left blank. Blocks too narrow to be seen are bundled
 * and drawn as what most of them are, so that the number of shapes follows the size of the picture.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <memtool/checked.h>
#include <memtool/compiler.h>

#include "chart.h"
#include "holders.h"
#include "rows.h"
#include "trace_words.h"

#define MARGIN 24.0
#define LABEL_W 196.0
#define LEGEND_W 384.0
#define GAP 28.0
#define TOP 82.0
#define WIDE 900.0 /* from here on the legend stands on the right */
#define LABEL_LINE 15.0
#define GROUP_SPACE 16.0
#define MOST_GROUPS 60u /* that are drawn */

struct picture {
    struct mt_scene *scene;
    const struct mt_segment_panel *panel;
    struct mt_rows rows;
    struct mt_state_sum sum;
    uint64_t gaps;
    double x, y, w;    /* of the lines; y moves down */
    double bar, pitch; /* height of a segment, distance of lines */
    double least_px;   /* narrower blocks are bundled */
    size_t tip_frames; /* frames in the tip of a block */
    bool hole_named;   /* the largest one */
    struct mt_holders holders;
};

/* ---- tips ---- */

static void add_lifetime(struct picture *p, struct mt_buf *b, size_t block)
{
    const struct mt_replay *r = p->panel->replay;
    size_t event = p->panel->state->alloc_event[block];
    if (event == MT_STATE_NO_EVENT) {
        mt_buf_text(b, r && r->n ? "\nolder than the trace" : "");
        return;
    }
    mt_buf_printf(b, "\nallocated at event %s", mt_count_text(event).s);
    if (r && event < r->n) {
        uint32_t end = r->partner[event];
        if (end == MT_NEVER) {
            mt_buf_text(b, ", alive at the end");
        } else {
            mt_buf_printf(b, ", freed at event %s", mt_count_text(end).s);
        }
    }
}

static uint32_t block_tip(struct picture *p, size_t block)
{
    const struct mt_block *k = &p->panel->state->blocks[block];
    struct mt_size_format f = p->scene->style.size;
    struct mt_buf b = {0};
    if (k->state == MT_BLOCK_INACTIVE) {
        mt_buf_printf(&b, "free: %s at 0x%llx", mt_size_text(k->size, f).s,
                      (unsigned long long)k->addr);
    } else {
        mt_buf_printf(&b, "%s at 0x%llx%s", mt_size_text(k->size, f).s, (unsigned long long)k->addr,
                      k->state == MT_BLOCK_PENDING ? ", freed, waiting for another stream" : "");
        if (k->requested < k->size) {
            mt_buf_printf(&b, "\nasked for %s", mt_size_text(k->requested, f).s);
        }
        add_lifetime(p, &b, block);
        if (p->tip_frames > 0) {
            mt_label_frames(&b, &p->scene->style, p->panel->snapshot, k->stack, p->tip_frames);
        }
    }
    return mt_scene_take(p->scene, &b);
}

/* ---- blocks ---- */

/* One block, or the part of it that lies on one line. */
struct shape {
    size_t block;
    double x, y, w;
    bool first, last; /* the part holds the block's first, last byte */
};

/* The size that was asked for, in the middle of the block's first part. */
static void draw_size(struct picture *p, const struct shape *h, double w, uint32_t color)
{
    const struct mt_block *k = &p->panel->state->blocks[h->block];
    bool rounded = k->requested > 0 && k->requested < k->size; /* the sliver is no part of it */
    struct mt_size_text size = mt_size_text(rounded ? k->requested : k->size, p->scene->style.size);
    if (h->first && mt_text_px(size.s, 10.5, false) <= w - 8) {
        mt_scene_text(p->scene, h->x + w / 2, h->y + p->bar / 2 + 4, 10.5, mt_palette_ink(color),
                      size.s)
            ->anchor = MT_ANCHOR_MIDDLE;
    }
}

/* The first of the largest holes, in as many words as it has room for. */
static void name_hole(struct picture *p, const struct shape *h, const struct mt_block *k)
{
    static const char *const WORDS[] = {"largest hole, ", "hole, ", ""};
    if (p->hole_named || !h->first || k->size < p->sum.largest_hole) {
        return;
    }
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s%s", WORDS[i],
                       mt_size_text(k->size, p->scene->style.size).s);
        if (mt_text_px(text, 10.5, false) <= h->w - 8) {
            mt_scene_text(p->scene, h->x + h->w / 2, h->y + p->bar / 2 + 4, 10.5,
                          p->scene->theme->text, text)
                ->anchor = MT_ANCHOR_MIDDLE;
            p->hole_named = true;
            return;
        }
    }
}

static void draw_block(struct picture *p, const struct shape *h)
{
    size_t block = h->block;
    double x = h->x, y = h->y, w = h->w;
    const struct mt_block *k = &p->panel->state->blocks[block];
    const struct mt_theme *t = p->scene->theme;
    if (k->state == MT_BLOCK_INACTIVE) {
        if (w >= 3) { /* something to point at */
            mt_scene_rect(p->scene, x, y, w, p->bar, t->free)->tip = block_tip(p, block);
        }
        name_hole(p, h, k);
        return;
    }
    uint32_t color = mt_holders_color(&p->holders, p->scene->theme, k->stack),
             tip = block_tip(p, block);
    struct mt_mark *m = mt_scene_rect(p->scene, x, y, w, p->bar, color);
    m->tip = tip;
    if (k->state == MT_BLOCK_PENDING) {
        m->pattern = MT_HATCHED;
        m->stroke = t->trouble;
    }
    double lost = k->requested < k->size ? (double)(k->size - k->requested) / (double)k->size : 0;
    if (h->last && lost * w >= 0.5) {
        mt_scene_rect(p->scene, x + w * (1 - lost), y, w * lost, p->bar, t->rounding)->tip = tip;
    }
    draw_size(p, h, w * (1 - lost), color);
    if (w > 2.5) { /* blocks of one stack stand side by side: an edge tells them apart */
        mt_scene_rect(p->scene, x + w - 0.5, y, 0.5, p->bar, t->background);
    }
}

/* Blocks that are too narrow, one after the other. */
struct bundle {
    double x, w;
    uint64_t live, free, best_bytes;
    uint32_t best_stack;
    size_t count;
};

static void bundle_flush(struct picture *p, struct bundle *b, double y)
{
    if (b->count && b->live >= b->free) {
        char tip[256];
        (void)snprintf(tip, sizeof tip, "%s small blocks, %s in use, %s free",
                       mt_count_text(b->count).s, mt_size_text(b->live, p->scene->style.size).s,
                       mt_size_text(b->free, p->scene->style.size).s);
        uint32_t kept = p->tip_frames ? mt_scene_keep(p->scene, tip) : 0;
        mt_scene_rect(p->scene, b->x, y, b->w, p->bar,
                      mt_holders_color(&p->holders, p->scene->theme, b->best_stack))
            ->tip = kept;
    }
    *b = (struct bundle){0};
}

static void bundle_add(struct bundle *b, const struct mt_block *k, double x, double w)
{
    if (b->count == 0) {
        b->x = x;
    }
    b->count++;
    b->w = x + w - b->x;
    if (k->state == MT_BLOCK_INACTIVE) {
        b->free += k->size;
        return;
    }
    b->live += k->size;
    if (k->size > b->best_bytes) {
        b->best_bytes = k->size;
        b->best_stack = k->stack;
    }
}

/* The blocks of a piece, [piece->first, + piece->bytes) of its segment. */
static void draw_blocks(struct picture *p, const struct mt_row_piece *piece, double y)
{
    const struct mt_state *st = p->panel->state;
    const struct mt_segment *g = &st->segments[piece->segment];
    double per_byte = piece->bytes ? piece->w / (double)piece->bytes : 0;
    uint64_t lo = g->addr + piece->first, hi = lo + piece->bytes;
    struct bundle bundle = {0};
    for (size_t i = g->first_block; i < (size_t)g->first_block + g->n_blocks; i++) {
        const struct mt_block *k = &st->blocks[i];
        uint64_t from = k->addr > lo ? k->addr : lo, end = k->addr + k->size;
        uint64_t to = end < hi ? end : hi;
        if (from >= to) {
            continue;
        }
        double x = p->x + piece->x + (double)(from - lo) * per_byte;
        double w = (double)(to - from) * per_byte;
        if (w < p->least_px) {
            bundle_add(&bundle, k, x, w);
            if (bundle.w >= p->least_px) {
                bundle_flush(p, &bundle, y);
            }
            continue;
        }
        bundle_flush(p, &bundle, y);
        draw_block(p, &(struct shape){i, x, y, w, from == k->addr, to == end});
    }
    bundle_flush(p, &bundle, y);
}

/* ---- rows ---- */

static void draw_gap(struct picture *p, const struct mt_row_piece *piece, double y)
{
    char tip[192];
    (void)snprintf(tip, sizeof tip, "not mapped: %s of the expandable segment",
                   mt_size_text(piece->gap, p->scene->style.size).s);
    uint32_t kept = mt_scene_keep(p->scene, tip);
    struct mt_mark *m = mt_scene_rect(p->scene, p->x + piece->x - piece->gap_w + 2, y + 3,
                                      piece->gap_w - 4, p->bar - 6, p->scene->theme->gap);
    m->pattern = MT_HATCHED;
    m->stroke = p->scene->theme->faint;
    m->tip = kept;
    p->gaps += piece->gap;
}

/* Open where the segment goes on in the next line. */
static void draw_outline(struct picture *p, const struct mt_row_piece *piece, double y)
{
    uint64_t size = p->panel->state->segments[piece->segment].total_size;
    bool first = piece->first == 0, last = piece->first + piece->bytes == size;
    double x1 = p->x + piece->x, x2 = x1 + piece->w, width = piece->w < 4 ? 0.5 : 1;
    uint32_t color = p->scene->theme->frame;
    if (first && last) {
        struct mt_mark *m = mt_scene_rect(p->scene, x1, y, piece->w, p->bar, 0);
        m->stroke = color;
        m->stroke_width = width;
        return;
    }
    mt_scene_line(p->scene, x1, y, x2, y, color, width);
    mt_scene_line(p->scene, x1, y + p->bar, x2, y + p->bar, color, width);
    if (first || last) {
        mt_scene_line(p->scene, first ? x1 : x2, y, first ? x1 : x2, y + p->bar, color, width);
    }
}

static void draw_piece(struct picture *p, const struct mt_row_piece *piece)
{
    const struct mt_theme *t = p->scene->theme;
    double y = p->y + (double)piece->line * p->pitch;
    if (piece->gap) {
        draw_gap(p, piece, y);
    }
    mt_scene_rect(p->scene, p->x + piece->x, y, piece->w, p->bar, t->free);
    draw_blocks(p, piece, y);
    draw_outline(p, piece, y);
}

static void label_line(struct picture *p, double *y, uint32_t color, bool bold,
                       const struct mt_buf *text)
{
    mt_scene_text_buf(p->scene, MARGIN + 8, *y, bold ? 12.5 : 11.5, color, LABEL_W - 12, bold,
                      text);
    *y += LABEL_LINE;
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

static void draw_group_label(struct picture *p, const struct mt_row_group *g, double height)
{
    struct mt_buf line = {0}, sub = {0};
    const struct mt_theme *t = p->scene->theme;
    struct mt_size_format f = p->scene->style.size;
    double y = p->y + 11;
    bool private = g->pool.a || g->pool.b;
    group_names(g, &line, &sub);
    mt_scene_rect(p->scene, MARGIN, p->y, private ? 4 : 2, height, private ? t->good : t->frame);
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

static double group_height(const struct picture *p, const struct mt_row_group *g)
{
    double lines = (double)g->lines * p->pitch,
           label = LABEL_LINE * (3 + (g->sum.free > 0) + (g->zoom > 1));
    return lines > label ? lines : label;
}

static void draw_group(struct picture *p, const struct mt_row_group *g)
{
    double height = group_height(p, g);
    draw_group_label(p, g, height - 2);
    for (size_t i = 0; i < g->n_pieces; i++) {
        draw_piece(p, &p->rows.pieces.v[g->first_piece + i]);
    }
    p->y += height + GROUP_SPACE;
}

/* ---- the legend ---- */

static double key_row(struct picture *p, struct mt_box box, double y, uint32_t fill,
                      uint32_t stroke, bool hatched, const char *what, uint64_t bytes)
{
    const struct mt_theme *t = p->scene->theme;
    struct mt_mark *m = mt_scene_rect(p->scene, box.x + 0.5, y + 2.5, 12, 12, fill);
    m->pattern = hatched ? MT_HATCHED : MT_SOLID;
    m->stroke = stroke;
    mt_scene_text(p->scene, box.x + 22, y + 12, 12, t->text, what);
    mt_scene_text(p->scene, box.x + box.w, y + 12, 12, t->text,
                  mt_size_text(bytes, p->scene->style.size).s)
        ->anchor = MT_ANCHOR_END;
    return y + 21;
}

static double stack_row(struct picture *p, struct mt_box box, double y, const struct mt_holder *s,
                        uint32_t color, const struct mt_label *label)
{
    enum { ANY = 1000 }; /* the picture grows with its legend */
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    struct mt_buf tip = {0};
    mt_buf_printf(&tip, "%s in %s %s", mt_size_text(s->bytes, p->scene->style.size).s,
                  mt_count_text(s->count).s, s->count == 1 ? "block" : "blocks");
    mt_label_frames(&tip, &p->scene->style, p->panel->snapshot, s->stack, 8);
    struct mt_legend_row row = {.color = color,
                                .label = label,
                                .spare = ANY,
                                .bytes = s->bytes,
                                .share = in_use ? (double)s->bytes / (double)in_use : 0,
                                .tip = mt_scene_take(p->scene, &tip)};
    return y + mt_legend_row(p->scene, box, y, &row);
}

static double stack_rows(struct picture *p, struct mt_box box, double y)
{
    const struct mt_holders *h = &p->holders;
    struct mt_label labels[MT_HOLDERS], *each[MT_HOLDERS];
    uint32_t stacks[MT_HOLDERS];
    for (size_t i = 0; i < h->n; i++) {
        stacks[i] = h->top[i].stack;
        each[i] = &labels[i];
        mt_label_stack(&labels[i], &p->scene->style, p->panel->snapshot, stacks[i]);
    }
    mt_labels_distinguish(each, stacks, h->n, &p->scene->style, p->panel->snapshot);
    for (size_t i = 0; i < h->n; i++) {
        y = stack_row(p, box, y, &h->top[i], h->colors[i], &labels[i]);
        mt_label_release(&labels[i]);
    }
    return y;
}

static double others_row(struct picture *p, struct mt_box box, double y)
{
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    struct mt_label l = {.main = {0}};
    mt_buf_printf(&l.main, "[%s %s]", mt_count_text(p->holders.n_others).s,
                  p->holders.n_others == 1 ? "other" : "others");
    mt_buf_text(&l.sub, "stacks with less");
    struct mt_legend_row row = {.color = p->scene->theme->older,
                                .label = &l,
                                .bytes = p->holders.others.bytes,
                                .share =
                                    in_use ? (double)p->holders.others.bytes / (double)in_use : 0};
    y += mt_legend_row(p->scene, box, y, &row);
    mt_label_release(&l);
    return y;
}

static double draw_keys(struct picture *p, struct mt_box box, double y)
{
    const struct mt_theme *t = p->scene->theme;
    if (p->sum.free) {
        y = key_row(p, box, y, t->free, t->frame, false, "free, kept by the allocator",
                    p->sum.free);
    }
    if (p->sum.pending) {
        y = key_row(p, box, y, t->older, t->trouble, true, "freed, waiting for another stream",
                    p->sum.pending);
    }
    if (p->holders.rounding) {
        y = key_row(p, box, y, t->rounding, 0, false, "lost to rounding, in use",
                    p->holders.rounding);
    }
    if (p->gaps) {
        y = key_row(p, box, y, t->gap, t->faint, true, "addresses not mapped", p->gaps);
    }
    return y;
}

static double draw_legend(struct picture *p, struct mt_box box)
{
    double y = box.y + MT_LEGEND_HEAD_PX;
    if (p->holders.n > 0) {
        mt_legend_head(p->scene, box, "In use");
        y = stack_rows(p, box, y);
        if (p->holders.n_others > 0) {
            y = others_row(p, box, y);
        }
        mt_legend_total(p->scene, box, y + 2, "TOTAL in use", p->sum.allocated + p->sum.pending);
        y += 42;
    }
    return draw_keys(p, box, y);
}

/* ---- the picture ---- */

/* The out-of-memory event that the state is shown at, or NULL. */
static const struct mt_event *oom_event(const struct mt_segment_panel *panel)
{
    size_t done = panel->state->events_done;
    if (!panel->replay || done == 0 || done > panel->replay->n) {
        return NULL;
    }
    const struct mt_event *e = &panel->replay->events[done - 1];
    return e->action == MT_ACTION_OOM ? e : NULL;
}

/* Why the request was refused, below the headings; returns where that ends. */
static double draw_refusal(struct picture *p, const struct mt_event *oom, double y, double room)
{
    struct mt_size_format f = p->scene->style.size;
    struct mt_buf b = {0};
    mt_buf_printf(
        &b, "%s was asked for%s \xc2\xb7 ", mt_size_text(oom->size, f).s,
        mt_oom_hole(p->panel->state, oom) < oom->size ? ", more than any hole it could use" : "");
    mt_oom_say_refusal(&b, oom, f);
    y = mt_scene_text_lines(p->scene, MARGIN, y + 19, 12.5, p->scene->theme->trouble, room, false,
                            &b);
    mt_buf_release(&b);
    return y;
}

/* Returns where they end. */
static double draw_headings(struct picture *p, double width)
{
    struct mt_scene *s = p->scene;
    struct mt_size_format f = s->style.size;
    double room = width - 2 * MARGIN, top = p->y;
    struct mt_buf b = {0};
    struct mt_mark *m =
        mt_scene_text_fit(s, MARGIN, top + 34, 19, s->theme->text, room, true, "Allocator state");
    double used = m->w + 14;
    mt_buf_str(&b, mt_str_basename(mt_str_from(p->panel->file)));
    mt_buf_printf(&b, " \xc2\xb7 device %zu", p->panel->state->device);
    mt_scene_text_buf(s, MARGIN + used, top + 34, 14, s->theme->muted, room - used, false, &b);
    mt_buf_reset(&b);
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    mt_buf_printf(&b, "%s \xc2\xb7 reserved %s", p->panel->moment,
                  mt_size_text(p->sum.reserved, f).s);
    if (p->sum.reserved) {
        mt_buf_printf(&b, " \xc2\xb7 in use %s (%.0f %%) \xc2\xb7 free %s",
                      mt_size_text(in_use, f).s, 100 * (double)in_use / (double)p->sum.reserved,
                      mt_size_text(p->sum.free, f).s);
    }
    if (p->sum.free) {
        mt_buf_printf(&b, " in holes of at most %s", mt_size_text(p->sum.largest_hole, f).s);
    }
    if (p->panel->state->unmatched) {
        mt_buf_printf(&b, " \xc2\xb7 %s events do not fit, so this is not exact",
                      mt_count_text(p->panel->state->unmatched).s);
    }
    double y = mt_scene_text_lines(s, MARGIN, top + 56, 12.5, s->theme->muted, room, false, &b);
    mt_buf_release(&b);
    if (oom_event(p->panel)) {
        y = draw_refusal(p, oom_event(p->panel), y, room);
    }
    return y + TOP - 56;
}

/* Tall bars for few lines; fewer and shorter tips for many blocks: an SVG stays below 2 MiB. */
static void choose_detail(struct picture *p)
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

static void sum_up(struct picture *p)
{
    for (size_t i = 0; i < p->panel->state->n_segments; i++) {
        mt_state_add_segment(p->panel->state, i, &p->sum);
    }
}

/* A bar that goes on beyond the line: torn off at its right end. */
static void draw_torn(struct picture *p, double height, uint32_t fill)
{
    enum { TEETH = 2 };
    double right = p->x + p->w, tooth = height / TEETH;
    struct mt_mark *m = mt_scene_polygon(p->scene, fill);
    m->stroke = p->scene->theme->trouble;
    m->stroke_width = 1;
    mt_scene_point(p->scene, p->x, p->y);
    for (int i = 0; i <= TEETH * 2; i++) {
        mt_scene_point(p->scene, right - (i % 2 ? 7 : 0), p->y + tooth * i / 2);
    }
    mt_scene_point(p->scene, p->x, p->y + height);
}

/* What was asked for, on the scale of the segments: it fits into none of the holes below. */
static void draw_request(struct picture *p, const struct mt_event *e)
{
    const struct mt_theme *t = p->scene->theme;
    struct mt_buf b = {0};
    double w = (double)e->size / p->rows.bytes_per_px, height = p->bar > 22   ? 22
                                                                : p->bar < 18 ? 18
                                                                              : p->bar;
    bool whole = w <= p->w;
    uint32_t fill = (t->trouble & 0xffffff00) | 0x28;
    mt_buf_text(&b, "the request");
    mt_scene_text_buf(p->scene, MARGIN + 8, p->y + 11, 12.5, t->trouble, LABEL_W - 12, true, &b);
    if (whole) {
        struct mt_mark *m = mt_scene_rect(p->scene, p->x, p->y, w, height, fill);
        m->stroke = t->trouble;
        m->stroke_width = 1;
    } else {
        draw_torn(p, height, fill);
    }
    mt_buf_reset(&b);
    mt_buf_printf(&b, "%s", mt_size_text(e->size, p->scene->style.size).s);
    if (!whole) {
        mt_buf_printf(&b, ", %.1f times the length of this line", w / p->w);
    }
    double text = mt_text_px(b.p ? b.p : "", 12, true);
    bool beside = whole && w + 8 + text <= p->w;
    mt_scene_text_buf(p->scene, beside ? p->x + w + 8 : p->x + p->w / 2 - text / 2,
                      p->y + height / 2 + 4.5, 12, t->trouble, text + 1, true, &b);
    mt_buf_release(&b);
    p->y += height + GROUP_SPACE;
}

/* What stands below the last group that has a place. */
static void draw_left_out(struct picture *p)
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

static void draw_state(struct picture *p, double width, double *bottom)
{
    struct mt_box legend = {width - MARGIN - LEGEND_W, p->y, LEGEND_W, 0};
    bool right = width >= WIDE;
    choose_detail(p);
    if (oom_event(p->panel)) {
        draw_request(p, oom_event(p->panel));
    }
    for (size_t i = 0; i < p->rows.groups.n && i < MOST_GROUPS; i++) {
        draw_group(p, &p->rows.groups.v[i]);
    }
    if (p->rows.groups.n > MOST_GROUPS) {
        draw_left_out(p);
    }
    if (!right) {
        legend = (struct mt_box){MARGIN, p->y + 8, width - 2 * MARGIN, 0};
    }
    double end = draw_legend(p, legend);
    *bottom = (p->y > end ? p->y : end) + 12;
}

static void draw_panel(struct picture *p, double width, double *bottom)
{
    enum { LINES = 34 };
    sum_up(p);
    p->x = MARGIN + LABEL_W;
    p->w = width - MARGIN - p->x - (width >= WIDE ? LEGEND_W + GAP : 0);
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
        struct picture p = {.scene = s, .panel = &panels[i], .y = y};
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
        mt_buf_text(&s->title, "Allocator state of ");
        mt_buf_str(&s->title, mt_str_basename(mt_str_from(panels[0].file)));
        mt_buf_printf(&s->title, ", %s", panels[0].moment);
        s->failed |= s->title.failed;
    }
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}
