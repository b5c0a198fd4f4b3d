/* SPDX-License-Identifier: MIT */
/* Where growth comes from, in words: "most of it" is said of more than half, and lines that take
 * alike are named together. Stacks that end in one line are one. */
#include <stdlib.h>

#include "heap/stacks/frames.h"

#include "triage/triage_state.h"

enum { NAMED = 3 };

struct line {
    uint32_t frame, stack;
    int64_t bytes;
    bool rest;
};

struct lines {
    MT_VEC(struct line) list;
};

static bool add(struct lines *all, const struct mt_snapshot *s, const struct mt_growth *g)
{
    uint32_t frame = mt_stack_telling_frame_id(s, g->stack);
    for (size_t i = 0; i < all->list.n; i++) {
        if (all->list.v[i].frame == frame && all->list.v[i].rest == g->rest) {
            all->list.v[i].bytes += g->bytes_per_step;
            return true;
        }
    }
    struct line fresh = {frame, g->stack, g->bytes_per_step, g->rest};
    return mt_vec_push(&all->list, fresh);
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* How many take at least four fifths of what the first takes. */
static size_t alike(const struct lines *all)
{
    size_t n = 1;
    while (n < all->list.n && all->list.v[n].bytes >= all->list.v[0].bytes / 5 * 4) {
        n++;
    }
    return n;
}

static void say_line(struct mt_triage *t, const struct mt_shot *shot, const struct line *line,
                     struct mt_buf *out)
{
    if (line->rest) {
        mt_buf_text(out, "many stacks together");
    } else {
        mt_shot_label(t, shot, line->stack, out);
    }
}

static void say(struct mt_triage *t, const struct mt_shot *shot, const struct lines *all,
                struct mt_buf *out)
{
    int64_t whole = shot->leaks.bytes_per_step, first = all->list.v[0].bytes;
    if (first > whole / 2) {
        mt_buf_text(out, "most of it from ");
        say_line(t, shot, &all->list.v[0], out);
        return;
    }
    size_t n = alike(all), named = n < NAMED ? n : NAMED;
    if (n == 1) {
        mt_buf_printf(out, "%.0f %% of it from ", 100 * (double)first / (double)whole);
        say_line(t, shot, &all->list.v[0], out);
        return;
    }
    mt_buf_text(out, "alike from ");
    for (size_t i = 0; i < named; i++) {
        mt_buf_text(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
        say_line(t, shot, &all->list.v[i], out);
    }
    if (n > named) {
        mt_buf_printf(out, " and %zu more", n - named);
    }
}

const char *mt_shot_growing(struct mt_triage *t, const struct mt_shot *shot)
{
    struct lines all = {0};
    struct mt_buf b = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < shot->leaks.stacks.n; i++) {
        ok = add(&all, shot->snapshot, &shot->leaks.stacks.v[i]);
    }
    if (ok && all.list.n) {
        qsort(all.list.v, all.list.n, sizeof *all.list.v, compare_lines);
        say(t, shot, &all, &b);
    }
    struct mt_str copy = mt_arena_copy(&t->arena, b.n ? b.p : "", b.n);
    t->no_memory |= !ok || b.failed || copy.p == NULL;
    mt_buf_release(&b);
    mt_vec_release(&all.list);
    return copy.p;
}
