/* SPDX-License-Identifier: MIT */
/* Making an allocator, changing its settings, and taking it down with all that it holds. */
#include "allocator/core/alloc_core.h"

/* The short way rounds to 512 and keeps no age of free blocks. */
static void choose_way(struct mt_alloc *a)
{
    a->gc_on = a->has_allowed && a->rules.settings.garbage_collection_threshold > 0.0;
    a->gc_ever |= a->gc_on;
    a->short_way = mt_torch_rounding_is_plain(&a->rules) && !a->gc_ever;
}

static void take_settings(struct mt_alloc *a, const struct mt_alloc_settings *s,
                          mt_torch_release release)
{
    a->rules = mt_torch_rules_of(s, release);
    choose_way(a);
}

enum mt_status mt_alloc_new(const struct mt_alloc_options *o, struct mt_alloc **out,
                            struct mt_error *err)
{
    struct mt_alloc *a = mt_mem_zalloc(1, sizeof *a);
    if (!a) {
        return mt_fail_nomem(err);
    }
    a->dead_pair = 1;
    a->device = o->device;
    a->observer = o->observer;
    a->find_by_addr = o->find_by_addr;
    a->has_allowed = o->has_allowed;
    a->allowed = o->allowed;
    a->walks = o->walks;
    take_settings(a, &o->settings, o->release);
    a->device.ops->caps(a->device.ctx, &a->caps);
    struct segment no_segment = {0};
    struct use no_use = {0};
    struct pair pair = {.alive = true};
    struct bin *no_bin = NULL;
    enum mt_status status = MT_OK;
    if (!mt_vec_push(&a->segments, no_segment) || !mt_vec_push(&a->uses, no_use) ||
        !mt_vec_push(&a->pairs, pair) || !mt_vec_push(&a->bins, no_bin)) {
        status = mt_fail_nomem(err);
    } else if (o->settings.expandable_segments && !a->caps.has_vmm) {
        status =
            mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                    "the device %s cannot map memory: no expandable segments", a->device.ops->name);
    }
    if (status != MT_OK) {
        mt_alloc_delete(a);
        return status;
    }
    *out = a;
    return MT_OK;
}

/* Nothing can be done about a device that fails now. */
static void give_back(struct mt_alloc *a, const struct segment *s)
{
    struct mt_error err;
    const struct mt_device_ops *ops = a->device.ops;
    if (!s->expandable) {
        (void)!ops->mem_free(a->device.ctx, s->base, s->size, &err);
        return;
    }
    uint64_t stream = a->bins.v[s->bin]->stream;
    for (uint32_t i = s->first; i; i = block_at(a, i)->next) {
        const struct block *b = block_at(a, i);
        uint64_t low = b->addr, high = b->addr + b->size;
        while (b->state != BLOCK_HOLE && b->next && block_at(a, b->next)->state != BLOCK_HOLE) {
            i = b->next;
            b = block_at(a, i);
            high = b->addr + b->size;
        }
        if (b->state != BLOCK_HOLE) {
            (void)!ops->unmap(a->device.ctx, low, high - low, s->page, stream, &err);
        }
    }
    (void)!ops->va_free(a->device.ctx, s->base, s->size, &err);
}

void mt_alloc_delete(struct mt_alloc *a)
{
    if (!a) {
        return;
    }
    mt_streams_release(a);
    for (size_t i = 1; i < a->segments.n; i++) {
        if (a->segments.v[i].used) {
            give_back(a, &a->segments.v[i]);
        }
    }
    for (size_t i = 0; i < a->pairs.n; i++) {
        mt_vec_release(&a->pairs.v[i].pools[0].bins);
        mt_vec_release(&a->pairs.v[i].pools[1].bins);
    }
    for (size_t i = 0; i < a->bins.n; i++) {
        mt_mem_free(a->bins.v[i]);
    }
    for (size_t i = 0; i < a->n_chunks; i++) {
        mt_mem_free(a->chunks[i]);
    }
    mt_mem_free(a->chunks);
    mt_vec_release(&a->segments);
    mt_vec_release(&a->bins);
    mt_vec_release(&a->pairs);
    mt_idmap_release(&a->pair_at);
    mt_vec_release(&a->captures);
    mt_vec_release(&a->scratch);
    mt_mem_free(a->by_addr.slots);
    mt_mem_free(a);
}

void mt_alloc_set_settings(struct mt_alloc *a, const struct mt_alloc_settings *s)
{
    take_settings(a, s, a->rules.policy->since);
    a->rules.settings.expandable_segments = s->expandable_segments && a->caps.has_vmm;
}

void mt_alloc_set_observer(struct mt_alloc *a, struct mt_alloc_observer observer)
{
    a->observer = observer;
}

void mt_alloc_set_allowed(struct mt_alloc *a, bool on, uint64_t allowed)
{
    a->has_allowed = on;
    a->allowed = allowed;
    choose_way(a);
}

const struct mt_alloc_settings *mt_alloc_settings(const struct mt_alloc *a)
{
    return &a->rules.settings;
}

uint64_t mt_alloc_total_allocated(const struct mt_alloc *a)
{
    return a->total;
}
