/* SPDX-License-Identifier: MIT */
/*
 * The first panel's colours are those that it would have alone. Another panel has the colours of
 * the stacks that it shares, frame for frame; then those of stacks that have the same name in the
 * legend, as after an edit that moved the lines of their callers; new ones for the rest.
 */
#include "verbs/plots/trace/trace_looks.h"
#include "draw/stack_colors.h"
#include "support/mem.h"

struct looks {
    const struct mt_trace_panel *panels;
    struct mt_band_look *v;
    struct mt_stack_colors colors;
    const struct mt_theme *theme;
};

static struct mt_band_look *look_at(const struct looks *l, size_t panel, size_t band)
{
    return &l->v[panel * MT_TRACE_BANDS + band];
}

static const struct mt_stack_color *color_of(const struct looks *l, size_t panel, size_t band)
{
    const struct mt_trace_panel *p = &l->panels[panel];
    uint32_t stack = p->timeline->bands.v[band].stack;
    return stack < MT_BAND_OLDER ? mt_stack_colors_find(&l->colors, p->snapshot, stack) : NULL;
}

static void name_bands(const struct looks *l, size_t panel, const struct mt_plot_style *style)
{
    const struct mt_trace_panel *p = &l->panels[panel];
    const struct mt_timeline *t = p->timeline;
    struct mt_label *labels[MT_TRACE_BANDS];
    uint32_t stacks[MT_TRACE_BANDS];
    for (size_t i = 0; i < t->bands.n; i++) {
        labels[i] = &look_at(l, panel, i)->label;
        stacks[i] = t->bands.v[i].stack;
        mt_trace_label(labels[i], style, p, &t->bands.v[i]);
    }
    mt_labels_distinguish(labels, stacks, t->bands.n, style, p->snapshot);
}

static unsigned slots_in_use(const struct looks *l, size_t panel)
{
    unsigned slots = 0;
    for (size_t i = 0; i < l->panels[panel].timeline->bands.n; i++) {
        const struct mt_stack_color *c = color_of(l, panel, i);
        slots |= c ? 1u << c->slot : 0;
    }
    return slots;
}

typedef bool alike_fn(const struct mt_label *, const struct mt_label *);

/* The colour of a band of an earlier panel that is called as this one; NULL: none. */
static const struct mt_stack_color *namesake(const struct looks *l, size_t panel, size_t band,
                                             alike_fn *alike)
{
    const struct mt_label *name = &look_at(l, panel, band)->label;
    for (size_t i = 0; i < panel; i++) {
        for (size_t k = 0; k < l->panels[i].timeline->bands.n; k++) {
            const struct mt_stack_color *c = color_of(l, i, k);
            if (c && alike(&look_at(l, i, k)->label, name)) {
                return c;
            }
        }
    }
    return NULL;
}

static void share_by_name(struct looks *l, size_t panel, alike_fn *alike)
{
    const struct mt_trace_panel *p = &l->panels[panel];
    unsigned here = slots_in_use(l, panel);
    for (size_t i = 0; i < p->timeline->bands.n; i++) {
        uint32_t stack = p->timeline->bands.v[i].stack;
        if (stack >= MT_BAND_OLDER || color_of(l, panel, i)) {
            continue;
        }
        const struct mt_stack_color *c = namesake(l, panel, i, alike);
        if (c && !(here & (1u << c->slot))) {
            here |= 1u << c->slot;
            mt_stack_colors_share(&l->colors, p->snapshot, stack, c->slot);
        }
    }
}

static void choose_colors(struct looks *l, size_t panel)
{
    const struct mt_trace_panel *p = &l->panels[panel];
    share_by_name(l, panel, mt_label_same);
    share_by_name(l, panel, mt_label_differs_by_caller);
    if (p->look) {
        mt_stack_colors_add_bands(&l->colors, p->snapshot, p->look);
    }
    mt_stack_colors_add_bands(&l->colors, p->snapshot, p->timeline);
    for (size_t i = 0; i < p->timeline->bands.n; i++) {
        const struct mt_stack_color *c = color_of(l, panel, i);
        bool older = p->timeline->bands.v[i].stack == MT_BAND_OLDER;
        look_at(l, panel, i)->color = c       ? mt_stack_color_of(l->theme, c)
                                      : older ? l->theme->older
                                              : l->theme->others;
    }
}

/* The fill of an earlier panel's band of the same colour; else a new one. */
static size_t fill_of(const struct looks *l, size_t panel, uint32_t color, size_t *used)
{
    for (size_t i = 0; i < panel; i++) {
        for (size_t k = 0; k < l->panels[i].timeline->bands.n; k++) {
            if (look_at(l, i, k)->color == color) {
                return look_at(l, i, k)->fill;
            }
        }
    }
    return (*used)++;
}

struct mt_band_look *mt_trace_looks_new(const struct mt_plot_style *style,
                                        const struct mt_trace_panel *panels, size_t n)
{
    struct looks l = {.panels = panels, .theme = mt_theme_get(style->theme)};
    size_t used = 0;
    l.v = mt_mem_zalloc((n ? n : 1) * MT_TRACE_BANDS, sizeof *l.v);
    for (size_t i = 0; l.v && i < n; i++) {
        name_bands(&l, i, style);
        choose_colors(&l, i);
        for (size_t k = 0; k < panels[i].timeline->bands.n; k++) {
            struct mt_band_look *look = look_at(&l, i, k);
            look->fill = fill_of(&l, i, look->color, &used);
        }
    }
    mt_vec_release(&l.colors.list);
    if (l.colors.failed) {
        mt_trace_looks_free(l.v, n);
        return NULL;
    }
    return l.v;
}

void mt_trace_looks_free(struct mt_band_look *looks, size_t n)
{
    for (size_t i = 0; looks && i < n * MT_TRACE_BANDS; i++) {
        mt_label_release(&looks[i].label);
    }
    mt_mem_free(looks);
}
