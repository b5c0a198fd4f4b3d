/* SPDX-License-Identifier: MIT */
/* Categories are guessed from names; a snapshot that is to lose its names gets them as data first:
 * in the events' own key, and as an unknown key in blocks that no event made. */
#include "verbs/convert/keep_categories.h"

#include <string.h>

#include "heap/stacks/categories.h"
#include "torch/keys.h"
#include "heap/walk/query.h"

enum { WORDS = MT_CATEGORY_COUNT * MT_SURE_COUNT };

struct keeping {
    struct mt_view *view;
    struct mt_rules *rules;
    struct mt_event *events;
    uint32_t *column;
    struct mt_block *blocks;
    struct mt_extra *extras;
    size_t n_extras;
    uint32_t word;  /* string id of the first category, the others follow */
    uint32_t key;   /* string id of "category" */
    uint32_t value; /* index of the first category among the values */
    uint8_t shift;  /* shapes with the key: the old index + shift */
};

/* Strings, values and shapes that the new keys need, behind the old ones. */
static bool add_words(struct keeping *k)
{
    struct mt_snapshot *s = &k->view->s;
    size_t extra = WORDS + 1;
    struct mt_str *strings = mt_view_alloc(k->view, s->n_strings + extra, sizeof *strings);
    struct mt_value *values = mt_view_alloc(k->view, s->n_values + extra, sizeof *values);
    if (!strings || !values) {
        return false;
    }
    memcpy(strings, s->strings, s->n_strings * sizeof *strings);
    memcpy(values, s->values, s->n_values * sizeof *values);
    k->word = (uint32_t)s->n_strings;
    k->value = (uint32_t)s->n_values;
    k->key = k->word + WORDS;
    for (uint32_t c = 0; c < WORDS; c++) {
        strings[k->word + c] = mt_category_told((enum mt_category)(c / MT_SURE_COUNT),
                                                (enum mt_sureness)(c % MT_SURE_COUNT));
        values[k->value + c] = (struct mt_value){.kind = MT_VALUE_STR, .u.id = k->word + c};
    }
    strings[k->key] = MT_STR("category");
    s->strings = strings;
    s->values = values;
    s->n_strings += extra;
    s->n_values += extra;
    return true;
}

static bool add_shapes(struct keeping *k)
{
    struct mt_snapshot *s = &k->view->s;
    size_t n = s->n_event_shapes;
    struct mt_event_shape *shapes = mt_view_alloc(k->view, 2 * n, sizeof *shapes);
    if (!shapes) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        shapes[i] = shapes[n + i] = s->event_shapes[i];
        shapes[n + i].present |= 1u << MT_EVENT_KEY_category;
    }
    k->shift = (uint8_t)n;
    s->event_shapes = shapes;
    s->n_event_shapes = 2 * n;
    return true;
}

static bool copy_columns(struct keeping *k)
{
    struct mt_snapshot *s = &k->view->s;
    const uint32_t *old = s->columns[MT_COLUMN_CATEGORY];
    k->events = mt_view_copy(k->view, s->events, s->n_events, sizeof *s->events);
    k->blocks = mt_view_copy(k->view, s->blocks, s->n_blocks, sizeof *s->blocks);
    k->column = mt_view_alloc(k->view, s->n_events, sizeof *k->column);
    k->extras = mt_view_alloc(k->view, s->n_extras + s->n_blocks, sizeof *k->extras);
    if (!k->events || !k->blocks || !k->column || !k->extras) {
        return false;
    }
    for (size_t i = 0; i < s->n_events; i++) {
        k->column[i] = old ? old[i] : s->column_defaults[MT_COLUMN_CATEGORY];
    }
    memcpy(k->extras, s->extras, s->n_extras * sizeof *k->extras);
    k->n_extras = s->n_extras;
    return true;
}

static uint32_t word_of(enum mt_category c, enum mt_sureness s)
{
    return (uint32_t)c * MT_SURE_COUNT + (uint32_t)s;
}

static void keep_event(struct keeping *k, size_t index, uint32_t word)
{
    struct mt_event *e = &k->events[index];
    if (!(k->view->s.event_shapes[e->shape].present >> MT_EVENT_KEY_category & 1)) {
        e->shape = (uint8_t)(e->shape + k->shift);
        k->column[index] = k->word + word;
    }
}

static void keep_ghost(struct keeping *k, const struct mt_ghost *g, const struct mt_categories *c)
{
    enum mt_category category = mt_category_of_ghost(c, g);
    if (g->block == MT_NEVER || category == MT_CATEGORY_UNKNOWN) {
        return;
    }
    struct mt_block *b = &k->blocks[g->block];
    k->extras[k->n_extras] =
        (struct mt_extra){.key = k->key,
                          .value = k->value + word_of(category, mt_sureness_of_ghost(c, g)),
                          .next = b->extra};
    b->extra = (uint32_t)k->n_extras++;
}

static enum mt_status keep_device(struct keeping *k, const struct mt_snapshot *s, int32_t device,
                                  struct mt_error *err)
{
    struct mt_replay r;
    struct mt_categories c;
    MT_TRY(mt_replay_init(&r, s, device, err));
    enum mt_status status = mt_categories_find(&c, k->rules, &r, err);
    size_t base = (size_t)(r.events - s->events);
    for (size_t i = 0; status == MT_OK && i < r.n; i++) {
        if (mt_event_kind(&r.events[i]) == MT_STEP_ALLOC) {
            keep_event(k, base + i,
                       word_of((enum mt_category)c.events[i], (enum mt_sureness)c.events_sure[i]));
        }
    }
    for (size_t i = 0; status == MT_OK && i < r.ghosts.n; i++) {
        keep_ghost(k, &r.ghosts.v[i], &c);
    }
    mt_categories_release(&c);
    mt_replay_release(&r);
    return status;
}

static enum mt_status keep_all(struct keeping *k, struct mt_error *err)
{
    struct mt_snapshot original = k->view->s; /* the rules look at it while the view changes */
    if (!add_words(k) || !add_shapes(k) || !copy_columns(k)) {
        return mt_fail_nomem(err);
    }
    struct mt_devices devices = {0};
    enum mt_status status = mt_devices_find(&devices, &original, false, err);
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        status = keep_device(k, &original, devices.ids.v[i], err);
    }
    mt_devices_release(&devices);
    MT_TRY(status);
    struct mt_snapshot *s = &k->view->s;
    s->events = k->events;
    s->blocks = k->blocks;
    s->extras = k->extras;
    s->n_extras = k->n_extras;
    s->columns[MT_COLUMN_CATEGORY] = k->column;
    return MT_OK;
}

enum mt_status mt_view_keep_categories(struct mt_view *v, struct mt_error *err)
{
    struct keeping k = {.view = v};
    if (v->s.n_event_shapes > UINT8_MAX / 2 || v->s.n_extras + v->s.n_blocks > UINT32_MAX) {
        return MT_OK;
    }
    MT_TRY(mt_rules_new((struct mt_str){0}, &k.rules, err));
    enum mt_status status = keep_all(&k, err);
    mt_rules_free(k.rules);
    return status;
}
