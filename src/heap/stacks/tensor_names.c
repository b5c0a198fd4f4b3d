/* SPDX-License-Identifier: MIT */
#include "heap/stacks/tensor_names.h"

struct counting {
    const struct mt_snapshot *s;
    struct mt_event_labels labels;
    struct mt_idmap counts; /* name -> how many */
    uint32_t stack;
    struct mt_keeper *out;
};

static bool count_event(struct counting *c, int32_t device, size_t event)
{
    const struct mt_event *e = &c->s->events[event];
    if (e->action != MT_ACTION_ALLOC || e->stack != c->stack ||
        mt_event_labels_live(&c->labels, device, e->addr) != event) {
        return true;
    }
    c->out->of++;
    uint32_t name = mt_event_labels_tensor(&c->labels, device, e->addr);
    if (!name) {
        return true;
    }
    const uint32_t *known = mt_idmap_find(&c->counts, name);
    uint32_t n = (known ? *known : 0) + 1;
    if (n > c->out->count) {
        c->out->count = n;
        c->out->name = name;
    }
    return mt_idmap_put(&c->counts, name, n);
}

enum mt_status mt_keeper_find(struct mt_keeper *out, const struct mt_snapshot *s, uint32_t stack,
                              struct mt_error *err)
{
    uint32_t n;
    *out = (struct mt_keeper){0};
    if (!mt_snapshot_tensors(s, &n)) {
        return MT_OK;
    }
    struct counting c = {.s = s, .stack = stack, .out = out};
    enum mt_status status = mt_event_labels_init(&c.labels, s, err);
    bool ok = status == MT_OK;
    for (size_t d = 0; ok && d < s->n_traces; d++) {
        for (size_t i = 0; ok && i < s->traces[d].n; i++) {
            ok = count_event(&c, (int32_t)d, s->traces[d].first + i);
        }
    }
    mt_event_labels_release(&c.labels);
    mt_idmap_release(&c.counts);
    return ok || status != MT_OK ? status : mt_fail_nomem(err);
}
