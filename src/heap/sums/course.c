/* SPDX-License-Identifier: MIT */
/* Growth from moment to moment of one process. */
#include "heap/sums/course.h"

#include <stdlib.h>

#include "heap/sums/logged.h"
#include "heap/stacks/fold.h"
#include "support/checked.h"

void mt_course_init(struct mt_course *c, uint64_t hash_seed)
{
    *c = (struct mt_course){.rank = -1, .device = -1, .least = MT_COURSE_FILES};
    mt_intern_init(&c->names, &c->arena, hash_seed);
}

void mt_course_release(struct mt_course *c)
{
    mt_intern_release(&c->names);
    mt_arena_release(&c->arena);
    mt_vec_release(&c->points);
    mt_vec_release(&c->stacks);
}

/* ---- snapshots ---- */

struct labels {
    mt_course_label label;
    void *ctx;
};

static bool add_stack(struct mt_course *c, const struct mt_snapshot *s,
                      const struct mt_stack_sum *sum, const struct labels *words)
{
    struct mt_buf label = {0};
    words->label(words->ctx, &label, s, sum->stack);
    uint32_t id = label.failed ? 0 : mt_intern_put(&c->names, label.n ? label.p : "", label.n);
    mt_buf_release(&label);
    struct mt_course_stack fresh = {.since = c->points.n};
    if (!id || (id > c->stacks.n && !mt_vec_push(&c->stacks, fresh))) {
        return false;
    }
    struct mt_course_stack *k = &c->stacks.v[id - 1];
    k->name = mt_intern_get(&c->names, id);
    k->last = mt_add_sat(k->last, sum->bytes);
    k->first = c->points.n == 0 ? k->last : k->first;
    k->count += sum->count;
    return true;
}

/* What each stack holds at this moment, against the one before. */
static bool add_stacks(struct mt_course *c, const struct mt_snapshot *s, const struct labels *words,
                       struct mt_filtered *f, uint64_t *live, struct mt_error *err)
{
    struct mt_stack_sums sums;
    for (size_t i = 0; i < c->stacks.n; i++) {
        c->stacks.v[i].before = c->stacks.v[i].last;
        c->stacks.v[i].last = c->stacks.v[i].count = 0;
    }
    bool ok = mt_stack_sums_find(&sums, s, f, MT_ALL_DEVICES, err) == MT_OK;
    *live = sums.bytes;
    for (size_t i = 0; ok && i < sums.rows.n; i++) {
        ok = add_stack(c, s, &sums.rows.v[i], words);
    }
    mt_stack_sums_release(&sums);
    for (size_t i = 0; i < c->stacks.n; i++) {
        struct mt_course_stack *k = &c->stacks.v[i];
        k->since = k->last < k->before ? c->points.n : k->since;
    }
    return ok;
}

enum mt_status mt_course_add_snapshot(struct mt_course *c, const struct mt_snapshot *s,
                                      struct mt_filtered *f, const char *file,
                                      mt_course_label label, void *ctx, struct mt_error *err)
{
    struct mt_course_point p = {.file = file, .us = MT_NO_TIME, .step = -1, .has_reserved = true};
    struct labels words = {label, ctx};
    for (size_t i = 0; i < s->n_segments; i++) {
        p.reserved = mt_add_sat(p.reserved, s->segments[i].total_size);
    }
    for (size_t d = 0; d < s->n_traces; d++) {
        size_t last = s->traces[d].first + s->traces[d].n;
        int64_t us = s->traces[d].n ? s->events[last - 1].time_us : MT_NO_TIME;
        p.us = us > p.us ? us : p.us;
    }
    bool ok = add_stacks(c, s, &words, f, &p.live, err) && mt_vec_push(&c->points, p);
    return ok ? MT_OK : mt_fail_nomem(err);
}

/* ---- figures ---- */

static const struct mt_logged_value *current(const struct mt_logged_table *t, enum mt_stat_kind k)
{
    return &t->cells[k][MT_SLOT_ALL][MT_STAT_COLUMN_CURRENT];
}

static void add_table(struct mt_course_point *p, const struct mt_logged_table *t)
{
    const struct mt_logged_value *reserved = current(t, MT_STAT_RESERVED_BYTES);
    p->live = mt_add_sat(p->live, mt_logged_bytes(current(t, MT_STAT_ALLOCATED_BYTES)));
    p->reserved = mt_add_sat(p->reserved, mt_logged_bytes(reserved));
    p->has_reserved &= reserved->present;
}

enum mt_status mt_course_add_logged(struct mt_course *c, const struct mt_logged *l,
                                    const char *file, struct mt_error *err)
{
    struct mt_course_point p = {.file = file, .us = MT_NO_TIME, .step = -1, .has_reserved = true};
    if (l->tables.n == 0) {
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "no figures of the allocator are in it");
    }
    for (size_t i = 0; i < l->tables.n; i++) {
        if (l->tables.v[i].rank != l->tables.v[0].rank) {
            (void)mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "it has the figures of several ranks");
            mt_hint(err, "a series is of one process; alone such a file has an answer for each");
            return MT_FORMAT;
        }
        if (mt_logged_is_last(l, i)) {
            add_table(&p, &l->tables.v[i]);
        }
    }
    return mt_vec_push(&c->points, p) ? MT_OK : mt_fail_nomem(err);
}

/* ---- what it says ---- */

/* What lies between two points: steps, else points. */
static int64_t distance(const struct mt_course *c, size_t a, size_t b)
{
    return c->by_step ? c->points.v[b].step - c->points.v[a].step : (int64_t)(b - a);
}

static int64_t live_slope(const struct mt_course *c, size_t a, size_t b)
{
    return a < b ? (int64_t)(c->points.v[b].live - c->points.v[a].live) / distance(c, a, b) : 0;
}

static int64_t reserved_slope(const struct mt_course *c, size_t a, size_t b)
{
    return a < b ? (int64_t)(c->points.v[b].reserved - c->points.v[a].reserved) / distance(c, a, b)
                 : 0;
}

static bool names_steps(const struct mt_course *c)
{
    bool rise = c->points.v[0].step >= 0;
    for (size_t i = 1; i < c->points.n; i++) {
        rise = rise && c->points.v[i].step > c->points.v[i - 1].step;
    }
    return rise;
}

/* Whether the second half does not grow: warm-up, or a cache that has filled. */
static bool has_settled(const struct mt_course *c, uint64_t threshold)
{
    size_t n = c->points.n;
    int64_t late = live_slope(c, n / 2, n - 1);
    return n > MT_COURSE_PRINTS && (late <= 0 || (uint64_t)late <= threshold);
}

static enum mt_course_verdict judge(const struct mt_course *c, uint64_t threshold)
{
    size_t rises = 0, falls = 0, n = c->points.n;
    for (size_t i = 1; i < n; i++) {
        rises += c->points.v[i].live > c->points.v[i - 1].live;
        falls += c->points.v[i].live < c->points.v[i - 1].live;
    }
    bool grows = c->live_step > 0 && (uint64_t)c->live_step > threshold;
    if (n < c->least) {
        return MT_COURSE_UNKNOWN;
    }
    if (!grows || has_settled(c, threshold)) {
        return MT_COURSE_NO_LEAK;
    }
    return 10 * falls <= n && 4 * rises >= 3 * (n - 1) ? MT_COURSE_LEAK : MT_COURSE_UNKNOWN;
}

static int by_growth(const void *a, const void *b)
{
    const struct mt_course_stack *x = a, *y = b;
    uint64_t gx = x->last - x->first, gy = y->last - y->first;
    return (gx < gy) - (gx > gy);
}

void mt_course_conclude(struct mt_course *c, uint64_t threshold)
{
    size_t n = c->points.n, kept = 0;
    c->threshold = threshold;
    if (n == 0) {
        return;
    }
    c->by_step = names_steps(c);
    c->live_step = live_slope(c, 0, n - 1);
    c->reserved_step = reserved_slope(c, 0, n - 1);
    for (size_t i = 1; i < n; i++) {
        c->since = c->points.v[i].live <= c->points.v[i - 1].live ? i : c->since;
    }
    c->verdict = judge(c, threshold);
    for (size_t i = 0; i < c->stacks.n; i++) {
        if (c->stacks.v[i].last > c->stacks.v[i].first) {
            c->stacks.v[kept++] = c->stacks.v[i];
        }
    }
    c->stacks.n = kept;
    if (kept) {
        qsort(c->stacks.v, kept, sizeof *c->stacks.v, by_growth);
    }
}

/* ---- one log ---- */

/* The kind of which the place of table i has most. */
static enum mt_logged_kind most_of(const struct mt_logged *l, size_t i)
{
    size_t n[MT_LOGGED_STATS + 1] = {0};
    int best = MT_LOGGED_STATS;
    for (size_t k = 0; k < l->tables.n; k++) {
        n[l->tables.v[k].kind] += mt_logged_same_place(&l->tables.v[k], &l->tables.v[i]);
    }
    for (int kind = MT_LOGGED_STATS; kind >= 0; kind--) {
        best = n[kind] > n[best] ? kind : best;
    }
    return (enum mt_logged_kind)best;
}

static bool add_place(struct mt_courses *all, const struct mt_logged *l, size_t i, const char *file,
                      uint64_t threshold)
{
    struct mt_course c = {
        .rank = l->tables.v[i].rank, .device = l->tables.v[i].device, .least = MT_COURSE_PRINTS};
    enum mt_logged_kind kind = most_of(l, i);
    bool ok = true;
    for (size_t k = 0; ok && k < l->tables.n; k++) {
        const struct mt_logged_table *t = &l->tables.v[k];
        struct mt_course_point p = {file, t->line, MT_NO_TIME, t->step, 0, 0, true};
        if (t->kind == kind && mt_logged_same_place(t, &l->tables.v[i])) {
            add_table(&p, t);
            ok = mt_vec_push(&c.points, p);
        }
    }
    mt_course_conclude(&c, threshold);
    ok = ok && mt_vec_push(&all->v, c);
    if (!ok) {
        mt_course_release(&c);
    }
    return ok;
}

static int by_verdict(const void *a, const void *b)
{
    const struct mt_course *x = a, *y = b;
    static const int WEIGHT[] = {
        [MT_COURSE_LEAK] = 2, [MT_COURSE_UNKNOWN] = 1, [MT_COURSE_NO_LEAK] = 0};
    if (x->verdict != y->verdict) {
        return WEIGHT[y->verdict] - WEIGHT[x->verdict];
    }
    if (x->live_step != y->live_step) {
        return x->live_step > y->live_step ? -1 : 1;
    }
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->device > y->device) - (x->device < y->device);
}

enum mt_status mt_courses_find(struct mt_courses *all, const struct mt_logged *l, const char *file,
                               uint64_t threshold, struct mt_error *err)
{
    *all = (struct mt_courses){0};
    for (size_t i = 0; i < l->tables.n; i++) {
        if (mt_logged_is_last(l, i) && !add_place(all, l, i, file, threshold)) {
            return mt_fail_nomem(err);
        }
    }
    if (all->v.n) {
        qsort(all->v.v, all->v.n, sizeof *all->v.v, by_verdict);
    }
    return MT_OK;
}

void mt_courses_release(struct mt_courses *all)
{
    for (size_t i = 0; i < all->v.n; i++) {
        mt_course_release(&all->v.v[i]);
    }
    mt_vec_release(&all->v);
}
