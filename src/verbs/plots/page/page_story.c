/* SPDX-License-Identifier: MIT */
/*
 * The page says in words what pictures say: it is made by the same functions from the same
 * timeline, so that the two never differ.
 */
#include "verbs/plots/page/page_story.h"
#include "draw/stack_colors.h"
#include "verbs/plots/trace/trace_words.h"

static void say(struct mt_page_story *story, const struct mt_trace_panel *p,
                const struct mt_plot_style *style)
{
    if (!mt_source_has_pieces(&p->snapshot->source)) {
        mt_buf_text(&story->doubt,
                    "this file tells no segments and no blocks: those shown here are "
                    "made up from its requests");
    }
    (void)mt_trace_say_doubt(&story->doubt, p);
    (void)mt_trace_say_growth(&story->growth, style, p, style->size);
    if (p->timeline->ooms.n == 0) {
        return;
    }
    mt_trace_say_oom(&story->oom, p, style->size);
    mt_buf_text(&story->oom, " \xc2\xb7 ");
    mt_trace_say_why(&story->oom, p, style->size);
    mt_buf_text(&story->oom, " \xc2\xb7 ");
    mt_trace_say_refusal(&story->oom, p, style->size);
    if (p->limit.below) {
        mt_trace_say_capacity(&story->limit_text, p, style->size);
    }
}

static uint32_t color_of(const struct mt_stack_colors *colors, const struct mt_snapshot *s,
                         uint32_t stack, enum mt_theme_name name)
{
    const struct mt_theme *theme = mt_theme_get(name);
    const struct mt_stack_color *c =
        stack == MT_BAND_OLDER ? NULL : mt_stack_colors_find(colors, s, stack);
    return c ? mt_stack_color_of(theme, c) : theme->older;
}

static bool list_bands(struct mt_page_story *story, const struct mt_snapshot *s,
                       const struct mt_timeline *t)
{
    struct mt_stack_colors colors = {.failed = false};
    mt_stack_colors_add_bands(&colors, s, t);
    for (size_t i = 0; i < t->bands.n && !colors.failed; i++) {
        uint32_t stack = t->bands.v[i].stack;
        struct mt_page_band band = {stack, color_of(&colors, s, stack, MT_THEME_LIGHT),
                                    color_of(&colors, s, stack, MT_THEME_DARK)};
        colors.failed |= stack != MT_BAND_OTHERS && !mt_vec_push(&story->bands, band);
    }
    mt_vec_release(&colors.list);
    return !colors.failed;
}

enum mt_status mt_page_story_init(struct mt_page_story *story, const struct mt_replay *r,
                                  const struct mt_plot_style *style, struct mt_error *err)
{
    const struct mt_leak_options leak = {.threshold = MT_LEAK_THRESHOLD};
    const struct mt_timeline_options memory = {.subject = MT_TIMELINE_MEMORY};
    struct mt_timeline t = {.flat = false};
    struct mt_leaks leaks = {.reason = MT_LEAK_FLAT};
    *story = (struct mt_page_story){.limit = {0}};
    enum mt_status status = mt_plot_look_init(&t, r, err);
    if (status == MT_OK && !list_bands(story, r->snapshot, &t)) {
        status = mt_fail_nomem(err);
    }
    if (status == MT_OK && r->n > 0) {
        status = mt_leaks_find(&leaks, r->snapshot, r, NULL, &leak, err);
    }
    if (status == MT_OK && r->n > 0) {
        struct mt_trace_panel p = {.snapshot = r->snapshot,
                                   .replay = r,
                                   .timeline = &t,
                                   .options = &memory,
                                   .leaks = &leaks};
        if (t.ooms.n && mt_source_has_reserved(&r->snapshot->source) &&
            mt_timeline_limit(&t, t.reserved_peak, &story->limit)) {
            p.limit = story->limit;
        }
        say(story, &p, style);
        bool failed = story->growth.failed || story->doubt.failed || story->oom.failed ||
                      story->limit_text.failed;
        status = failed ? mt_fail_nomem(err) : MT_OK;
    }
    mt_leaks_release(&leaks);
    mt_timeline_release(&t);
    return status;
}

void mt_page_story_release(struct mt_page_story *story)
{
    mt_vec_release(&story->bands);
    mt_buf_release(&story->doubt);
    mt_buf_release(&story->growth);
    mt_buf_release(&story->oom);
    mt_buf_release(&story->limit_text);
}
