/* SPDX-License-Identifier: MIT */
/* Pools of events, from the last event to the first. */
#include "heap/walk/event_pools.h"

#include "heap/walk/past_segments.h"
#include "snapshot/model/settings.h"
#include "torch/keys.h"
#include "support/mem.h"

struct walk {
    struct mt_event_pools *out;
    struct mt_past_segments past;
    struct mt_torch_rules rules;
    uint32_t last;
};

static bool is_release(const struct mt_event *e)
{
    return e->action == MT_ACTION_SEGMENT_FREE || e->action == MT_ACTION_SEGMENT_UNMAP;
}

/* Its place in the list, mostly that of the event before. False: no memory. */
static bool find_id(struct walk *w, struct mt_pool_id id, uint32_t *index)
{
    struct mt_event_pools *x = w->out;
    size_t i = x->ids.v[w->last].a == id.a && x->ids.v[w->last].b == id.b ? w->last : 0;
    while (i < x->ids.n && (x->ids.v[i].a != id.a || x->ids.v[i].b != id.b)) {
        i++;
    }
    *index = w->last = (uint32_t)i;
    return i < x->ids.n || mt_vec_push(&x->ids, id);
}

static enum mt_pool_kind kind_of(const struct walk *w, const struct mt_event *e,
                                 const struct mt_segment *g)
{
    if (g && g->kind != MT_POOL_KIND_NOT_KNOWN) {
        return (enum mt_pool_kind)g->kind;
    }
    bool segment = e->action >= MT_ACTION_SEGMENT_ALLOC && e->action <= MT_ACTION_SEGMENT_UNMAP;
    bool small = e->action == MT_ACTION_SEGMENT_UNMAP ? mt_torch_range_is_small(&w->rules, e->size)
                 : segment                            ? mt_torch_grant_is_small(e->size)
                                                      : mt_torch_is_small(e->size);
    return small ? MT_POOL_SMALL : MT_POOL_LARGE;
}

/* The event's own word, else its segment's; a refusal has no address. */
static bool look(struct walk *w, size_t index)
{
    const struct mt_snapshot *s = w->past.s;
    const struct mt_event *e = &w->past.events[index];
    const uint32_t *pools = s->columns[MT_COLUMN_POOL];
    bool says = e->shape < s->n_event_shapes &&
                s->event_shapes[e->shape].present & (1u << MT_EVENT_KEY_pool_id);
    const struct mt_segment *g =
        e->action == MT_ACTION_OOM ? NULL : mt_past_segments_find(&w->past, e->addr);
    struct mt_pool_id id = says && pools ? s->pools[pools[w->past.first + index]]
                           : g && !says  ? g->pool
                                         : (struct mt_pool_id){0, 0};
    uint32_t at = 0;
    bool ok = find_id(w, id, &at);
    w->out->of[index] = at << 1 | (uint32_t)kind_of(w, e, g);
    return ok;
}

static bool walk_back(struct walk *w)
{
    bool ok = true;
    for (size_t i = w->past.n; ok && i-- > 0;) {
        bool before = is_release(&w->past.events[i]); /* what it gives back was there before it */
        ok = (!before || mt_past_segments_undo(&w->past, i)) && look(w, i) &&
             (before || mt_past_segments_undo(&w->past, i));
    }
    return ok;
}

enum mt_status mt_event_pools_init(struct mt_event_pools *x, const struct mt_snapshot *s,
                                   int32_t device, struct mt_error *err)
{
    struct walk w = {.out = x, .rules = mt_settings_rules(s)};
    *x = (struct mt_event_pools){0};
    bool ok = mt_vec_push(&x->ids, ((struct mt_pool_id){0, 0})) &&
              mt_past_segments_init(&w.past, s, device);
    x->n = w.past.n;
    x->of = ok ? mt_mem_zalloc(x->n ? x->n : 1, sizeof *x->of) : NULL;
    ok = ok && x->of && walk_back(&w);
    mt_past_segments_release(&w.past);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_event_pools_release(struct mt_event_pools *x)
{
    mt_vec_release(&x->ids);
    mt_mem_free(x->of);
    *x = (struct mt_event_pools){0};
}
