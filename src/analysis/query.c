/* SPDX-License-Identifier: MIT */
/*
 * Sorted lists over the model. Files keep segments in order of (device, address), but hand-made
 * ones and merged ones do not, so nothing here trusts that order.
 */
#include <memtool/query.h>

#include <stdlib.h>

#include <memtool/device_segments.h>

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

/* ---- settings ---- */

static bool value_is_unlimited(const struct mt_snapshot *s, const struct mt_value *v)
{
    return (v->kind == MT_VALUE_INT && v->u.i == -1) ||
           (v->kind == MT_VALUE_BIG &&
            mt_str_equal(mt_snapshot_str(s, v->u.id), MT_STR("18446744073709551615")));
}

static void settings_divisions(const struct mt_snapshot *s, const struct mt_value *v,
                               struct mt_settings *out)
{
    for (unsigned i = 0; v && i < MT_COUNT(out->roundup_divisions); i++) {
        char key[8] = {0};
        unsigned mib = 1u << i, at = sizeof key - 1;
        for (; mib; mib /= 10) {
            key[--at] = (char)('0' + mib % 10);
        }
        const struct mt_value *d = mt_value_find(s, v, &key[at]);
        out->roundup_divisions[i] =
            d && d->kind == MT_VALUE_INT && d->u.i > 0 ? (uint64_t)d->u.i : 0;
    }
}

#define SMALL_PAGE (UINT64_C(2) << 20)
#define LARGE_PAGE (UINT64_C(20) << 20)

uint64_t mt_block_releasable(const struct mt_segment *segment, const struct mt_block *block)
{
    if (block->state != MT_BLOCK_INACTIVE || segment->pool.a || segment->pool.b) {
        return 0;
    }
    if (!segment->expandable) {
        return segment->n_blocks == 1 ? block->size : 0;
    }
    uint64_t page = segment->kind == MT_POOL_SMALL ? SMALL_PAGE : LARGE_PAGE;
    uint64_t offset = block->addr - segment->addr;
    uint64_t begin = offset / page + (offset % page != 0);
    uint64_t end = offset / page + (offset % page + block->size) / page;
    return end > begin ? (end - begin) * page : 0;
}

void mt_settings_get(const struct mt_snapshot *s, struct mt_settings *out)
{
    *out = (struct mt_settings){.present = s->settings != 0, .max_split_size = UINT64_MAX};
    if (!s->settings) {
        return;
    }
    const struct mt_value *dict = &s->values[s->settings];
    const struct mt_value *v = mt_value_find(s, dict, "PYTORCH_CUDA_ALLOC_CONF");
    if (v && v->kind == MT_VALUE_STR) {
        out->conf = mt_snapshot_str(s, v->u.id);
    }
    v = mt_value_find(s, dict, "max_split_size");
    if (v && value_is_unlimited(s, v)) {
        out->max_split_size_is_unlimited = true;
    } else if (v && v->kind == MT_VALUE_INT && v->u.i > 0) {
        out->max_split_size = (uint64_t)v->u.i;
    }
    v = mt_value_find(s, dict, "garbage_collection_threshold");
    if (v && v->kind == MT_VALUE_FLOAT) {
        out->gc_threshold = v->u.f;
    }
    v = mt_value_find(s, dict, "expandable_segments");
    out->expandable_segments = v && v->kind == MT_VALUE_BOOL && v->u.i;
    settings_divisions(s, mt_value_find(s, dict, "roundup_power2_divisions"), out);
}

static unsigned log2_floor(uint64_t n)
{
    unsigned bits = 0;
    while (n >>= 1) {
        bits++;
    }
    return bits;
}

uint64_t mt_round_request(const struct mt_settings *settings, uint64_t size)
{
    const uint64_t quantum = 512; /* kMinBlockSize */
    if (size < quantum) {
        return quantum;
    }
    if (size >> 62) { /* no device has that much; the sums below would not fit */
        return size;
    }
    unsigned log = log2_floor(size);
    unsigned interval = log < 20 ? 0 : log - 20;
    uint64_t d = settings->roundup_divisions[interval < 15 ? interval : 15];
    if (d > 1 && d <= size / quantum && size > quantum * d) {
        uint64_t floor = UINT64_C(1) << log, step = floor >> log2_floor(d);
        return floor == size ? size : (size + step - 1) / step * step;
    }
    return (size + quantum - 1) / quantum * quantum;
}

uint64_t mt_segment_for_request(const struct mt_settings *settings, uint64_t size)
{
    const uint64_t mib = UINT64_C(1) << 20, round_large = 2 * mib;
    uint64_t block = mt_round_request(settings, size);
    if (block <= mib) {
        return 2 * mib;
    }
    if (block < 10 * mib) {
        return 20 * mib;
    }
    return block >> 62 ? block : (block + round_large - 1) / round_large * round_large;
}
