/* SPDX-License-Identifier: MIT */
/*
 * Sorted lists over the model. Files keep segments in order of (device, address), but hand-made
 * ones and merged ones do not, so nothing here trusts that order.
 */
#include "heap/walk/query.h"

#include <stdlib.h>

#include "snapshot/model/device_segments.h"

/* ---- devices ---- */

static bool device_add(struct mt_devices *d, int32_t id)
{
    bool again = d->ids.n > 0 && d->ids.v[d->ids.n - 1] == id;
    return again || mt_vec_push(&d->ids, id);
}

static bool devices_collect(struct mt_devices *d, const struct mt_snapshot *s, bool host)
{
    bool fine = !host || device_add(d, -1);
    for (size_t i = 0; fine && i < s->n_segments; i++) {
        fine = device_add(d, s->segments[i].device);
    }
    for (size_t i = 0; fine && i < s->n_traces && i <= INT32_MAX; i++) {
        fine = s->traces[i].n == 0 || device_add(d, (int32_t)i);
    }
    return fine;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Ascending, each once. */
static void devices_sort(struct mt_devices *d)
{
    size_t n = 0;
    if (d->ids.n > 1) {
        qsort(d->ids.v, d->ids.n, sizeof *d->ids.v, by_id);
    }
    for (size_t i = 0; i < d->ids.n; i++) {
        if (n == 0 || d->ids.v[n - 1] != d->ids.v[i]) {
            d->ids.v[n++] = d->ids.v[i];
        }
    }
    d->ids.n = n;
}

enum mt_status mt_devices_find(struct mt_devices *d, const struct mt_snapshot *s, bool host,
                               struct mt_error *err)
{
    *d = (struct mt_devices){0};
    bool has_host = s->n_host_segments || (s->n_host_traces && s->host_traces[0].n);
    if (!devices_collect(d, s, host && has_host)) {
        return mt_fail_nomem(err);
    }
    devices_sort(d);
    return MT_OK;
}

void mt_devices_release(struct mt_devices *d)
{
    mt_vec_release(&d->ids);
}

/* ---- addresses ---- */

static const struct mt_segment *segment_list(const struct mt_segment_index *x)
{
    return x->host ? x->snapshot->host_segments : x->snapshot->segments;
}

struct keyed {
    uint64_t addr;
    uint32_t index;
};

static int by_address(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->addr != y->addr) {
        return x->addr < y->addr ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool index_sorted(struct mt_segment_index *x, struct keyed *keys)
{
    const struct mt_segment *list = segment_list(x);
    for (size_t i = 0; i < x->order.n; i++) {
        keys[i] = (struct keyed){list[x->order.v[i]].addr, x->order.v[i]};
    }
    qsort(keys, x->order.n, sizeof *keys, by_address);
    for (size_t i = 0; i < x->order.n; i++) {
        x->order.v[i] = keys[i].index;
    }
    return true;
}

enum mt_status mt_segment_index_init(struct mt_segment_index *x, const struct mt_snapshot *s,
                                     int32_t device, struct mt_error *err)
{
    *x = (struct mt_segment_index){.snapshot = s, .host = device < 0};
    const struct mt_segment *list = segment_list(x);
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!mt_vec_push(&x->order, (uint32_t)(g - list))) {
            mt_segment_index_release(x);
            return mt_fail_nomem(err);
        }
    }
    struct keyed *keys = mt_mem_alloc(x->order.n ? x->order.n : 1, sizeof *keys);
    if (!keys) {
        mt_segment_index_release(x);
        return mt_fail_nomem(err);
    }
    (void)index_sorted(x, keys);
    mt_mem_free(keys);
    return MT_OK;
}

void mt_segment_index_release(struct mt_segment_index *x)
{
    mt_vec_release(&x->order);
}

const struct mt_segment *mt_segment_index_find(const struct mt_segment_index *x, uint64_t addr)
{
    const struct mt_segment *list = segment_list(x);
    size_t low = 0, high = x->order.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[x->order.v[middle]].addr <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const struct mt_segment *found = &list[x->order.v[low - 1]];
    return addr - found->addr < found->total_size ? found : NULL;
}

const struct mt_block *mt_segment_block_find(const struct mt_snapshot *s,
                                             const struct mt_segment *segment, uint64_t addr)
{
    size_t low = segment->first_block, high = low + segment->n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->blocks[middle].addr <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == segment->first_block) {
        return NULL;
    }
    const struct mt_block *found = &s->blocks[low - 1];
    return addr - found->addr < found->size ? found : NULL;
}

uint64_t mt_block_releasable(const struct mt_torch_rules *rules, const struct mt_segment *segment,
                             const struct mt_block *block)
{
    if (block->state != MT_BLOCK_INACTIVE || segment->pool.a || segment->pool.b) {
        return 0;
    }
    if (!segment->expandable) {
        return segment->n_blocks == 1 ? block->size : 0;
    }
    uint64_t page = mt_torch_page_size(rules, segment->kind == MT_POOL_SMALL);
    uint64_t offset = block->addr - segment->addr;
    uint64_t begin = offset / page + (offset % page != 0);
    uint64_t end = offset / page + (offset % page + block->size) / page;
    return end > begin ? (end - begin) * page : 0;
}
