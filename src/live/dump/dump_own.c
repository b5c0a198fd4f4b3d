/* SPDX-License-Identifier: MIT */
/* What is not known is left out, so that no reader takes it for zero. */
#include "live/dump/dump_own.h"

#include <stdlib.h>
#include <string.h>

#include "live/core/recorder.h"

void mt_own_release(struct mt_own *own)
{
    mt_vec_release(&own->devices);
    mt_vec_release(&own->libraries);
}

static void put_number(struct mt_pickle_out *o, const char *key, uint64_t value)
{
    mt_pickle_str(o, mt_str_from(key));
    mt_pickle_uint(o, value);
}

static void put_bytes(struct mt_pickle_out *o, const char *key, struct mt_own_bytes b)
{
    if (b.known) {
        put_number(o, key, b.bytes);
    }
}

/* By device, then the largest first, then by name: no order depends on addresses. */
static int by_size(const void *a, const void *b)
{
    const struct mt_own_library *x = a, *y = b;
    uint64_t of_x = x->current + x->code, of_y = y->current + y->code;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (of_x != of_y) {
        return of_x > of_y ? -1 : 1;
    }
    size_t n = x->path.n < y->path.n ? x->path.n : y->path.n;
    int order = n > 0 ? memcmp(x->path.p, y->path.p, n) : 0;
    return order != 0 ? order : (x->path.n > y->path.n) - (x->path.n < y->path.n);
}

static void put_library(struct mt_pickle_out *o, const struct mt_own_library *l)
{
    mt_pickle_dict(o);
    mt_pickle_str(o, MT_STR("library"));
    mt_pickle_str(o, l->path.n > 0 ? l->path : MT_STR("??"));
    put_number(o, "current_bytes", l->current);
    put_number(o, "peak_bytes", l->peak);
    if (l->code > 0) {
        put_number(o, "code_bytes", l->code);
    }
    mt_pickle_dict_end(o);
}

static void put_libraries(const struct mt_own *own, struct mt_pickle_out *o, int device)
{
    uint64_t code = 0;
    mt_pickle_str(o, MT_STR("libraries"));
    mt_pickle_list(o);
    for (size_t i = 0; i < own->libraries.n; i++) {
        if (own->libraries.v[i].device == device) {
            put_library(o, &own->libraries.v[i]);
            code += own->libraries.v[i].code;
        }
    }
    mt_pickle_list_end(o);
    if (code > 0) {
        put_number(o, "code_bytes", code);
    }
}

static void put_device(const struct mt_own *own, struct mt_pickle_out *o,
                       const struct mt_own_device *d)
{
    mt_pickle_dict(o);
    if (d->device != MT_RECORD_HOST) {
        put_number(o, "device", (uint64_t)d->device);
    }
    put_bytes(o, "total_bytes", d->total);
    put_bytes(o, "free_before_context_bytes", d->free_before_context);
    put_bytes(o, "free_start_bytes", d->free_start);
    put_bytes(o, "free_dump_bytes", d->free_dump);
    put_bytes(o, "seen_bytes", d->seen);
    put_bytes(o, "seen_peak_bytes", d->seen_peak);
    put_bytes(o, "pool_reserved_bytes", d->pool_reserved);
    put_bytes(o, "pool_used_bytes", d->pool_used);
    put_libraries(own, o, d->device);
    mt_pickle_dict_end(o);
}

void mt_own_put(struct mt_own *own, struct mt_pickle_out *o)
{
    size_t n = own->devices.n;
    bool host = n > 0 && own->devices.v[n - 1].device == MT_RECORD_HOST;
    if (own->libraries.n > 0) {
        qsort(own->libraries.v, own->libraries.n, sizeof *own->libraries.v, by_size);
    }
    mt_pickle_dict(o);
    mt_pickle_str(o, MT_STR("mode"));
    mt_pickle_str(o, mt_str_from(own->mode));
    if (n == 0) { /* nothing was watched */
        mt_pickle_dict_end(o);
        return;
    }
    mt_pickle_str(o, MT_STR("devices"));
    mt_pickle_list(o);
    for (size_t i = 0; i < n - host; i++) {
        put_device(own, o, &own->devices.v[i]);
    }
    mt_pickle_list_end(o);
    if (host) {
        mt_pickle_str(o, MT_STR("host"));
        put_device(own, o, &own->devices.v[n - 1]);
    }
    mt_pickle_str(o, MT_STR("doors"));
    mt_pickle_dict(o);
    put_number(o, "runtime_calls", own->runtime_calls);
    put_number(o, "driver_calls", own->driver_calls);
    put_number(o, "lookups", own->lookups);
    mt_pickle_dict_end(o);
    mt_pickle_dict_end(o);
}
