/* SPDX-License-Identifier: MIT */
/* frag/1. All causes but rounding_bytes sum to reserved - allocated. */
#include <inttypes.h>

#include "print/driver_report.h"
#include "print/report_json.h"
#include "verbs/frag/print.h"

static void put_causes(struct mt_out o, const struct mt_frag *f)
{
    struct mt_out c = mt_out_object(o, "causes");
    mt_out_u64(c, "holes_bytes", f->holes);
    mt_out_u64(c, "idle_segments_bytes", f->idle_segments);
    mt_out_u64(c, "other_stream_bytes", f->other_stream);
    mt_out_u64(c, "private_pool_bytes", f->private_pool);
    mt_out_u64(c, "pending_bytes", f->pending);
    mt_out_u64(c, "rounding_bytes", f->rounding);
}

static void put_ideal(struct mt_out o, const struct mt_frag *f, const struct mt_packing *x)
{
    struct mt_out ideal = mt_out_object(o, "ideal");
    mt_out_known(ideal, "lower_bound_bytes", f->n_events > 0, x->alive);
    mt_out_known(ideal, "packed_bytes", f->n_events > 0 && x->known, x->packed);
}

static void put_pools(struct mt_out o, const struct mt_snapshot *s, const struct mt_frag *f)
{
    struct mt_out list = mt_out_array(o, "pools");
    for (size_t i = 0; i < f->pools.n; i++) {
        const struct mt_frag_pool *x = &f->pools.v[i];
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "pool", x->kind == MT_POOL_SMALL ? "small" : "large");
        struct mt_out id = mt_out_array(one, "id");
        mt_out_i64(id, NULL, x->pool.a);
        mt_out_i64(id, NULL, x->pool.b);
        mt_out_addr(one, "stream", s->streams[x->stream].handle);
        mt_out_u64(one, "free_bytes", x->free);
        mt_out_u64(one, "largest_hole_bytes", x->largest_hole);
        mt_out_u64(one, "reserved_bytes", x->reserved);
        mt_out_u64(one, "segments", x->segments);
    }
}

static void put_pins(struct mt_out o, const struct mt_report *r, const struct mt_snapshot *s,
                     const struct mt_frag *f)
{
    struct mt_out list = mt_out_array(o, "pinned_by");
    uint64_t others = 0;
    for (size_t i = 0; i < f->pins.n; i++) {
        const struct mt_frag_pin *x = &f->pins.v[i];
        if (r->limit && i >= r->limit) {
            others += x->free_held;
            continue;
        }
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_u64(one, "free_bytes_held", x->free_held);
        mt_out_u64(one, "alone_bytes", x->alone);
        mt_out_u64(one, "live_bytes", x->live_bytes);
        mt_out_u64(one, "segments", x->segments);
        mt_out_frames(one, s, x->stack);
        mt_out_forward(one, s, x->stack);
    }
    mt_out_u64(o, "others_free_bytes_held", others);
}

static void put_sources(struct mt_out o, const struct mt_snapshot *s,
                        const struct mt_frag_sources *x)
{
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    struct mt_out list = mt_out_array(o, "sources");
    for (size_t i = 0; i < x->list.n; i++) {
        const struct mt_frag_source *a = &x->list.v[i];
        bool sizes = a->kind == MT_FRAG_SOURCE_MANY_SIZES || a->kind == MT_FRAG_SOURCE_MIXED_FREES;
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "id", mt_frag_source_id(a->kind));
        mt_out_u64(one, "count", a->count);
        mt_out_u64(one, "bytes", a->bytes);
        mt_out_known(one, "sizes", sizes, a->sizes);
        mt_out_known(one, "cost_us", a->kind == MT_FRAG_SOURCE_REGAINED, a->cost_us);
        mt_out_text(one, "fix", mt_frag_source_fix(a->kind, &recorded));
        mt_out_frames(one, s, a->stack);
    }
}

static void put_cures(struct mt_out o, const struct mt_cures *x)
{
    struct mt_out list = mt_out_array(o, "cures");
    for (size_t i = 0; i < x->n; i++) {
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_text(one, "conf", x->v[i].one_size ? NULL : x->v[i].conf);
        mt_out_bool(one, "one_size", x->v[i].one_size);
        mt_out_bool(one, "fits", x->v[i].fits);
        mt_out_u64(one, "reserved_peak_bytes", x->v[i].reserved);
        mt_out_i64(one, "change_bytes", (int64_t)(x->v[i].reserved - x->reserved));
    }
}

static void put_pattern(struct mt_out o, const struct mt_snapshot *s, const struct mt_pattern *x)
{
    struct mt_out pattern = mt_out_object(o, "pattern");
    mt_out_text(pattern, "id", mt_pattern_id(x->kind));
    mt_out_known(pattern, "levels", x->kind == MT_PATTERN_PYRAMID, x->in_step);
    struct mt_out list = mt_out_array(pattern, "stacks");
    for (size_t i = 0; x->kind != MT_PATTERN_NONE && i < x->n_lines; i++) {
        struct mt_out one = mt_out_object(list, NULL);
        mt_out_u64(one, "requests", x->lines[i].count);
        mt_out_u64(one, "least_bytes", x->lines[i].least);
        mt_out_u64(one, "most_bytes", x->lines[i].most);
        mt_out_frames(one, s, x->lines[i].stack);
    }
}

static void put_device(struct mt_out devices, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_frag_result *d)
{
    static const char *const CLASS[] = {"normal", "work_on_it", "act"};
    const struct mt_frag *f = &d->frag;
    struct mt_out o = mt_out_object(devices, NULL);
    mt_out_i64(o, "device", f->device);
    mt_out_text(o, "at", mt_moment_name(f->at));
    mt_out_known(o, "at_event", f->events_done > 0, f->events_done - 1);
    mt_out_u64(o, "reserved_bytes", f->reserved);
    mt_out_u64(o, "allocated_bytes", f->allocated);
    mt_out_f64(o, "fragmentation", f->fragmentation);
    mt_out_u64(o, "inactive_split_bytes", f->inactive_split);
    mt_out_text(o, "class", CLASS[f->class]);
    mt_out_u64(o, "largest_hole_bytes", f->largest_hole);
    mt_out_known(o, "failed_request_bytes", f->failed_request > 0, f->failed_request);
    mt_out_u64(o, "empty_cache_bytes", f->empty_cache);
    mt_out_u64(o, "free_pages_bytes", f->free_pages);
    put_ideal(o, f, &d->ideal);
    put_causes(o, f);
    put_pools(o, s, f);
    put_pins(o, r, s, f);
    put_sources(o, s, &d->sources);
    mt_out_driver_price(o, r, s, &d->driver);
    put_pattern(o, s, &d->pattern);
    put_cures(o, &d->cures);
}

enum mt_status mt_report_frag_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n, bool one_line,
                                   struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "frag/1", one_line);
    for (int before = 0; before <= 1; before++) {
        struct mt_out list = mt_out_array(root, before ? "before_unwinding" : "devices");
        for (size_t i = 0; i < n; i++) {
            if ((devices[i].part == MT_FRAG_BEFORE_UNWINDING) == before) {
                put_device(list, r, s, &devices[i]);
            }
        }
    }
    return mt_report_json_end(root, err);
}
