/* SPDX-License-Identifier: MIT */
/*
 * One scale for the whole picture, so that areas can be compared; only groups that would be a speck
 * are enlarged by a power of two, and the picture says so. The scale is found by trying: the
 * smallest number of bytes a line for which all lines fit.
 */
#include "verbs/plots/segments/row_layout.h"

#include <stdlib.h>

#include "support/checked.h"

#define FEW_SEGMENTS 8u /* with FEW_BLOCKS blocks: nothing to be gained by breaking lines */
#define FEW_BLOCKS 60u
#define MOST_LINES 1000u /* of one segment, whatever its size claims to be */
#define SMALL_GROUP 4    /* groups below a quarter of a line are enlarged */

struct sort_key {
    const struct mt_state *st;
    uint32_t segment;
};

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Default pool first, then by stream, the large pool before the small one, then by address. */
static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    const struct mt_segment *p = &x->st->segments[x->segment], *q = &y->st->segments[y->segment];
    int c = compare_i64(p->pool.a, q->pool.a);
    c = c ? c : compare_i64(p->pool.b, q->pool.b);
    c = c ? c : (int)p->stream - (int)q->stream;
    c = c ? c : (int)q->kind - (int)p->kind;
    return c ? c : (p->addr > q->addr) - (p->addr < q->addr);
}

static bool same_group(const struct mt_segment *p, const struct mt_segment *q)
{
    return p->pool.a == q->pool.a && p->pool.b == q->pool.b && p->stream == q->stream &&
           p->kind == q->kind;
}

static bool group_add(struct mt_rows *r, const struct mt_state *st, uint32_t segment)
{
    const struct mt_segment *g = &st->segments[segment];
    struct mt_row_group *last = r->groups.n ? &r->groups.v[r->groups.n - 1] : NULL;
    if (!last || !same_group(&st->segments[r->order.v[last->first]], g)) {
        struct mt_row_group fresh = {.stream = g->stream,
                                     .kind = g->kind,
                                     .pool = g->pool,
                                     .first = (uint32_t)r->order.n,
                                     .zoom = 1};
        if (!mt_vec_push(&r->groups, fresh)) {
            return false;
        }
        last = &r->groups.v[r->groups.n - 1];
    }
    last->n++;
    mt_state_add_segment(st, segment, &last->sum);
    return mt_vec_push(&r->order, segment);
}

static bool find_groups(struct mt_rows *r, const struct mt_state *st)
{
    struct sort_key *keys = mt_mem_alloc(st->n_segments ? st->n_segments : 1, sizeof *keys);
    if (!keys) {
        return false;
    }
    for (size_t i = 0; i < st->n_segments; i++) {
        keys[i] = (struct sort_key){st, (uint32_t)i};
    }
    if (st->n_segments) {
        qsort(keys, st->n_segments, sizeof *keys, compare_keys);
    }
    bool fine = true;
    for (size_t i = 0; fine && i < st->n_segments; i++) {
        fine = group_add(r, st, keys[i].segment);
    }
    mt_mem_free(keys);
    return fine;
}

/* ---- packing ---- */

struct packing {
    struct mt_rows *r;
    const struct mt_state *st;
    const struct mt_rows_style *style;
    bool keep; /* pieces are stored; else only lines are counted */
};

static bool put_piece(struct packing *p, struct mt_row_piece piece)
{
    return !p->keep || mt_vec_push(&p->r->pieces, piece);
}

static uint64_t to_bytes(double bytes)
{
    return bytes < 1 ? 0 : bytes < 1.8e19 ? (uint64_t)bytes : UINT64_MAX;
}

/* Puts one segment at *x of line g->lines - 1 or on the next one; longer ones over several. */
static bool pack_segment(struct packing *p, struct mt_row_group *g, uint32_t segment, double *x,
                         uint64_t gap)
{
    const struct mt_segment *s = &p->st->segments[segment];
    double per_px = p->r->bytes_per_px / g->zoom, w = (double)s->total_size / per_px;
    double gap_w = gap      ? p->style->gap
                   : *x > 0 ? (w < p->style->narrow ? 1 : p->style->spacing)
                            : 0;
    uint64_t done = 0, line_bytes = to_bytes(per_px * p->style->width);
    if (*x > 0 && *x + gap_w + w > p->style->width) {
        g->lines++;
        *x = 0;
        gap_w = gap ? p->style->gap : 0;
    }
    line_bytes =
        line_bytes > s->total_size / MOST_LINES ? line_bytes : s->total_size / MOST_LINES + 1;
    *x += gap_w;
    while (done < s->total_size) {
        uint64_t left = s->total_size - done, fit = to_bytes(per_px * (p->style->width - *x));
        uint64_t room = done == 0 && fit > 0 && fit < line_bytes ? fit : line_bytes;
        uint64_t bytes = left < room ? left : room;
        struct mt_row_piece piece = {.segment = segment,
                                     .line = g->lines - 1,
                                     .x = *x,
                                     .w = (double)bytes / per_px,
                                     .first = done,
                                     .bytes = bytes,
                                     .gap = done ? 0 : gap,
                                     .gap_w = gap_w};
        if (!put_piece(p, piece)) {
            return false;
        }
        done += bytes;
        *x += piece.w;
        if (done < s->total_size) {
            g->lines++;
            *x = 0;
        }
    }
    return true;
}

static bool pack_group(struct packing *p, struct mt_row_group *g)
{
    double x = 0;
    const struct mt_segment *last = NULL;
    g->lines = 1;
    g->first_piece = p->r->pieces.n;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t segment = p->r->order.v[g->first + i];
        const struct mt_segment *s = &p->st->segments[segment];
        bool runs = last && last->expandable && s->expandable;
        uint64_t gap = runs ? s->addr - (last->addr + last->total_size) : 0;
        if (!pack_segment(p, g, segment, &x, gap)) {
            return false;
        }
        last = s;
    }
    g->n_pieces = p->r->pieces.n - g->first_piece;
    return true;
}

static unsigned zoom_for(const struct mt_row_group *g, double line_bytes)
{
    unsigned zoom = 1;
    if ((double)g->sum.reserved * SMALL_GROUP > line_bytes) {
        return 1;
    }
    while ((double)g->sum.reserved * zoom * 2 <= line_bytes * 0.8 && zoom < 1000000) {
        zoom *= 2;
    }
    return zoom;
}

static size_t pack_all(struct packing *p)
{
    size_t lines = 0;
    for (size_t i = 0; i < p->r->groups.n; i++) {
        struct mt_row_group *g = &p->r->groups.v[i];
        g->zoom = zoom_for(g, p->r->bytes_per_px * p->style->width);
        if (!pack_group(p, g)) {
            return SIZE_MAX;
        }
        lines += g->lines;
    }
    return lines;
}

/* The largest segment that shall not be broken into lines: among many, those that hold more than a
 * third of all would leave the others no room. */
static uint64_t unbroken(const struct mt_state *st, uint64_t total)
{
    uint64_t most = 0;
    for (size_t i = 0; i < st->n_segments; i++) {
        uint64_t size = st->segments[i].total_size;
        bool few = st->n_segments <= FEW_SEGMENTS && st->n_blocks <= FEW_BLOCKS;
        bool fits = few || size <= total / 3;
        most = fits && size > most ? size : most;
    }
    return most;
}

bool mt_rows_lay_out(struct mt_rows *r, const struct mt_state *st,
                     const struct mt_rows_style *style)
{
    *r = (struct mt_rows){.bytes_per_px = 1};
    if (!find_groups(r, st)) {
        return false;
    }
    struct packing p = {.r = r, .st = st, .style = style};
    uint64_t total = 0;
    for (size_t i = 0; i < r->groups.n; i++) {
        total = mt_add_sat(total, r->groups.v[i].sum.reserved);
    }
    size_t most = style->lines > r->groups.n ? style->lines : r->groups.n;
    double line_bytes = total ? (double)total / (double)most : 1;
    double whole = (double)unbroken(st, total) * 1.001; /* more than its own length rounds away */
    line_bytes = line_bytes < whole ? whole : line_bytes;
    for (int tries = 0; tries < 64; tries++, line_bytes *= 1.2) {
        r->bytes_per_px = line_bytes / style->width;
        if (pack_all(&p) <= most) {
            break;
        }
    }
    p.keep = true;
    return pack_all(&p) != SIZE_MAX;
}

void mt_rows_release(struct mt_rows *r)
{
    mt_vec_release(&r->order);
    mt_vec_release(&r->groups);
    mt_vec_release(&r->pieces);
}
