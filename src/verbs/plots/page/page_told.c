/* SPDX-License-Identifier: MIT */
/*
 * What the program said of each allocation, and what each is for: columns with one item an
 * allocation, in the viewer's order (what is older than the trace, then one an alloc). A column of
 * which all items would be 0 is empty.
 */
#include "heap/stacks/categories.h"
#include "heap/stacks/event_labels.h"
#include "support/mem.h"
#include "verbs/plots/page/page_blob.h"
#include "verbs/plots/page/page_parts.h"

struct told {
    FILE *out;
    const struct mt_replay *r;
    size_t base;  /* of the device's events among the snapshot's */
    size_t n;     /* allocations */
    size_t index; /* of the device */
    struct mt_event_labels labels;
    struct mt_intern passes;  /* forward passes as arrays of string ids */
    MT_VEC(uint32_t) words;   /* the passes: how many lines, then a string id each */
    MT_VEC(uint32_t) word_of; /* by number of a pass: where it begins in words */
    struct mt_error *err;
};

static enum mt_status blob(const struct told *t, const char *name, const void *items, size_t n,
                           size_t width)
{
    char id[48];
    snprintf(id, sizeof id, "d%zu-%s", t->index, name);
    return mt_page_blob(t->out, id, items, n, width, t->err);
}

/* ---- forward passes ---- */

/* The index + 1 of the lines of an event's forward pass among the words; 0: it has none. */
static bool put_pass(struct told *t, size_t event, uint32_t *out)
{
    const struct mt_snapshot *s = t->r->snapshot;
    const struct mt_value *lines = mt_event_forward(s, event);
    MT_VEC(uint32_t) ids = {0};
    bool ok = true;
    *out = 0;
    for (uint32_t i = 0; lines && ok && i < lines->n; i++) {
        const struct mt_value *v = &s->values[lines->u.id + i];
        ok = v->kind != MT_VALUE_STR || mt_vec_push(&ids, v->u.id);
    }
    uint32_t pass = ok && ids.n ? mt_intern_put(&t->passes, ids.v, ids.n * sizeof *ids.v) : 0;
    ok = ok && (pass || ids.n == 0);
    if (pass > t->word_of.n) { /* a new one */
        ok = mt_vec_push(&t->word_of, (uint32_t)t->words.n) &&
             mt_vec_push(&t->words, (uint32_t)ids.n);
        for (size_t i = 0; ok && i < ids.n; i++) {
            ok = mt_vec_push(&t->words, ids.v[i]);
        }
    }
    if (ok && pass) {
        *out = t->word_of.v[pass - 1] + 1;
    }
    mt_vec_release(&ids);
    return ok;
}

/* ---- the columns ---- */

/* Of the alloc at an index in mt_snapshot.events. */
typedef bool item_fn(struct told *t, size_t event, uint32_t *item);

static bool label_of(struct told *t, size_t event, uint32_t *item)
{
    *item = t->labels.text[event];
    return true;
}

static bool region_of(struct told *t, size_t event, uint32_t *item)
{
    *item = mt_event_region(t->r->snapshot, event);
    return true;
}

static enum mt_status column(struct told *t, const char *name, item_fn *item_of)
{
    uint32_t *items = mt_mem_zalloc(t->n + 1, sizeof *items);
    const struct mt_replay *r = t->r;
    size_t at = r->ghosts.n;
    bool ok = items != NULL, any = false;
    for (size_t i = 0; ok && item_of == label_of && i < at; i++) {
        const struct mt_ghost *g = &r->ghosts.v[i];
        items[i] = mt_event_labels_older(&t->labels, r->device, g->addr, g->freed == MT_NEVER);
        any |= items[i] != 0;
    }
    for (size_t i = 0; ok && i < r->n; i++) {
        if (mt_event_allocates(&r->events[i])) {
            ok = item_of(t, t->base + i, &items[at]);
            any |= items[at++] != 0;
        }
    }
    enum mt_status status =
        ok ? blob(t, name, items, any ? t->n : 0, sizeof *items) : mt_fail_nomem(t->err);
    mt_mem_free(items);
    return status;
}

/* The category, from bit 4 on how sure it is. */
static void fill_categories(const struct told *t, const struct mt_categories *c,
                            unsigned char *items)
{
    const struct mt_replay *r = t->r;
    size_t at = r->ghosts.n;
    for (size_t i = 0; i < at; i++) {
        items[i] = (unsigned char)(c->ghosts[i] | c->ghosts_sure[i] << 4);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (mt_event_allocates(&r->events[i])) {
            items[at++] = (unsigned char)(c->events[i] | c->events_sure[i] << 4);
        }
    }
}

static enum mt_status categories(struct told *t)
{
    struct mt_rules *rules;
    struct mt_categories c;
    MT_TRY(mt_rules_new((struct mt_str){0}, &rules, t->err));
    enum mt_status status = mt_categories_find(&c, rules, t->r, t->err);
    unsigned char *items = mt_mem_zalloc(t->n + 1, 1);
    if (status == MT_OK && !items) {
        status = mt_fail_nomem(t->err);
    }
    if (status == MT_OK) {
        fill_categories(t, &c, items);
        status = blob(t, "categories", items, t->n, 1);
    }
    mt_mem_free(items);
    mt_categories_release(&c);
    mt_rules_free(rules);
    return status;
}

static enum mt_status columns(struct told *t)
{
    MT_TRY(mt_event_labels_init(&t->labels, t->r->snapshot, t->err));
    MT_TRY(column(t, "labels", label_of));
    MT_TRY(column(t, "regions", region_of));
    MT_TRY(column(t, "forward", put_pass));
    MT_TRY(blob(t, "passes", t->words.v, t->words.n, sizeof *t->words.v));
    return categories(t);
}

enum mt_status mt_page_told(FILE *out, const struct mt_replay *r, size_t index,
                            struct mt_error *err)
{
    struct mt_arena arena = {0};
    struct told t = {.out = out, .r = r, .n = r->ghosts.n, .index = index, .err = err};
    t.base = r->n ? (size_t)(r->events - r->snapshot->events) : 0;
    for (size_t i = 0; i < r->n; i++) {
        t.n += mt_event_allocates(&r->events[i]);
    }
    mt_intern_init(&t.passes, &arena, 0);
    enum mt_status status = columns(&t);
    mt_event_labels_release(&t.labels);
    mt_intern_release(&t.passes);
    mt_arena_release(&arena);
    mt_vec_release(&t.words);
    mt_vec_release(&t.word_of);
    return status;
}
