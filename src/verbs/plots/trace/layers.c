/* SPDX-License-Identifier: MIT */
/*
 * One shape an allocation. Each lies on those that were there before it; when one goes, all above
 * it come down. Only the moments of the timeline are laid out, so what lives and dies between two
 * of them is not drawn, and the number of corners is bounded by moments times shapes. A budget
 * halves the shapes where that is still too much for an SVG.
 */
#include "verbs/plots/trace/layers.h"

#include <stdio.h>
#include <stdlib.h>

#include "heap/stacks/frames.h"

#define MOST_CORNERS 60000u

/* An allocation, or memory from before the trace. */
struct piece {
    uint64_t size;
    uint32_t alloc; /* event, or MT_NEVER: then a ghost */
    uint32_t ghost;
    uint32_t end; /* event, or MT_NEVER */
};

/* From this moment on a piece lies at this height. */
struct corner {
    uint32_t piece, sample;
    uint64_t base;
};

struct layers {
    struct mt_chart *c;
    const struct mt_layer_colors *colors;
    MT_VEC(struct piece) pieces; /* in the order of stacking */
    size_t n_all;                /* before only the largest were kept */
    MT_VEC(struct corner) corners;
    MT_VEC(uint32_t) alive; /* pieces, from the ground */
    uint64_t *base;         /* by piece: where it was laid last */
    uint32_t *end_sample;   /* by piece: the moment at which it is gone */
    bool failed;
};

/* ---- which ---- */

static bool shown(const struct layers *l, uint32_t begin, uint32_t end)
{
    const struct mt_timeline *t = l->c->panel->timeline;
    const struct mt_timeline_options *o = l->c->panel->options;
    bool lives = end == MT_NEVER;
    if ((o->live_only && !lives) || (o->freed_only && lives)) {
        return false;
    }
    return (begin == MT_NEVER || begin < t->last) && (lives || end >= t->first);
}

static bool add_pieces(struct layers *l)
{
    const struct mt_replay *r = l->c->panel->replay;
    for (size_t i = 0; i < r->ghosts.n; i++) {
        const struct mt_ghost *g = &r->ghosts.v[i];
        struct piece p = {g->size, MT_NEVER, (uint32_t)i, g->freed};
        if (shown(l, MT_NEVER, g->freed) && !mt_vec_push(&l->pieces, p)) {
            return false;
        }
    }
    for (size_t i = 0; i < r->n; i++) {
        struct piece p = {r->events[i].size, (uint32_t)i, MT_NEVER, r->partner[i]};
        if (mt_event_kind(&r->events[i]) == MT_STEP_ALLOC && shown(l, p.alloc, p.end) &&
            !mt_vec_push(&l->pieces, p)) {
            return false;
        }
    }
    l->n_all = l->pieces.n;
    return true;
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Keeps the `most` largest, in their order. */
static bool keep_largest(struct layers *l, size_t most)
{
    size_t n = l->pieces.n, out = 0;
    if (n <= most) {
        return true;
    }
    uint64_t *sizes = mt_mem_alloc(n, sizeof *sizes);
    if (!sizes) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        sizes[i] = l->pieces.v[i].size;
    }
    qsort(sizes, n, sizeof *sizes, compare_sizes);
    uint64_t least = most ? sizes[most - 1] : UINT64_MAX;
    size_t above = 0;
    while (above < n && sizes[above] > least) {
        above++;
    }
    size_t equal = most - above; /* how many of the smallest size still fit: the first ones */
    mt_mem_free(sizes);
    for (size_t i = 0; i < n; i++) {
        struct piece p = l->pieces.v[i];
        bool fits = p.size > least || (p.size == least && equal > 0);
        equal -= fits && p.size == least;
        if (fits) {
            l->pieces.v[out++] = p;
        }
    }
    l->pieces.n = out;
    return true;
}

/* ---- where ---- */

static bool is_over(const struct piece *p, size_t event)
{
    return p->end != MT_NEVER && event != SIZE_MAX && p->end <= event;
}

static bool has_begun(const struct piece *p, size_t event)
{
    return p->alloc == MT_NEVER || (event != SIZE_MAX && p->alloc <= event);
}

/* Takes out who is gone and lays down who came, up to the moment after `event`. */
static void advance(struct layers *l, size_t event, uint32_t sample, size_t *next)
{
    size_t out = 0;
    for (size_t i = 0; i < l->alive.n; i++) {
        uint32_t k = l->alive.v[i];
        if (is_over(&l->pieces.v[k], event)) {
            l->end_sample[k] = sample;
        } else {
            l->alive.v[out++] = k;
        }
    }
    l->alive.n = out;
    for (; *next < l->pieces.n && has_begun(&l->pieces.v[*next], event); ++*next) {
        if (!is_over(&l->pieces.v[*next], event)) {
            l->base[*next] = UINT64_MAX;
            l->failed |= !mt_vec_push(&l->alive, (uint32_t)*next);
        }
    }
}

static void note_corners(struct layers *l, uint32_t sample)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < l->alive.n; i++) {
        uint32_t k = l->alive.v[i];
        if (l->base[k] != sum) {
            struct corner corner = {k, sample, sum};
            l->base[k] = sum;
            l->failed |= !mt_vec_push(&l->corners, corner);
        }
        sum += l->pieces.v[k].size;
    }
}

/* False when there are too many corners, or no memory. */
static bool lay_down(struct layers *l)
{
    const struct mt_timeline *t = l->c->panel->timeline;
    size_t next = 0;
    l->corners.n = l->alive.n = 0;
    for (size_t i = 0; i < l->pieces.n; i++) {
        l->end_sample[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < t->samples.n && !l->failed; i++) {
        advance(l, t->samples.v[i].event, (uint32_t)i, &next);
        note_corners(l, (uint32_t)i);
        if (l->corners.n > MOST_CORNERS) {
            return false;
        }
    }
    return !l->failed;
}

/* ---- shapes ---- */

static uint32_t piece_stack(const struct layers *l, const struct piece *p)
{
    const struct mt_replay *r = l->c->panel->replay;
    return p->alloc == MT_NEVER ? r->ghosts.v[p->ghost].stack : r->events[p->alloc].stack;
}

static uint32_t piece_color(const struct layers *l, const struct piece *p)
{
    uint32_t stack = piece_stack(l, p);
    for (size_t i = 0; i < l->colors->n && (p->alloc != MT_NEVER || stack != 0); i++) {
        if (l->colors->stacks[i] == stack) {
            return l->colors->colors[i];
        }
    }
    return p->alloc == MT_NEVER ? l->c->scene->theme->older : l->c->scene->theme->others;
}

static uint32_t piece_tip(struct layers *l, const struct piece *p)
{
    struct mt_scene *s = l->c->scene;
    struct mt_buf b = {0};
    mt_buf_printf(&b, "%s, ", mt_size_text(p->size, s->style.size).s);
    if (p->alloc == MT_NEVER) {
        mt_buf_text(&b, MT_OLDER);
    } else {
        mt_buf_printf(&b, "allocated at event %s", mt_count_text(p->alloc).s);
    }
    if (p->end == MT_NEVER) {
        mt_buf_text(&b, ", alive at the end");
    } else {
        mt_buf_printf(&b, ", freed at event %s", mt_count_text(p->end).s);
    }
    mt_label_frames(&b, &s->style, l->c->panel->snapshot, piece_stack(l, p), 6);
    return mt_scene_take(s, &b);
}

static double sample_x(const struct layers *l, uint32_t sample)
{
    const struct mt_timeline *t = l->c->panel->timeline;
    return mt_chart_x(l->c, sample < t->samples.n ? t->samples.v[sample].x : 1);
}

/* The corners of one piece, in time: forth along the upper edge, back along the lower one. */
static void draw_piece(struct layers *l, const struct corner *v, size_t n)
{
    const struct piece *p = &l->pieces.v[v->piece];
    uint32_t end = l->end_sample[v->piece];
    struct mt_mark *m = mt_scene_polygon(l->c->scene, piece_color(l, p));
    m->stroke = l->c->scene->theme->panel;
    m->stroke_width = 0.4;
    for (int upper = 1; upper >= 0; upper--) {
        double height = upper ? (double)p->size : 0;
        for (size_t i = 0; i < n; i++) {
            size_t k = upper ? i : n - 1 - i;
            double y = mt_chart_y(l->c, (double)v[k].base + height);
            double from = sample_x(l, v[k].sample);
            double to = sample_x(l, k + 1 < n ? v[k + 1].sample : end);
            mt_scene_point(l->c->scene, upper ? from : to, y);
            mt_scene_point(l->c->scene, upper ? to : from, y);
        }
    }
}

static int compare_corners(const void *a, const void *b)
{
    const struct corner *x = a, *y = b;
    int c = (x->piece > y->piece) - (x->piece < y->piece);
    return c ? c : (x->sample > y->sample) - (x->sample < y->sample);
}

static void draw_pieces(struct layers *l)
{
    if (l->corners.n) {
        qsort(l->corners.v, l->corners.n, sizeof *l->corners.v, compare_corners);
    }
    for (size_t i = 0, n; i < l->corners.n; i += n) {
        n = 1;
        while (i + n < l->corners.n && l->corners.v[i + n].piece == l->corners.v[i].piece) {
            n++;
        }
        uint32_t tip = piece_tip(l, &l->pieces.v[l->corners.v[i].piece]);
        size_t mark = l->c->scene->marks.n;
        draw_piece(l, &l->corners.v[i], n);
        if (mark < l->c->scene->marks.n) {
            l->c->scene->marks.v[mark].tip = tip;
        }
    }
}

/* Everything that has no shape, between the topmost shape and the total. */
static void draw_rest(struct layers *l)
{
    const struct mt_timeline *t = l->c->panel->timeline;
    size_t n = l->n_all - l->pieces.n;
    char tip[96];
    (void)snprintf(tip, sizeof tip, "%s smaller %s", mt_count_text(n).s,
                   n == 1 ? "allocation" : "allocations");
    uint32_t kept = mt_scene_keep(l->c->scene, tip);
    if (n == 0) {
        return;
    }
    double ground = l->c->plot.y + l->c->plot.h, last = ground;
    mt_scene_polygon(l->c->scene, l->c->scene->theme->others)->tip = kept;
    mt_scene_point(l->c->scene, l->c->plot.x, ground);
    for (size_t i = 0; i < t->samples.n; i++) { /* the shapes are painted over the rest of it */
        double x = sample_x(l, (uint32_t)i);
        mt_scene_point(l->c->scene, x, last);
        last = mt_chart_y(l->c, (double)t->samples.v[i].total);
        mt_scene_point(l->c->scene, x, last);
    }
    mt_scene_point(l->c->scene, mt_chart_x(l->c, 1), last);
    mt_scene_point(l->c->scene, mt_chart_x(l->c, 1), ground);
}

static bool layers_run(struct layers *l, size_t most)
{
    if (!add_pieces(l) || !keep_largest(l, most)) {
        return false;
    }
    l->base = mt_mem_alloc(l->pieces.n ? l->pieces.n : 1, sizeof *l->base);
    l->end_sample = mt_mem_alloc(l->pieces.n ? l->pieces.n : 1, sizeof *l->end_sample);
    if (!l->base || !l->end_sample) {
        return false;
    }
    while (!lay_down(l)) {
        if (l->failed || l->pieces.n == 0 || !keep_largest(l, l->pieces.n / 2)) {
            return false;
        }
    }
    draw_rest(l);
    draw_pieces(l);
    return true;
}

void mt_layers_draw(struct mt_chart *c, size_t most, const struct mt_layer_colors *colors)
{
    struct layers l = {.c = c, .colors = colors};
    c->scene->failed |= !layers_run(&l, most);
    mt_vec_release(&l.pieces);
    mt_vec_release(&l.corners);
    mt_vec_release(&l.alive);
    mt_mem_free(l.base);
    mt_mem_free(l.end_sample);
}
