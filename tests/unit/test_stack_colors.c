/* SPDX-License-Identifier: MIT */
/* A stack has one colour in all pictures of a file, and in all panels of a picture. */
#include "verbs/plots/segments/holders.h"
#include "verbs/plots/trace/trace_looks.h"

#include "made_trace.h"
#include "unit.h"

enum { STACKS = 16 };

/* Many stacks of different size, the later ones larger, the first half freed at the end. */
static void make_many(struct made *m, uint32_t *stacks)
{
    made_begin(m);
    for (uint32_t i = 0; i < STACKS; i++) {
        stacks[i] = made_stack(m, "work", (int)i + 1);
        made_event(m, MT_ACTION_ALLOC, i * 32 * MADE_MIB, (i + 1) * MADE_MIB, stacks[i]);
    }
    for (uint32_t i = 0; i < STACKS / 2; i++) {
        made_event(m, MT_ACTION_FREE_REQUESTED, i * 32 * MADE_MIB, (i + 1) * MADE_MIB, 0);
        made_event(m, MT_ACTION_FREE_COMPLETED, i * 32 * MADE_MIB, (i + 1) * MADE_MIB, 0);
    }
    for (uint32_t i = STACKS / 2; i < STACKS; i++) {
        struct made_block b = {(i + 1) * MADE_MIB, (i + 1) * MADE_MIB, MT_BLOCK_ALLOCATED,
                               stacks[i]};
        made_segment(m, i * 32 * MADE_MIB, false, &b, 1);
    }
    made_finish(m);
}

static const struct mt_timeline_options MEMORY = {.subject = MT_TIMELINE_MEMORY};

static struct mt_band_look *looks_of(const struct mt_trace_panel *panels, size_t n)
{
    static const struct mt_plot_style PLAIN = {.theme = MT_THEME_LIGHT};
    struct mt_band_look *looks = mt_trace_looks_new(&PLAIN, panels, n);
    ck_assert_ptr_nonnull(looks);
    return looks;
}

START_TEST(timeline_and_state_agree)
{
    struct made m;
    struct mt_timeline look;
    struct mt_state st;
    struct mt_holders h;
    struct mt_error err;
    uint32_t stacks[STACKS];
    const struct mt_theme *theme = mt_theme_get(MT_THEME_LIGHT);
    make_many(&m, stacks);
    ck_assert_int_eq(mt_plot_look_init(&look, &m.r, &err), MT_OK);
    ck_assert_int_eq(mt_state_at(&m.s, 0, SIZE_MAX, &st, &err), MT_OK);
    ck_assert(mt_holders_find(&h, &m.s, &st, theme, &look));
    struct mt_trace_panel p = {
        .snapshot = &m.s, .replay = &m.r, .timeline = &look, .options = &MEMORY};
    struct mt_band_look *looks = looks_of(&p, 1);
    size_t both = 0;
    for (size_t i = 0; i < look.bands.n; i++) {
        size_t k = mt_holders_index(&h, look.bands.v[i].stack);
        if (k < h.n) {
            ck_assert_uint_eq(h.colors[k], looks[i].color);
            both++;
        }
    }
    ck_assert_uint_ge(both, 6);
    mt_trace_looks_free(looks, 1);
    mt_state_release(&st);
    mt_timeline_release(&look);
    made_release(&m);
}
END_TEST

/* A part of the trace, other bands: the stacks that both show keep their colours, and no two stacks
 * share one. */
START_TEST(a_window_keeps_colors)
{
    struct made m;
    struct mt_timeline look, part;
    struct mt_error err;
    uint32_t stacks[STACKS];
    make_many(&m, stacks);
    const struct mt_timeline_options o = {.columns = 80, .bands = 4, .first = 0, .last = 6};
    ck_assert_int_eq(mt_plot_look_init(&look, &m.r, &err), MT_OK);
    ck_assert_int_eq(mt_timeline_init(&part, &m.r, &o, &err), MT_OK);
    struct mt_trace_panel p = {
        .snapshot = &m.s, .replay = &m.r, .timeline = &look, .options = &MEMORY};
    struct mt_band_look *whole = looks_of(&p, 1);
    p.timeline = &part;
    p.look = &look;
    struct mt_band_look *looks = looks_of(&p, 1);
    for (size_t i = 0; i < part.bands.n; i++) {
        for (size_t k = 0; k < look.bands.n && part.bands.v[i].stack < MT_BAND_OLDER; k++) {
            bool same = part.bands.v[i].stack == look.bands.v[k].stack;
            ck_assert_int_eq(same, looks[i].color == whole[k].color);
        }
    }
    mt_trace_looks_free(looks, 1);
    mt_trace_looks_free(whole, 1);
    mt_timeline_release(&part);
    mt_timeline_release(&look);
    made_release(&m);
}
END_TEST

/* A file of its own, in which line `first + i` of `work` holds (n - i) * 2 MiB. Stacks have the
 * same innermost frame in all files, the callers' lines may have moved. */
static void make_lines(struct made *m, int first, uint32_t n, int caller)
{
    made_begin(m);
    struct mt_frame main = {.name = mt_builder_cstr(m->b, "main"),
                            .filename = mt_builder_cstr(m->b, "main.py"),
                            .line = caller};
    struct mt_frame work = {.name = mt_builder_cstr(m->b, "work"),
                            .filename = mt_builder_cstr(m->b, "train.py"),
                            .line = first};
    for (uint32_t i = 0; i < n; i++, work.line++) {
        uint32_t frames[] = {mt_builder_frame(m->b, &work), mt_builder_frame(m->b, &main)};
        uint32_t stack = mt_builder_stack(m->b, frames, MT_COUNT(frames));
        made_event(m, MT_ACTION_ALLOC, i * 64 * MADE_MIB, (n - i) * 2 * MADE_MIB, stack);
    }
    made_finish(m);
}

/* Whether bands of two panels with the same name, and no others, have one colour and one letter.
 * Counts the names that both have. */
static size_t shared_names(const struct mt_timeline *t, const struct mt_band_look *looks)
{
    size_t both = 0;
    for (size_t i = 0; i < t[0].bands.n; i++) {
        for (size_t k = 0; k < t[1].bands.n; k++) {
            const struct mt_band_look *a = &looks[i], *b = &looks[MT_TRACE_BANDS + k];
            bool same = mt_str_equal(mt_buf_view(&a->label.main), mt_buf_view(&b->label.main));
            ck_assert_int_eq(same, a->color == b->color);
            ck_assert_int_eq(same, a->fill == b->fill);
            both += same;
        }
    }
    return both;
}

START_TEST(panels_share_colors)
{
    static const struct {
        int caller; /* line of the second file's */
        int first;
        size_t shared;
    } CASES[] = {{10, 1, 8}, {10, 4, 5}, {11, 4, 5}, {10, 50, 0}};
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        struct made m[2];
        struct mt_timeline t[2];
        struct mt_error err;
        make_lines(&m[0], 1, 8, 10);
        make_lines(&m[1], CASES[i].first, 8, CASES[i].caller);
        struct mt_trace_panel p[2] = {{.snapshot = NULL}};
        for (size_t k = 0; k < 2; k++) {
            ck_assert_int_eq(mt_plot_look_init(&t[k], &m[k].r, &err), MT_OK);
            p[k] = (struct mt_trace_panel){.snapshot = &m[k].s,
                                           .replay = &m[k].r,
                                           .timeline = &t[k],
                                           .options = &MEMORY,
                                           .column = k};
        }
        struct mt_band_look *looks = looks_of(p, 2);
        ck_assert_uint_eq(shared_names(t, looks), CASES[i].shared);
        mt_trace_looks_free(looks, 2);
        for (size_t k = 0; k < 2; k++) {
            mt_timeline_release(&t[k]);
            made_release(&m[k]);
        }
    }
}
END_TEST

UNIT_MAIN("stack_colors", timeline_and_state_agree, a_window_keeps_colors, panels_share_colors)
