/* SPDX-License-Identifier: MIT */
/*
 * Lines whose large requests change in size, by three readings. Sizes that keep a fixed ratio while
 * they change are the levels of a pyramid, be they of several lines or of one in a loop; of the
 * others, sizes that hardly come twice are those of inputs, and a few that return those of shapes
 * that take turns.
 */
#include "verbs/frag/pattern.h"

#include <math.h>
#include <string.h>

#include "support/mem.h"
#include "torch/torch_rules.h"

const char *mt_pattern_id(enum mt_pattern_kind kind)
{
    static const char *const IDS[MT_PATTERN_COUNT] = {
#define X(name, id) id,
        MT_PATTERN_MAP(X)
#undef X
    };
    return IDS[kind];
}

/* ---- lines ---- */

struct seen {
    uint64_t count, changes, last, least, most;
};

/* What is never freed asks once. */
static bool is_asked(const struct mt_replay *r, size_t i)
{
    const struct mt_event *e = &r->events[i];
    return mt_event_allocates(e) && !mt_torch_is_small(e->size) && r->partner[i] != MT_NEVER;
}

static void look(struct seen *seen, const struct mt_replay *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct mt_event *e = &r->events[i];
        if (is_asked(r, i)) {
            struct seen *x = &seen[e->stack];
            x->changes += x->count && x->last != e->size;
            x->least = !x->count || e->size < x->least ? e->size : x->least;
            x->most = e->size > x->most ? e->size : x->most;
            x->last = e->size;
            x->count++;
        }
    }
}

/* A quarter of the requests have another size than the one before, by a tenth at least in all. */
static bool changes(const struct seen *x)
{
    enum { FEWEST = 8 };
    return x->count >= FEWEST && x->changes >= x->count / 4 && x->most - x->least >= x->most / 10;
}

static void keep(struct mt_pattern *out, uint32_t stack, const struct seen *x)
{
    size_t at = 0;
    while (at < out->n_lines && out->lines[at].most >= x->most) {
        at++;
    }
    if (at == MT_PATTERN_LINES) {
        return;
    }
    out->n_lines += out->n_lines < MT_PATTERN_LINES;
    memmove(&out->lines[at + 1], &out->lines[at], (out->n_lines - at - 1) * sizeof out->lines[0]);
    out->lines[at] = (struct mt_pattern_line){.stack = stack,
                                              .count = x->count,
                                              .changes = x->changes,
                                              .least = x->least,
                                              .most = x->most};
}

static void add_size(struct mt_pattern_line *line, uint64_t size)
{
    bool known = false;
    for (size_t i = 0; i < line->n; i++) {
        known |= line->sizes[i] == size;
    }
    line->different += !known;
    line->sizes[line->n++] = size;
}

static void collect(struct mt_pattern *out, const struct mt_replay *r)
{
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; is_asked(r, i) && k < out->n_lines; k++) {
            struct mt_pattern_line *line = &out->lines[k];
            if (line->stack == r->events[i].stack && line->n < MT_PATTERN_SIZES) {
                add_size(line, r->events[i].size);
            }
        }
    }
}

/* ---- pyramids ---- */

enum { LEVELS = 3 /* fewer are two sizes */ };

static bool is_ratio(double x)
{
    return x >= 1.5 && x <= 4.5;
}

static bool alike(double a, double b)
{
    return fabs(a - b) <= b / 20;
}

/* Whether the requests of two lines keep one ratio, which becomes *ratio. */
static bool keep_ratio(const struct mt_pattern_line *a, const struct mt_pattern_line *b,
                       double *ratio)
{
    *ratio = (double)a->sizes[0] / (double)b->sizes[0];
    size_t same = 0;
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        same += alike((double)a->sizes[i] / (double)b->sizes[i], *ratio);
    }
    return a->n == b->n && is_ratio(*ratio) && same * 10 >= a->n * 9;
}

/* Lines from `from` on, each a level of the one before that it keeps a ratio with. */
static size_t levels_of_lines(const struct mt_pattern *x, size_t from, double *ratio)
{
    size_t n = 1, last = from;
    double first = 0, now;
    for (size_t i = from + 1; i < x->n_lines; i++) {
        if (keep_ratio(&x->lines[last], &x->lines[i], &now) &&
            (n == 1 || fabs(now - first) < 0.3)) {
            first = n == 1 ? now : first;
            last = i;
            n++;
        }
    }
    *ratio = first;
    return n;
}

/* The levels of one line in a loop: falling runs of one ratio and length, over most of it. */
static size_t levels_in_line(const struct mt_pattern_line *line, double *ratio)
{
    size_t length = 1, runs = 0, in_runs = 0;
    *ratio = (double)line->sizes[0] / (double)line->sizes[1];
    while (length < line->n && is_ratio(*ratio) &&
           alike((double)line->sizes[length - 1] / (double)line->sizes[length], *ratio)) {
        length++;
    }
    for (size_t i = 0; length >= LEVELS && i + length <= line->n; i += length, runs++) {
        bool same = true;
        for (size_t k = 1; k < length; k++) {
            double now = (double)line->sizes[i + k - 1] / (double)line->sizes[i + k];
            same = same && alike(now, *ratio);
        }
        in_runs += same;
    }
    return runs >= 2 && in_runs * 10 >= runs * 8 && line->different >= runs ? length : 1;
}

static bool is_pyramid(struct mt_pattern *x)
{
    for (size_t i = 0; i < x->n_lines; i++) {
        size_t inside = levels_in_line(&x->lines[i], &x->ratio);
        size_t n = inside >= LEVELS ? inside : levels_of_lines(x, i, &x->ratio);
        if (n >= LEVELS) {
            x->in_step = n;
            return true;
        }
    }
    return false;
}

/* ---- all ---- */

static enum mt_pattern_kind kind_of(struct mt_pattern *x)
{
    enum { MANY = 8 };
    if (!x->n_lines) {
        return MT_PATTERN_NONE;
    }
    if (is_pyramid(x)) {
        return MT_PATTERN_PYRAMID;
    }
    const struct mt_pattern_line *line = &x->lines[0];
    bool dynamic = line->different >= MANY && line->different * 2 >= line->n;
    return dynamic                  ? MT_PATTERN_DYNAMIC
           : line->different < MANY ? MT_PATTERN_ALTERNATING
                                    : MT_PATTERN_NONE;
}

enum mt_status mt_pattern_find(struct mt_pattern *out, const struct mt_replay *r,
                               struct mt_error *err)
{
    size_t n = r->snapshot->n_stacks;
    struct seen *seen = mt_mem_zalloc(n ? n : 1, sizeof *seen);
    *out = (struct mt_pattern){.kind = MT_PATTERN_NONE};
    if (!seen) {
        return mt_fail_nomem(err);
    }
    look(seen, r);
    for (size_t i = 0; i < n; i++) {
        if (changes(&seen[i])) {
            keep(out, (uint32_t)i, &seen[i]);
        }
    }
    mt_mem_free(seen);
    collect(out, r);
    out->kind = kind_of(out);
    return MT_OK;
}
