/* SPDX-License-Identifier: MIT */
/* trace_plot/1 and segment_plot/1: what the pictures are drawn from. */
#include "print/report_json.h"
#include "verbs/plots/print.h"

/* ---- timelines ---- */

static void put_band(struct mt_out bands, const struct mt_timeline_result *t,
                     const struct mt_timeline_band *b)
{
    struct mt_out o = mt_out_object(bands, NULL);
    bool stack = b->stack < MT_BAND_OLDER;
    mt_out_text(o, "kind", stack ? "stack" : b->stack == MT_BAND_OLDER ? "older" : "others");
    mt_out_u64(o, "bytes", b->at_peak);
    mt_out_u64(o, "count", b->count);
    mt_out_u64(o, "max_bytes", b->max);
    if (stack) {
        mt_out_frames(o, t->snapshot, b->stack);
    } else {
        mt_out_known(o, "stacks", b->stack == MT_BAND_OTHERS, b->stacks);
    }
}

static void put_oom(struct mt_out ooms, const struct mt_timeline_oom *oom, bool reserved_known)
{
    struct mt_out o = mt_out_object(ooms, NULL);
    mt_out_u64(o, "event", oom->event);
    mt_out_u64(o, "size_bytes", oom->asked);
    mt_out_known(o, "device_free_bytes", oom->device_free != MT_FREE_UNKNOWN, oom->device_free);
    mt_out_u64(o, "live_bytes", oom->live);
    mt_out_known(o, "reserved_bytes", reserved_known, oom->reserved);
}

/* As in simulate/1. */
static void put_limit(struct mt_out device, const struct mt_limit_range *limit)
{
    bool known = limit->below > 0;
    struct mt_out o = mt_out_object(device, "limit");
    mt_out_text(o, "source", known ? "inferred" : NULL);
    mt_out_known(o, "at_least_bytes", known, limit->least);
    mt_out_known(o, "below_bytes", known, limit->below);
}

static void put_sample(struct mt_out samples, const struct mt_timeline *t, size_t i,
                       bool reserved_known)
{
    const struct mt_timeline_sample *s = &t->samples.v[i];
    struct mt_out o = mt_out_object(samples, NULL);
    mt_out_known(o, "event", s->event != SIZE_MAX, s->event);
    mt_out_u64(o, "total_bytes", s->total);
    mt_out_u64(o, "live_bytes", s->live);
    mt_out_known(o, "reserved_bytes", reserved_known, s->reserved);
    struct mt_out values = mt_out_array(o, "band_bytes");
    for (size_t b = 0; b < t->bands.n; b++) {
        mt_out_u64(values, NULL, t->values[i * t->bands.n + b]);
    }
}

static void put_part(struct mt_out parting, const char *key, const struct mt_overlay *o,
                     const struct mt_overlay_part *part)
{
    struct mt_out x = mt_out_object(parting, key);
    uint64_t at = (uint64_t)(part->x * o->span);
    mt_out_known(x, "step", part->step != SIZE_MAX, part->step);
    mt_out_known(x, "event", o->axis == MT_OVERLAY_EVENTS, at);
    mt_out_known(x, "time_us", o->axis == MT_OVERLAY_TIME, at);
    mt_out_u64(x, "first_file_bytes", part->bytes[0]);
    mt_out_u64(x, "second_file_bytes", part->bytes[1]);
    mt_out_i64(x, "change_bytes", part->change);
    mt_out_bool(x, "below_peak", part->below_peak);
}

static void put_parting(struct mt_out device, const struct mt_overlay *o)
{
    static const char *const AXES[] = {"", "step", "event", "time"};
    struct mt_out parting = mt_out_object(device, "parting");
    mt_out_text(parting, "axis", AXES[o->axis]);
    mt_out_bool(parting, "differs", o->differs);
    mt_out_i64(parting, "bytes_per_step", o->drift);
    if (o->differs) {
        put_part(parting, "first", o, &o->first);
        put_part(parting, "largest", o, &o->most);
    }
}

static void put_timeline(struct mt_out devices, const struct mt_timeline_result *result)
{
    const struct mt_timeline *t = result->timeline;
    bool memory = result->subject == MT_TIMELINE_MEMORY;
    bool reserved = mt_source_has_reserved(&result->snapshot->source);
    struct mt_out o = mt_out_object(devices, NULL);
    mt_out_i64(o, "device", t->device);
    mt_out_text(o, "subject", memory ? "memory" : "segments");
    mt_out_u64(o, memory ? "peak_requested_bytes" : "peak_bytes", t->peak);
    mt_out_known(o, "peak_event", t->peak_event != SIZE_MAX, t->peak_event);
    mt_out_known(o, "peak_reserved_bytes", reserved, t->reserved_peak);
    mt_out_known(o, "peak_reserved_event", t->reserved_peak_event != SIZE_MAX,
                 t->reserved_peak_event);
    mt_out_u64(o, "events", t->n_events);
    mt_out_u64(o, "first_event", t->first);
    mt_out_u64(o, "end_event", t->last);
    mt_out_time(o, "first_us", t->first_us);
    mt_out_time(o, "last_us", t->last_us);
    mt_out_bool(o, "every_event", t->every_event);
    struct mt_out ooms = mt_out_array(o, "ooms");
    for (size_t i = 0; i < t->ooms.n; i++) {
        put_oom(ooms, &t->ooms.v[i], reserved);
    }
    put_limit(o, &result->limit);
    if (result->overlay) {
        put_parting(o, result->overlay);
    }
    struct mt_out bands = mt_out_array(o, "bands"); /* from the ground up */
    for (size_t i = 0; i < t->bands.n; i++) {
        put_band(bands, result, &t->bands.v[i]);
    }
    struct mt_out samples = mt_out_array(o, "samples");
    for (size_t i = 0; i < t->samples.n; i++) {
        put_sample(samples, t, i, reserved);
    }
}

enum mt_status mt_report_timelines(const struct mt_report *r, const struct mt_timeline_result *list,
                                   size_t n, bool one_line, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "trace_plot/1", one_line);
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_timeline(devices, &list[i]);
    }
    return mt_report_json_end(root, err);
}

/* ---- states ---- */

static const char *const STATES[] = {"inactive", "active_allocated", "active_pending_free",
                                     "active"};

static void put_block(struct mt_out blocks, const struct mt_state *st, size_t i)
{
    const struct mt_block *b = &st->blocks[i];
    bool live = b->state != MT_BLOCK_INACTIVE;
    struct mt_out o = mt_out_object(blocks, NULL);
    mt_out_addr(o, "address", b->addr);
    mt_out_u64(o, "size_bytes", b->size);
    mt_out_known(o, "requested_bytes", live, b->requested);
    mt_out_text(o, "state", STATES[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER]);
    mt_out_known(o, "alloc_event", st->alloc_event[i] != MT_STATE_NO_EVENT, st->alloc_event[i]);
    mt_out_known(o, "stack", live && b->stack != 0, b->stack);
}

static void put_segment(struct mt_out segments, const struct mt_snapshot *s,
                        const struct mt_state *st, size_t i)
{
    const struct mt_segment *g = &st->segments[i];
    struct mt_out o = mt_out_object(segments, NULL);
    mt_out_addr(o, "address", g->addr);
    mt_out_u64(o, "total_bytes", g->total_size);
    mt_out_u64(o, "allocated_bytes", g->allocated_size);
    mt_out_u64(o, "active_bytes", g->active_size);
    mt_out_addr(o, "stream", s->streams[g->stream].handle);
    mt_out_text(o, "type", g->kind == MT_POOL_SMALL ? "small" : "large");
    struct mt_out pool = mt_out_array(o, "pool");
    mt_out_i64(pool, NULL, g->pool.a);
    mt_out_i64(pool, NULL, g->pool.b);
    mt_out_bool(o, "expandable", g->expandable);
    struct mt_out blocks = mt_out_array(o, "blocks");
    for (size_t k = 0; k < g->n_blocks; k++) {
        put_block(blocks, st, g->first_block + k);
    }
}

/* Each stack once, in the order of ids. */
static void put_stacks(struct mt_out o, const struct mt_state_result *result)
{
    const struct mt_state *st = result->state;
    size_t n = result->snapshot->n_stacks;
    struct mt_out stacks = mt_out_array(o, "stacks");
    bool *used = mt_mem_zalloc(n ? n : 1, sizeof *used);
    if (!used) {
        o.json->text.failed = true;
        return;
    }
    for (size_t i = 0; i < st->n_blocks; i++) {
        if (st->blocks[i].state != MT_BLOCK_INACTIVE && st->blocks[i].stack < n) {
            used[st->blocks[i].stack] = true;
        }
    }
    for (size_t i = 1; i < n; i++) {
        if (used[i]) {
            struct mt_out stack = mt_out_object(stacks, NULL);
            mt_out_u64(stack, "stack", i);
            mt_out_frames(stack, result->snapshot, (uint32_t)i);
        }
    }
    mt_mem_free(used);
}

static void put_state(struct mt_out devices, const struct mt_state_result *result)
{
    const struct mt_state *st = result->state;
    struct mt_state_sum sum = {0};
    struct mt_out o = mt_out_object(devices, NULL);
    for (size_t i = 0; i < st->n_segments; i++) {
        mt_state_add_segment(st, i, &sum);
    }
    mt_out_u64(o, "device", st->device);
    mt_out_text(o, "moment", result->moment);
    mt_out_u64(o, "events_done", st->events_done);
    mt_out_u64(o, "reserved_bytes", sum.reserved);
    mt_out_u64(o, "allocated_bytes", sum.allocated);
    mt_out_u64(o, "pending_bytes", sum.pending);
    mt_out_u64(o, "requested_bytes", sum.requested);
    mt_out_u64(o, "free_bytes", sum.free);
    mt_out_u64(o, "largest_hole_bytes", sum.largest_hole);
    mt_out_u64(o, "unmatched_events", st->unmatched);
    struct mt_out segments = mt_out_array(o, "segments");
    for (size_t i = 0; i < st->n_segments; i++) {
        put_segment(segments, result->snapshot, st, i);
    }
    put_stacks(o, result);
}

enum mt_status mt_report_states(const struct mt_report *r, const struct mt_state_result *list,
                                size_t n, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "segment_plot/1", false);
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_state(devices, &list[i]);
    }
    return mt_report_json_end(root, err);
}
