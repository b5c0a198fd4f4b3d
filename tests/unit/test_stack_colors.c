/* SPDX-License-Identifier: MIT */
/* A stack has one colour in all pictures of a file. */
#include "plot/holders.h"
#include "plot/stack_colors.h"
#include "plot/trace_words.h"

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

START_TEST(timeline_and_state_agree)
{
    struct made m;
    struct mt_timeline look;
    struct mt_state st;
    struct mt_holders h;
    struct mt_error err;
    uint32_t stacks[STACKS], colors[MT_TRACE_BANDS];
    const struct mt_theme *theme = mt_theme_get(MT_THEME_LIGHT);
    make_many(&m, stacks);
    ck_assert_int_eq(mt_plot_look_init(&look, &m.r, &err), MT_OK);
    ck_assert_int_eq(mt_state_at(&m.s, 0, SIZE_MAX, &st, &err), MT_OK);
    ck_assert(mt_holders_find(&h, &m.s, &st, theme, &look));
    struct mt_trace_panel p = {.snapshot = &m.s, .replay = &m.r, .timeline = &look};
    mt_trace_colors(colors, theme, &p);
    size_t both = 0;
    for (size_t i = 0; i < look.bands.n; i++) {
        size_t k = mt_holders_index(&h, look.bands.v[i].stack);
        if (k < h.n) {
            ck_assert_uint_eq(h.colors[k], colors[i]);
            both++;
        }
    }
    ck_assert_uint_ge(both, 6);
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
    uint32_t stacks[STACKS], colors[MT_TRACE_BANDS], whole[MT_TRACE_BANDS];
    const struct mt_theme *theme = mt_theme_get(MT_THEME_LIGHT);
    make_many(&m, stacks);
    const struct mt_timeline_options o = {.columns = 80, .bands = 4, .first = 0, .last = 6};
    ck_assert_int_eq(mt_plot_look_init(&look, &m.r, &err), MT_OK);
    ck_assert_int_eq(mt_timeline_init(&part, &m.r, &o, &err), MT_OK);
    struct mt_trace_panel p = {.snapshot = &m.s, .replay = &m.r, .timeline = &look};
    mt_trace_colors(whole, theme, &p);
    p.timeline = &part;
    p.look = &look;
    mt_trace_colors(colors, theme, &p);
    for (size_t i = 0; i < part.bands.n; i++) {
        for (size_t k = 0; k < look.bands.n && part.bands.v[i].stack < MT_BAND_OLDER; k++) {
            bool same = part.bands.v[i].stack == look.bands.v[k].stack;
            ck_assert_int_eq(same, colors[i] == whole[k]);
        }
    }
    mt_timeline_release(&part);
    mt_timeline_release(&look);
    made_release(&m);
}
END_TEST

UNIT_MAIN("stack_colors", timeline_and_state_agree, a_window_keeps_colors)
