/* SPDX-License-Identifier: MIT */
/* frag/1. All causes but rounding_bytes sum to reserved - allocated. */
#include <inttypes.h>

#include "print/driver_report.h"
#include "print/json_put.h"
#include "verbs/frag/print.h"

static void put_causes(struct mt_put *p, cJSON *o, const struct mt_frag *f)
{
    cJSON *c = mt_put_object(p, o, "causes");
    mt_put_u64(p, c, "holes_bytes", f->holes);
    mt_put_u64(p, c, "idle_segments_bytes", f->idle_segments);
    mt_put_u64(p, c, "other_stream_bytes", f->other_stream);
    mt_put_u64(p, c, "private_pool_bytes", f->private_pool);
    mt_put_u64(p, c, "pending_bytes", f->pending);
    mt_put_u64(p, c, "rounding_bytes", f->rounding);
}

static void put_ideal(struct mt_put *p, cJSON *o, const struct mt_frag *f,
                      const struct mt_packing *x)
{
    cJSON *ideal = mt_put_object(p, o, "ideal");
    mt_put_known(p, ideal, "lower_bound_bytes", f->n_events > 0, x->alive);
    mt_put_known(p, ideal, "packed_bytes", f->n_events > 0 && x->known, x->packed);
}

static void put_pools(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                      const struct mt_frag *f)
{
    cJSON *list = mt_put_array(p, o, "pools");
    for (size_t i = 0; i < f->pools.n; i++) {
        const struct mt_frag_pool *x = &f->pools.v[i];
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "pool", x->kind == MT_POOL_SMALL ? "small" : "large");
        cJSON *id = mt_put_array(p, one, "id");
        int64_t numbers[2] = {x->pool.a, x->pool.b};
        for (int k = 0; k < 2; k++) {
            char text[24];
            snprintf(text, sizeof text, "%" PRId64, numbers[k]);
            mt_put_item(p, id, NULL, cJSON_CreateRaw(text));
        }
        mt_put_addr(p, one, "stream", s->streams[x->stream].handle);
        mt_put_u64(p, one, "free_bytes", x->free);
        mt_put_u64(p, one, "largest_hole_bytes", x->largest_hole);
        mt_put_u64(p, one, "reserved_bytes", x->reserved);
        mt_put_u64(p, one, "segments", x->segments);
    }
}

static void put_pins(struct mt_put *p, cJSON *o, const struct mt_report *r,
                     const struct mt_snapshot *s, const struct mt_frag *f)
{
    cJSON *list = mt_put_array(p, o, "pinned_by");
    uint64_t others = 0;
    for (size_t i = 0; i < f->pins.n; i++) {
        const struct mt_frag_pin *x = &f->pins.v[i];
        if (r->limit && i >= r->limit) {
            others += x->free_held;
            continue;
        }
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_u64(p, one, "free_bytes_held", x->free_held);
        mt_put_u64(p, one, "alone_bytes", x->alone);
        mt_put_u64(p, one, "live_bytes", x->live_bytes);
        mt_put_u64(p, one, "segments", x->segments);
        mt_put_item(p, one, "frames", mt_json_frames(s, x->stack));
        mt_put_forward(p, one, s, x->stack);
    }
    mt_put_u64(p, o, "others_free_bytes_held", others);
}

static void put_sources(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                        const struct mt_frag_sources *x)
{
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    cJSON *list = mt_put_array(p, o, "sources");
    for (size_t i = 0; i < x->list.n; i++) {
        const struct mt_frag_source *a = &x->list.v[i];
        bool sizes = a->kind == MT_FRAG_SOURCE_MANY_SIZES || a->kind == MT_FRAG_SOURCE_MIXED_FREES;
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "id", mt_frag_source_id(a->kind));
        mt_put_u64(p, one, "count", a->count);
        mt_put_u64(p, one, "bytes", a->bytes);
        mt_put_known(p, one, "sizes", sizes, a->sizes);
        mt_put_known(p, one, "cost_us", a->kind == MT_FRAG_SOURCE_REGAINED, a->cost_us);
        mt_put_text(p, one, "fix", mt_frag_source_fix(a->kind, &recorded));
        mt_put_item(p, one, "frames", mt_json_frames(s, a->stack));
    }
}

static void put_cures(struct mt_put *p, cJSON *o, const struct mt_cures *x)
{
    cJSON *list = mt_put_array(p, o, "cures");
    for (size_t i = 0; i < x->n; i++) {
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_text(p, one, "conf", x->v[i].one_size ? NULL : x->v[i].conf);
        mt_put_bool(p, one, "one_size", x->v[i].one_size);
        mt_put_bool(p, one, "fits", x->v[i].fits);
        mt_put_u64(p, one, "reserved_peak_bytes", x->v[i].reserved);
        mt_put_i64(p, one, "change_bytes", (int64_t)(x->v[i].reserved - x->reserved));
    }
}

static void put_pattern(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                        const struct mt_pattern *x)
{
    cJSON *pattern = mt_put_object(p, o, "pattern");
    mt_put_text(p, pattern, "id", mt_pattern_id(x->kind));
    mt_put_known(p, pattern, "levels", x->kind == MT_PATTERN_PYRAMID, x->in_step);
    cJSON *list = mt_put_array(p, pattern, "stacks");
    for (size_t i = 0; x->kind != MT_PATTERN_NONE && i < x->n_lines; i++) {
        cJSON *one = mt_put_object(p, list, NULL);
        mt_put_u64(p, one, "requests", x->lines[i].count);
        mt_put_u64(p, one, "least_bytes", x->lines[i].least);
        mt_put_u64(p, one, "most_bytes", x->lines[i].most);
        mt_put_item(p, one, "frames", mt_json_frames(s, x->lines[i].stack));
    }
}

static void put_device(struct mt_put *p, cJSON *devices, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_frag_result *d)
{
    static const char *const CLASS[] = {"normal", "work_on_it", "act"};
    const struct mt_frag *f = &d->frag;
    cJSON *o = mt_put_object(p, devices, NULL);
    mt_put_i64(p, o, "device", f->device);
    mt_put_text(p, o, "at", mt_moment_name(f->at));
    mt_put_known(p, o, "at_event", f->events_done > 0, f->events_done - 1);
    mt_put_u64(p, o, "reserved_bytes", f->reserved);
    mt_put_u64(p, o, "allocated_bytes", f->allocated);
    mt_put_ratio(p, o, "fragmentation", f->fragmentation);
    mt_put_u64(p, o, "inactive_split_bytes", f->inactive_split);
    mt_put_text(p, o, "class", CLASS[f->class]);
    mt_put_u64(p, o, "largest_hole_bytes", f->largest_hole);
    mt_put_known(p, o, "failed_request_bytes", f->failed_request > 0, f->failed_request);
    mt_put_u64(p, o, "empty_cache_bytes", f->empty_cache);
    mt_put_u64(p, o, "free_pages_bytes", f->free_pages);
    put_ideal(p, o, f, &d->ideal);
    put_causes(p, o, f);
    put_pools(p, o, s, f);
    put_pins(p, o, r, s, f);
    put_sources(p, o, s, &d->sources);
    mt_put_driver_price(p, o, r, s, &d->driver);
    put_pattern(p, o, s, &d->pattern);
    put_cures(p, o, &d->cures);
}

enum mt_status mt_report_frag_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n, bool one_line,
                                   struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "frag/1");
    cJSON *list = mt_put_array(&p, root, "devices");
    cJSON *failed = mt_put_array(&p, root, "before_unwinding");
    for (size_t i = 0; i < n; i++) {
        bool before = devices[i].part == MT_FRAG_BEFORE_UNWINDING;
        put_device(&p, before ? failed : list, r, s, &devices[i]);
    }
    return mt_put_end(&p, r, root, one_line, err);
}
