/* SPDX-License-Identifier: MIT */
/*
 * Sums over segments, blocks and events. The segments are a few thousand; the events can be
 * millions, and their scan is one tight pass (trace_totals.c).
 */
#include "heap/sums/totals.h"

#include <stdlib.h>

#include "support/checked.h"
#include "snapshot/model/device_segments.h"
#include "support/hash.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"

#include "heap/sums/trace_totals.h"

int64_t mt_counters_free(const struct mt_counters *c)
{
    return (int64_t)(c->reserved - c->active);
}

double mt_counters_fragmentation(const struct mt_counters *c)
{
    return c->reserved ? 1.0 - (double)c->allocated / (double)c->reserved : 0.0;
}

double mt_counters_cut_up(const struct mt_counters *c)
{
    uint64_t whole = mt_add_sat(c->allocated, c->releasable);
    return c->reserved > whole ? 1.0 - (double)whole / (double)c->reserved : 0.0;
}

/* ---- lists that grow by what is found ---- */

/* Where in the lists of a device a pool and a stream stand. */
struct places {
    struct mt_torch_rules rules; /* of the snapshot */
    struct mt_arena arena;
    struct mt_intern pools; /* the bytes of their ids; place + 1 */
    struct mt_idmap streams;
};

static void places_release(struct places *p)
{
    mt_intern_release(&p->pools);
    mt_idmap_release(&p->streams);
    mt_arena_release(&p->arena);
}

static struct mt_counters *pool_counters(struct mt_device_totals *d, struct places *p,
                                         struct mt_pool_id id)
{
    size_t place = mt_intern_put(&p->pools, &id, sizeof id);
    struct mt_pool_totals one = {.id = id};
    if (place == 0 || (place > d->private_pools.n && !mt_vec_push(&d->private_pools, one))) {
        return NULL;
    }
    return &d->private_pools.v[place - 1].counters;
}

static struct mt_counters *stream_counters(struct mt_device_totals *d, struct places *p,
                                           uint16_t stream)
{
    const uint32_t *known = mt_idmap_find(&p->streams, stream);
    if (known) {
        return &d->streams.v[*known].counters;
    }
    struct mt_stream_totals one = {.stream = stream};
    if (!mt_idmap_put(&p->streams, stream, (uint32_t)d->streams.n) ||
        !mt_vec_push(&d->streams, one)) {
        return NULL;
    }
    return &d->streams.v[d->streams.n - 1].counters;
}

static unsigned size_class(uint64_t size)
{
    return size ? 63u - (unsigned)__builtin_clzll(size) : 0;
}

/* ---- segments ---- */

/* Everything that one segment adds to. */
struct targets {
    struct mt_counters *c[4];
    size_t n;
};

static bool find_targets(struct mt_device_totals *d, struct places *p,
                         const struct mt_segment *segment, struct targets *t)
{
    struct mt_counters *stream = stream_counters(d, p, segment->stream);
    if (!stream) {
        return false;
    }
    *t = (struct targets){{&d->all, &d->pool[segment->kind], stream}, 3};
    if (segment->pool.a || segment->pool.b) {
        t->c[t->n++] = pool_counters(d, p, segment->pool);
    }
    return t->c[t->n - 1] != NULL;
}

static void count_block(struct mt_counters *c, const struct mt_torch_rules *rules,
                        const struct mt_segment *segment, const struct mt_block *b)
{
    c->blocks++;
    if (b->state == MT_BLOCK_INACTIVE) {
        bool split = segment->n_blocks > 1 && !segment->expandable;
        c->inactive = mt_add_sat(c->inactive, b->size);
        c->releasable = mt_add_sat(c->releasable, mt_block_releasable(rules, segment, b));
        c->inactive_split = mt_add_sat(c->inactive_split, split ? b->size : 0);
        c->inactive_split_blocks += split;
        c->largest_free = b->size > c->largest_free ? b->size : c->largest_free;
        return;
    }
    c->active = mt_add_sat(c->active, b->size);
    c->requested = mt_add_sat(c->requested, b->requested);
    c->active_blocks++;
    if (b->state == MT_BLOCK_ALLOCATED) {
        c->allocated = mt_add_sat(c->allocated, b->size);
        c->allocated_blocks++;
    }
}

static void count_size_class(struct mt_device_totals *d, const struct mt_block *b)
{
    if (b->state != MT_BLOCK_INACTIVE) {
        struct mt_size_class *k = &d->sizes[size_class(b->requested)];
        k->live_blocks++;
        k->live_bytes = mt_add_sat(k->live_bytes, b->requested);
    }
}

static bool count_segment(struct mt_totals *t, struct mt_device_totals *d, struct places *p,
                          const struct mt_snapshot *s, struct mt_filtered *f,
                          const struct mt_segment *segment)
{
    struct targets to;
    if (!find_targets(d, p, segment, &to)) {
        return false;
    }
    struct mt_segment_size_totals by_size = {segment->total_size, 1, 0, 0};
    for (size_t k = 0; k < to.n; k++) {
        to.c[k]->reserved = mt_add_sat(to.c[k]->reserved, segment->total_size);
        to.c[k]->segments++;
    }
    bool open = mt_filter_is_open(f->filter);
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct mt_block *b = &s->blocks[segment->first_block + i];
        if (!open && !mt_filtered_block(f, b)) {
            t->blocks_left_out++;
            continue;
        }
        for (size_t k = 0; k < to.n; k++) {
            count_block(to.c[k], &p->rules, segment, b);
        }
        count_size_class(d, b);
        by_size.allocated += b->state == MT_BLOCK_ALLOCATED ? b->size : 0;
        by_size.allocated_blocks += b->state == MT_BLOCK_ALLOCATED;
    }
    return mt_vec_push(&d->segment_sizes, by_size);
}

static int by_segment_size(const void *a, const void *b)
{
    const struct mt_segment_size_totals *x = a, *y = b;
    return x->size < y->size ? -1 : x->size > y->size;
}

static int by_pool(const void *a, const void *b)
{
    const struct mt_pool_totals *x = a, *y = b;
    if (x->id.a != y->id.a) {
        return x->id.a < y->id.a ? -1 : 1;
    }
    return x->id.b < y->id.b ? -1 : x->id.b > y->id.b;
}

/* One entry a segment so far: sorts them and adds up those of one size. */
static void join_segment_sizes(struct mt_device_totals *d)
{
    size_t n = 0;
    if (d->segment_sizes.n) {
        qsort(d->segment_sizes.v, d->segment_sizes.n, sizeof *d->segment_sizes.v, by_segment_size);
    }
    for (size_t i = 0; i < d->segment_sizes.n; i++) {
        struct mt_segment_size_totals *from = &d->segment_sizes.v[i];
        struct mt_segment_size_totals *to = n ? &d->segment_sizes.v[n - 1] : NULL;
        if (to && to->size == from->size) {
            to->segments += from->segments;
            to->allocated = mt_add_sat(to->allocated, from->allocated);
            to->allocated_blocks += from->allocated_blocks;
        } else {
            d->segment_sizes.v[n++] = *from;
        }
    }
    d->segment_sizes.n = n;
    if (d->private_pools.n) {
        qsort(d->private_pools.v, d->private_pools.n, sizeof *d->private_pools.v, by_pool);
    }
}

static bool count_segments(struct mt_totals *t, struct mt_device_totals *d, struct places *p,
                           const struct mt_snapshot *s, struct mt_filtered *f)
{
    struct mt_device_segments walk = mt_device_segments(s, d->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!mt_filtered_segment(f, g)) {
            t->segments_left_out++;
        } else if (!count_segment(t, d, p, s, f, g)) {
            return false;
        }
    }
    join_segment_sizes(d);
    return true;
}

/* ---- all ---- */

static enum mt_status count_device(struct mt_totals *t, struct mt_device_totals *d,
                                   const struct mt_snapshot *s, struct mt_filtered *f,
                                   unsigned flags, struct mt_error *err)
{
    struct places places = {.rules = mt_settings_rules(s)};
    mt_intern_init(&places.pools, &places.arena, 0);
    bool ok = count_segments(t, d, &places, s, f);
    places_release(&places);
    if (!ok) {
        return mt_fail_nomem(err);
    }
    mt_trace_totals_find(d, s, f);
    t->events_left_out += mt_device_trace(s, d->device).n - d->trace.events;
    if (d->trace.complete && d->trace.whole && (flags & MT_TOTALS_SPLITS)) {
        MT_TRY(mt_count_splits(s, d->device, &d->trace.splits_known, &d->trace.splits,
                               &d->trace.merges, err));
    }
    return MT_OK;
}

enum mt_status mt_totals_find(struct mt_totals *t, const struct mt_snapshot *s,
                              struct mt_filtered *f, unsigned flags, struct mt_error *err)
{
    *t = (struct mt_totals){0};
    struct mt_devices devices;
    enum mt_status status = mt_devices_find(&devices, s, flags & MT_TOTALS_HOST, err);
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        struct mt_device_totals d = {.device = devices.ids.v[i]};
        if (!mt_filtered_device(f, d.device)) {
            continue;
        }
        if (!mt_vec_push(&t->devices, d)) {
            status = mt_fail_nomem(err);
        } else {
            status = count_device(t, &t->devices.v[t->devices.n - 1], s, f, flags, err);
        }
    }
    mt_devices_release(&devices);
    return status;
}

void mt_totals_release(struct mt_totals *t)
{
    for (size_t i = 0; i < t->devices.n; i++) {
        mt_vec_release(&t->devices.v[i].private_pools);
        mt_vec_release(&t->devices.v[i].streams);
        mt_vec_release(&t->devices.v[i].segment_sizes);
    }
    mt_vec_release(&t->devices);
}

static int by_device(const void *key, const void *item)
{
    int32_t x = *(const int32_t *)key, y = ((const struct mt_device_totals *)item)->device;
    return (x > y) - (x < y);
}

const struct mt_device_totals *mt_totals_device(const struct mt_totals *t, int32_t device)
{
    return t->devices.n
               ? bsearch(&device, t->devices.v, t->devices.n, sizeof *t->devices.v, by_device)
               : NULL;
}
