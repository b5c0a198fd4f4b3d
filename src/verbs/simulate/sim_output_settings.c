/* SPDX-License-Identifier: MIT */
/* allocator_settings of a written what-if: those of the run, in PyTorch's own form. */
#include <stdio.h>

#include "torch/keys.h"
#include "verbs/simulate/sim.h"

enum {
    TOP_PAIRS = 6,
    NEW_STRINGS = TOP_PAIRS + 2 + MT_ALLOC_INTERVALS,
    NEW_VALUES = 1 + 2 * TOP_PAIRS + 2 * MT_ALLOC_INTERVALS
};

/* The view's lists with room for what is new. */
struct maker {
    struct mt_view *view;
    struct mt_str *strings;
    struct mt_value *values;
    size_t n_strings, n_values;
    bool failed;
};

static struct mt_value text(struct maker *m, struct mt_str s)
{
    char *copy = mt_view_alloc(m->view, s.n + 1, 1);
    if (!copy) {
        m->failed = true;
        return (struct mt_value){.kind = MT_VALUE_NONE};
    }
    memcpy(copy, s.p, s.n);
    m->strings[m->n_strings] = (struct mt_str){copy, s.n};
    return (struct mt_value){.kind = MT_VALUE_STR, .u.id = (uint32_t)m->n_strings++};
}

static void pair(struct maker *m, const char *key, struct mt_value value)
{
    m->values[m->n_values++] = text(m, mt_str_from(key));
    m->values[m->n_values++] = value;
}

static struct mt_value integer(int64_t n)
{
    return (struct mt_value){.kind = MT_VALUE_INT, .u.i = n};
}

static struct mt_value divisions(struct maker *m, const struct mt_alloc_settings *s)
{
    struct mt_value dict = {
        .kind = MT_VALUE_DICT, .n = MT_ALLOC_INTERVALS, .u.id = (uint32_t)m->n_values};
    for (unsigned i = 0; i < MT_ALLOC_INTERVALS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%lu", 1ul << i);
        pair(m, key, integer((int64_t)s->roundup_power2_divisions[i]));
    }
    return dict;
}

static struct mt_value release_text(struct maker *m, mt_torch_release release)
{
    char buffer[16];
    snprintf(buffer, sizeof buffer, "%d.%d", release / 100, release % 100);
    return text(m, mt_str_from(buffer));
}

static void make(struct maker *m, const struct mt_alloc_settings *s, struct mt_str conf,
                 mt_torch_release release)
{
    struct mt_value rounding = divisions(m, s);
    uint32_t first = (uint32_t)m->n_values;
    pair(m, "PYTORCH_CUDA_ALLOC_CONF", text(m, conf));
    pair(m, "max_split_size", integer((int64_t)s->max_split_size));
    pair(m, "garbage_collection_threshold",
         (struct mt_value){.kind = MT_VALUE_FLOAT, .u.f = s->garbage_collection_threshold});
    pair(m, "expandable_segments",
         (struct mt_value){.kind = MT_VALUE_BOOL, .u.i = s->expandable_segments});
    pair(m, "roundup_power2_divisions", rounding);
    pair(m, MT_SETTINGS_RELEASE_KEY, release_text(m, release));
    m->values[m->n_values] =
        (struct mt_value){.kind = MT_VALUE_DICT, .n = TOP_PAIRS, .u.id = first};
    m->view->s.settings = (uint32_t)m->n_values++;
}

enum mt_status mt_sim_output_settings(struct mt_view *view, const struct mt_alloc_settings *s,
                                      struct mt_str conf, mt_torch_release release,
                                      struct mt_error *err)
{
    struct mt_snapshot *v = &view->s;
    struct maker m = {.view = view, .n_strings = v->n_strings, .n_values = v->n_values};
    m.strings = mt_view_alloc(view, v->n_strings + NEW_STRINGS, sizeof *m.strings);
    m.values = mt_view_alloc(view, v->n_values + NEW_VALUES, sizeof *m.values);
    if (!m.strings || !m.values) {
        return mt_fail_nomem(err);
    }
    memcpy(m.strings, v->strings, v->n_strings * sizeof *m.strings);
    memcpy(m.values, v->values, v->n_values * sizeof *m.values);
    make(&m, s, conf, release);
    if (m.failed) {
        return mt_fail_nomem(err);
    }
    v->strings = m.strings;
    v->n_strings = m.n_strings;
    v->values = m.values;
    v->n_values = m.n_values;
    v->present |= 1u << MT_TOP_KEY_allocator_settings;
    v->present &= ~(1u << MT_TOP_KEY_memtool); /* the card's figures are not the what-if's */
    v->own = 0;
    return MT_OK;
}
