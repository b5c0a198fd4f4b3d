/* SPDX-License-Identifier: MIT */
/*
 * The allocator's state in characters: lines of segments as in the picture, each cell shows what
 * most of its bytes are.
 */
#include <stdio.h>
#include <string.h>

#include "draw/label.h"
#include "draw/paint/term_draw.h"
#include "draw/scene.h"
#include "verbs/plots/segments/holders.h"
#include "verbs/plots/segments/row_layout.h"
#include "verbs/plots/segments/segment_picture.h"
#include "verbs/plots/trace/trace_words.h"

#define LEFT 2
#define MOST_GROUPS 60u /* that are drawn */

struct term {
    const struct mt_segment_panel *panel;
    const struct mt_plot_style *style;
    const struct mt_term_style *term;
    struct mt_rows rows;
    struct mt_holders holders;
    struct mt_state_sum sum;
    uint64_t *bytes; /* of one line: a row of `kinds` sums a cell */
    size_t kinds;    /* holders, others, pending, free, empty */
    int columns;
    bool has_borders; /* some are drawn */
};

enum { OTHERS, PENDING, FREE, EMPTY, BESIDES }; /* behind the holders */

static size_t kind_of(const struct term *t, const struct mt_segment *g, const struct mt_block *b)
{
    if (b->state == MT_BLOCK_INACTIVE) {
        return t->holders.n + (g->n_blocks == 1 ? EMPTY : FREE);
    }
    if (b->state == MT_BLOCK_PENDING) {
        return t->holders.n + PENDING;
    }
    return mt_holders_index(&t->holders, b->stack); /* others: holders.n + OTHERS */
}

/* Spreads [from, to) cells of bytes of a kind over the cells. */
static void spread(struct term *t, double from, double to, double per_cell, size_t kind)
{
    for (int x = (int)from; x < t->columns && x < to; x++) {
        double lo = from > x ? from : x, hi = to < x + 1 ? to : x + 1;
        if (hi > lo) {
            t->bytes[(size_t)x * t->kinds + kind] += (uint64_t)((hi - lo) * per_cell) + 1;
        }
    }
}

static void spread_piece(struct term *t, const struct mt_row_piece *piece)
{
    const struct mt_state *st = t->panel->state;
    const struct mt_segment *g = &st->segments[piece->segment];
    double per_cell = piece->w > 0 ? (double)piece->bytes / piece->w : 1;
    uint64_t lo = g->addr + piece->first, hi = lo + piece->bytes;
    for (size_t i = g->first_block; i < (size_t)g->first_block + g->n_blocks; i++) {
        const struct mt_block *b = &st->blocks[i];
        uint64_t from = b->addr > lo ? b->addr : lo;
        uint64_t to = b->addr + b->size < hi ? b->addr + b->size : hi;
        if (from < to) {
            spread(t, piece->x + (double)(from - lo) / per_cell,
                   piece->x + (double)(to - lo) / per_cell, per_cell, kind_of(t, g, b));
        }
    }
}

static void draw_cell(struct term *t, struct mt_canvas *c, int x, int y)
{
    const struct mt_theme *theme = mt_theme_get(t->style->theme);
    const uint64_t *v = t->bytes + (size_t)x * t->kinds;
    size_t best = 0, n = t->holders.n;
    for (size_t k = 1; k < t->kinds; k++) {
        best = v[k] > v[best] ? k : best;
    }
    if (v[best] == 0) {
        return; /* between segments */
    }
    if (best == n + FREE || best == n + EMPTY) {
        enum mt_term_sign sign = best == n + FREE ? MT_SIGN_HOLE : MT_SIGN_EMPTY;
        mt_canvas_put(c, LEFT + x, y, mt_term_sign(t->term, sign), 0);
    } else if (best == n + PENDING) {
        mt_canvas_put(c, LEFT + x, y, mt_term_sign(t->term, MT_SIGN_WAIT), theme->trouble);
    } else {
        mt_canvas_put(c, LEFT + x, y, mt_term_fill(t->term, best),
                      best < n ? t->holders.colors[best] : theme->older);
    }
}

/* `piece` is not the first. A sign in the gap between two segments of a line, so that a hole at the
 * end of one and a hole at the beginning of the next do not look like a single one. Specks have no
 * room for it. */
static void draw_border(struct term *t, struct mt_canvas *c, const struct mt_row_piece *piece)
{
    const struct mt_row_piece *before = piece - 1;
    bool begins = piece->first == 0 && before->line == piece->line;
    if (begins && piece->gap == 0 && piece->x > before->x && piece->w >= 1 && before->w >= 1) {
        mt_canvas_put(c, LEFT + (int)(piece->x - 0.5), (int)piece->line,
                      mt_term_sign(t->term, MT_SIGN_BAR), 0);
        t->has_borders = true;
    }
}

static bool draw_group(struct term *t, const struct mt_row_group *g, struct mt_buf *out)
{
    struct mt_canvas c;
    if (!mt_canvas_init(&c, t->columns + LEFT, (int)g->lines, t->term)) {
        return false;
    }
    size_t piece = g->first_piece, end = g->first_piece + g->n_pieces;
    for (size_t line = 0; line < g->lines; line++) {
        memset(t->bytes, 0, (size_t)t->columns * t->kinds * sizeof *t->bytes);
        for (; piece < end && t->rows.pieces.v[piece].line == line; piece++) {
            spread_piece(t, &t->rows.pieces.v[piece]);
        }
        for (int x = 0; x < t->columns; x++) {
            draw_cell(t, &c, x, (int)line);
        }
    }
    for (piece = g->first_piece + 1; piece < end; piece++) {
        draw_border(t, &c, &t->rows.pieces.v[piece]);
    }
    mt_canvas_write(&c, out);
    mt_canvas_release(&c);
    return true;
}

static void put_group_title(const struct term *t, const struct mt_row_group *g, struct mt_buf *out)
{
    struct mt_size_format f = t->term->size;
    struct mt_buf b = {0};
    const char *kind = g->kind == MT_POOL_SMALL ? "small" : "large";
    if (g->pool.a || g->pool.b) {
        mt_buf_printf(&b, "private pool %lld,%lld (%s), %s, ", (long long)g->pool.a,
                      (long long)g->pool.b, g->pool.a ? "CUDA graph" : "MemPool", kind);
    } else {
        mt_buf_printf(&b, "%s pool, ", kind);
    }
    mt_buf_printf(&b, "stream %u: %s, %s free", (unsigned)g->stream,
                  mt_size_text(g->sum.reserved, f).s, mt_size_text(g->sum.free, f).s);
    if (g->sum.free) {
        mt_buf_printf(&b, ", largest hole %s", mt_size_text(g->sum.largest_hole, f).s);
    }
    if (g->zoom > 1) {
        mt_buf_printf(&b, " (drawn %u times larger)", g->zoom);
    }
    mt_term_lines(t->term, out, &b, 0);
    mt_buf_release(&b);
}

/* The buffer as lines, and empty again. */
static void put_lines(const struct term *t, struct mt_buf *out, struct mt_buf *b, uint32_t ink)
{
    mt_term_lines(t->term, out, b, ink);
    mt_buf_reset(b);
}

static void put_request(const struct term *t, struct mt_buf *out, struct mt_buf *b)
{
    size_t done = t->panel->state->events_done;
    const struct mt_replay *r = t->panel->replay;
    struct mt_size_format f = t->term->size;
    if (r && done > 0 && done <= r->n && r->events[done - 1].action == MT_ACTION_OOM) {
        mt_buf_printf(b, "the request that failed: %s",
                      mt_size_text(r->events[done - 1].size, f).s);
        put_lines(t, out, b, 0);
        mt_oom_say_refusal(b, t->panel->snapshot, &r->events[done - 1], f);
        put_lines(t, out, b, 0);
    }
    if (mt_segment_say_earlier(b, t->panel, f)) {
        put_lines(t, out, b, mt_theme_get(t->style->theme)->trouble);
    }
}

static void put_headings(const struct term *t, struct mt_buf *out)
{
    struct mt_size_format f = t->term->size;
    struct mt_buf b = {0};
    mt_buf_text(&b, "Allocator state: ");
    mt_buf_str(&b, mt_str_basename(mt_str_from(t->panel->file)));
    mt_buf_printf(&b, ", device %zu, %s", t->panel->state->device, t->panel->moment);
    put_lines(t, out, &b, 0);
    mt_buf_printf(&b, "reserved %s", mt_size_text(t->sum.reserved, f).s);
    if (t->sum.reserved) {
        mt_buf_text(&b, ", ");
        mt_segment_say_in_use(&b, &t->sum, f);
        put_lines(t, out, &b, 0);
        mt_segment_say_free(&b, &t->sum, f);
    }
    put_lines(t, out, &b, 0);
    if (t->panel->state->unmatched) {
        mt_buf_printf(&b, "%s events do not fit, so this is not exact",
                      mt_count_text(t->panel->state->unmatched).s);
        put_lines(t, out, &b, 0);
    }
    put_request(t, out, &b);
    mt_buf_char(out, '\n');
    out->failed |= b.failed;
    mt_buf_release(&b);
}

static void put_key(const struct term *t, struct mt_buf *out, enum mt_term_sign sign,
                    uint64_t bytes, const char *what)
{
    if (bytes) {
        mt_term_key(t->term, out, sign, bytes, what);
    }
}

static void put_legend(const struct term *t, struct mt_buf *out)
{
    const struct mt_holders *h = &t->holders;
    double in_use = (double)(t->sum.allocated + t->sum.pending);
    in_use = in_use > 0 ? in_use : 1;
    mt_buf_text(out, "In use, as asked for\n");
    struct mt_label labels[MT_HOLDERS];
    mt_segment_labels(labels, t->style, t->panel, h);
    for (size_t i = 0; i < h->n; i++) {
        mt_term_legend(t->term, out, mt_term_fill(t->term, i), h->colors[i], h->top[i].bytes,
                       (double)h->top[i].bytes / in_use, &labels[i]);
        mt_label_release(&labels[i]);
    }
    if (h->n_others) {
        struct mt_label l = {.main = {0}};
        mt_buf_printf(&l.main, "[%s %s]", mt_count_text(h->n_others).s,
                      h->n_others == 1 ? "other" : "others");
        mt_term_legend(t->term, out, mt_term_fill(t->term, h->n),
                       mt_theme_get(t->style->theme)->older, h->others.bytes,
                       (double)h->others.bytes / in_use, &l);
        mt_label_release(&l);
    }
    if (h->rounding) {
        struct mt_label l = {.main = {0}};
        mt_buf_text(&l.main, "lost to rounding");
        mt_term_legend(t->term, out, " ", mt_theme_get(t->style->theme)->rounding, h->rounding,
                       (double)h->rounding / in_use, &l);
        mt_label_release(&l);
    }
    mt_term_legend_total(t->term, out, t->sum.allocated + t->sum.pending, "TOTAL in use");
    put_key(t, out, MT_SIGN_EMPTY, t->sum.empty, mt_segment_empty_name(t->panel->state));
    put_key(t, out, MT_SIGN_HOLE, t->sum.free - t->sum.empty, "free: holes between blocks in use");
    put_key(t, out, MT_SIGN_WAIT, t->sum.pending,
            "freed, waiting for another stream (counted above too)");
    if (t->has_borders) {
        mt_term_key(t->term, out, MT_SIGN_BAR, 0, "between two segments");
    }
}

static bool draw(struct term *t, struct mt_buf *out)
{
    const struct mt_rows_style style = {
        .width = t->columns, .lines = (size_t)t->term->height, .spacing = 1, .narrow = 0, .gap = 2};
    if (!mt_holders_find(&t->holders, t->panel->snapshot, t->panel->state,
                         mt_theme_get(t->style->theme), t->panel->look) ||
        !mt_rows_lay_out(&t->rows, t->panel->state, &style)) {
        return false;
    }
    t->kinds = t->holders.n + BESIDES;
    t->bytes = mt_mem_zalloc((size_t)t->columns * t->kinds, sizeof *t->bytes);
    if (!t->bytes) {
        return false;
    }
    for (size_t i = 0; i < t->rows.groups.n; i++) {
        if (i == MOST_GROUPS) {
            mt_buf_printf(out, "%zu more pools and streams\n\n", t->rows.groups.n - i);
            break;
        }
        put_group_title(t, &t->rows.groups.v[i], out);
        if (!draw_group(t, &t->rows.groups.v[i], out)) {
            return false;
        }
        mt_buf_char(out, '\n');
    }
    put_legend(t, out);
    return true;
}

static bool draw_panel(struct term *t, struct mt_buf *out)
{
    t->columns = t->term->width - LEFT;
    for (size_t i = 0; i < t->panel->state->n_segments; i++) {
        mt_state_add_segment(t->panel->state, i, &t->sum);
    }
    put_headings(t, out);
    bool fine = true;
    if (t->panel->state->n_segments == 0) {
        mt_buf_text(out, "nothing was reserved\n");
    } else {
        fine = draw(t, out);
    }
    mt_rows_release(&t->rows);
    mt_mem_free(t->bytes);
    return fine;
}

enum mt_status mt_term_segments(const struct mt_segment_panel *panels, size_t n,
                                const struct mt_plot_style *style, const struct mt_term_style *term,
                                struct mt_buf *out, struct mt_error *err)
{
    bool fine = true;
    for (size_t i = 0; fine && i < n; i++) {
        struct term t = {.panel = &panels[i], .style = style, .term = term};
        mt_buf_text(out, i ? "\n" : "");
        fine = draw_panel(&t, out);
    }
    return fine && !out->failed ? MT_OK : mt_fail_nomem(err);
}
