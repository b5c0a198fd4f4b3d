/* SPDX-License-Identifier: MIT */
/*
 * Segments to scale: blocks in the colour of their stack, holes left blank, empty segments tinted,
 * addresses that are not mapped hatched. Blocks too narrow to be seen are bundled and drawn as what
 * most of them are, so that the number of shapes follows the size of the picture.
 */
#include "verbs/plots/segments/segment_picture.h"

#include <stdio.h>

#include "heap/stacks/frames.h"

#include "draw/label.h"
#include "draw/palette.h"

/* ---- tips ---- */

static void add_lifetime(struct mt_segment_picture *p, struct mt_buf *b, size_t block)
{
    const struct mt_replay *r = p->panel->replay;
    size_t event = p->panel->state->alloc_event[block];
    if (event == MT_STATE_NO_EVENT) {
        mt_buf_text(b, r && r->n ? "\n" MT_OLDER : "");
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

static uint32_t block_tip(struct mt_segment_picture *p, size_t block)
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
    bool alone;       /* in its segment */
};

/* The size that was asked for, in the middle of the block's first part. */
static void draw_size(struct mt_segment_picture *p, const struct shape *h, double w, uint32_t color)
{
    const struct mt_block *k = &p->panel->state->blocks[h->block];
    bool rounded = k->requested > 0 && k->requested < k->size; /* the sliver is no part of it */
    struct mt_size_text size = mt_size_text(rounded ? k->requested : k->size, p->scene->style.size);
    double text_w = mt_text_px(size.s, 10.5, false);
    if (h->first && text_w <= w - 8) {
        if (k->state == MT_BLOCK_PENDING) { /* no hatching through the text */
            mt_scene_rect(p->scene, h->x + (w - text_w) / 2 - 4, h->y + p->bar / 2 - 7, text_w + 8,
                          14, color);
        }
        mt_scene_text(p->scene, h->x + w / 2, h->y + p->bar / 2 + 4, 10.5, mt_palette_ink(color),
                      size.s)
            ->anchor = MT_ANCHOR_MIDDLE;
    }
}

/* The first of the largest holes, in as many words as it has room for. */
static void name_hole(struct mt_segment_picture *p, const struct shape *h, const struct mt_block *k)
{
    if (p->hole_named || !h->first || k->size < p->sum.largest_hole) {
        return;
    }
    char full[96];
    (void)snprintf(full, sizeof full, "largest hole, %s",
                   mt_size_text(k->size, p->scene->style.size).s);
    const char *const texts[] = {full, "largest hole", "largest"};
    for (size_t i = 0; i < MT_COUNT(texts); i++) {
        const char *text = texts[i];
        if (mt_text_px(text, 10.5, false) <= h->w - 8) {
            mt_scene_text(p->scene, h->x + h->w / 2, h->y + p->bar / 2 + 4, 10.5,
                          p->scene->theme->text, text)
                ->anchor = MT_ANCHOR_MIDDLE;
            p->hole_named = true;
            return;
        }
    }
}

static void draw_block(struct mt_segment_picture *p, const struct shape *h)
{
    size_t block = h->block;
    double x = h->x, y = h->y, w = h->w;
    const struct mt_block *k = &p->panel->state->blocks[block];
    const struct mt_theme *t = p->scene->theme;
    if (k->state == MT_BLOCK_INACTIVE) {
        if (w >= 3) { /* something to point at */
            mt_scene_rect(p->scene, x, y, w, p->bar, h->alone ? t->empty : t->free)->tip =
                block_tip(p, block);
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

static void bundle_flush(struct mt_segment_picture *p, struct bundle *b, double y)
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
static void draw_blocks(struct mt_segment_picture *p, const struct mt_row_piece *piece, double y)
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
        draw_block(p, &(struct shape){i, x, y, w, from == k->addr, to == end, g->n_blocks == 1});
    }
    bundle_flush(p, &bundle, y);
}

/* ---- pieces ---- */

static void draw_gap(struct mt_segment_picture *p, const struct mt_row_piece *piece, double y)
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
static void draw_outline(struct mt_segment_picture *p, const struct mt_row_piece *piece, double y)
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

void mt_segment_draw_piece(struct mt_segment_picture *p, const struct mt_row_piece *piece)
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
