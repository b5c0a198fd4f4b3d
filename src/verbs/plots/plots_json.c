/* SPDX-License-Identifier: MIT */
/* trace_plot/1 and segment_plot/1: what the pictures are drawn from. */
#include "print/json_put.h"
#include "verbs/plots/print.h"

/* ---- timelines ---- */

static void put_band(struct mt_put *p, cJSON *bands, const struct mt_timeline_result *t,
                     const struct mt_timeline_band *b)
{
    cJSON *o = mt_put_object(p, bands, NULL);
    bool stack = b->stack < MT_BAND_OLDER;
    mt_put_text(p, o, "kind", stack ? "stack" : b->stack == MT_BAND_OLDER ? "older" : "others");
    mt_put_u64(p, o, "bytes", b->at_peak);
    mt_put_u64(p, o, "count", b->count);
    mt_put_u64(p, o, "max_bytes", b->max);
    if (stack) {
        mt_put_item(p, o, "frames", mt_json_frames(t->snapshot, b->stack));
    } else {
        mt_put_known(p, o, "stacks", b->stack == MT_BAND_OTHERS, b->stacks);
    }
}

static void put_oom(struct mt_put *p, cJSON *ooms, const struct mt_timeline_oom *oom,
                    bool reserved_known)
{
    cJSON *o = mt_put_object(p, ooms, NULL);
    mt_put_u64(p, o, "event", oom->event);
    mt_put_u64(p, o, "size_bytes", oom->asked);
    mt_put_known(p, o, "device_free_bytes", oom->device_free != MT_FREE_UNKNOWN, oom->device_free);
    mt_put_u64(p, o, "live_bytes", oom->live);
    mt_put_known(p, o, "reserved_bytes", reserved_known, oom->reserved);
}

/* As in simulate/1. */
static void put_limit(struct mt_put *p, cJSON *device, const struct mt_limit_range *limit)
{
    bool known = limit->below > 0;
    cJSON *o = mt_put_object(p, device, "limit");
    mt_put_text(p, o, "source", known ? "inferred" : NULL);
    mt_put_known(p, o, "at_least_bytes", known, limit->least);
    mt_put_known(p, o, "below_bytes", known, limit->below);
}

static void put_sample(struct mt_put *p, cJSON *samples, const struct mt_timeline *t, size_t i,
                       bool reserved_known)
{
    const struct mt_timeline_sample *s = &t->samples.v[i];
    cJSON *o = mt_put_object(p, samples, NULL);
    mt_put_known(p, o, "event", s->event != SIZE_MAX, s->event);
    mt_put_u64(p, o, "total_bytes", s->total);
    mt_put_u64(p, o, "live_bytes", s->live);
    mt_put_known(p, o, "reserved_bytes", reserved_known, s->reserved);
    cJSON *values = mt_put_array(p, o, "band_bytes");
    for (size_t b = 0; b < t->bands.n; b++) {
        mt_put_item(p, values, NULL, mt_json_u64_item(t->values[i * t->bands.n + b]));
    }
}

static void put_part(struct mt_put *p, cJSON *parting, const char *key, const struct mt_overlay *o,
                     const struct mt_overlay_part *part)
{
    cJSON *x = mt_put_object(p, parting, key);
    uint64_t at = (uint64_t)(part->x * o->span);
    mt_put_known(p, x, "step", part->step != SIZE_MAX, part->step);
    mt_put_known(p, x, "event", o->axis == MT_OVERLAY_EVENTS, at);
    mt_put_known(p, x, "time_us", o->axis == MT_OVERLAY_TIME, at);
    mt_put_u64(p, x, "first_file_bytes", part->bytes[0]);
    mt_put_u64(p, x, "second_file_bytes", part->bytes[1]);
    mt_put_i64(p, x, "change_bytes", part->change);
    mt_put_bool(p, x, "below_peak", part->below_peak);
}

static void put_parting(struct mt_put *p, cJSON *device, const struct mt_overlay *o)
{
    static const char *const AXES[] = {"", "step", "event", "time"};
    cJSON *parting = mt_put_object(p, device, "parting");
    mt_put_text(p, parting, "axis", AXES[o->axis]);
    mt_put_bool(p, parting, "differs", o->differs);
    mt_put_i64(p, parting, "bytes_per_step", o->drift);
    if (o->differs) {
        put_part(p, parting, "first", o, &o->first);
        put_part(p, parting, "largest", o, &o->most);
    }
}

static void put_timeline(struct mt_put *p, cJSON *devices, const struct mt_timeline_result *result)
{
    const struct mt_timeline *t = result->timeline;
    bool memory = result->subject == MT_TIMELINE_MEMORY;
    bool reserved = mt_source_has_reserved(&result->snapshot->source);
    cJSON *o = mt_put_object(p, devices, NULL);
    mt_put_i64(p, o, "device", t->device);
    mt_put_text(p, o, "subject", memory ? "memory" : "segments");
    mt_put_u64(p, o, memory ? "peak_requested_bytes" : "peak_bytes", t->peak);
    mt_put_known(p, o, "peak_event", t->peak_event != SIZE_MAX, t->peak_event);
    mt_put_known(p, o, "peak_reserved_bytes", reserved, t->reserved_peak);
    mt_put_known(p, o, "peak_reserved_event", t->reserved_peak_event != SIZE_MAX,
                 t->reserved_peak_event);
    mt_put_u64(p, o, "events", t->n_events);
    mt_put_u64(p, o, "first_event", t->first);
    mt_put_u64(p, o, "end_event", t->last);
    mt_put_time(p, o, "first_us", t->first_us);
    mt_put_time(p, o, "last_us", t->last_us);
    mt_put_bool(p, o, "every_event", t->every_event);
    cJSON *ooms = mt_put_array(p, o, "ooms");
    for (size_t i = 0; i < t->ooms.n; i++) {
        put_oom(p, ooms, &t->ooms.v[i], reserved);
    }
    put_limit(p, o, &result->limit);
    if (result->overlay) {
        put_parting(p, o, result->overlay);
    }
    cJSON *bands = mt_put_array(p, o, "bands"); /* from the ground up */
    for (size_t i = 0; i < t->bands.n; i++) {
        put_band(p, bands, result, &t->bands.v[i]);
    }
    cJSON *samples = mt_put_array(p, o, "samples");
    for (size_t i = 0; i < t->samples.n; i++) {
        put_sample(p, samples, t, i, reserved);
    }
}

enum mt_status mt_report_timelines(const struct mt_report *r, const struct mt_timeline_result *list,
                                   size_t n, bool one_line, struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "trace_plot/1");
    cJSON *devices = mt_put_array(&p, root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_timeline(&p, devices, &list[i]);
    }
    return mt_put_end(&p, r, root, one_line, err);
}

/* ---- states ---- */

static const char *const STATES[] = {"inactive", "active_allocated", "active_pending_free",
                                     "active"};

static void put_block(struct mt_put *p, cJSON *blocks, const struct mt_state *st, size_t i)
{
    const struct mt_block *b = &st->blocks[i];
    bool live = b->state != MT_BLOCK_INACTIVE;
    cJSON *o = mt_put_object(p, blocks, NULL);
    mt_put_addr(p, o, "address", b->addr);
    mt_put_u64(p, o, "size_bytes", b->size);
    mt_put_known(p, o, "requested_bytes", live, b->requested);
    mt_put_text(p, o, "state", STATES[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER]);
    mt_put_known(p, o, "alloc_event", st->alloc_event[i] != MT_STATE_NO_EVENT, st->alloc_event[i]);
    mt_put_known(p, o, "stack", live && b->stack != 0, b->stack);
}

static void put_segment(struct mt_put *p, cJSON *segments, const struct mt_snapshot *s,
                        const struct mt_state *st, size_t i)
{
    const struct mt_segment *g = &st->segments[i];
    cJSON *o = mt_put_object(p, segments, NULL);
    mt_put_addr(p, o, "address", g->addr);
    mt_put_u64(p, o, "total_bytes", g->total_size);
    mt_put_u64(p, o, "allocated_bytes", g->allocated_size);
    mt_put_u64(p, o, "active_bytes", g->active_size);
    mt_put_addr(p, o, "stream", s->streams[g->stream].handle);
    mt_put_text(p, o, "type", g->kind == MT_POOL_SMALL ? "small" : "large");
    cJSON *pool = mt_put_array(p, o, "pool");
    mt_put_item(p, pool, NULL, cJSON_CreateNumber((double)g->pool.a));
    mt_put_item(p, pool, NULL, cJSON_CreateNumber((double)g->pool.b));
    mt_put_bool(p, o, "expandable", g->expandable);
    cJSON *blocks = mt_put_array(p, o, "blocks");
    for (size_t k = 0; k < g->n_blocks; k++) {
        put_block(p, blocks, st, g->first_block + k);
    }
}

/* Each stack once, in the order of ids. */
static void put_stacks(struct mt_put *p, cJSON *o, const struct mt_state_result *result)
{
    const struct mt_state *st = result->state;
    size_t n = result->snapshot->n_stacks;
    cJSON *stacks = mt_put_array(p, o, "stacks");
    bool *used = mt_mem_zalloc(n ? n : 1, sizeof *used);
    if (!used) {
        p->failed = true;
        return;
    }
    for (size_t i = 0; i < st->n_blocks; i++) {
        if (st->blocks[i].state != MT_BLOCK_INACTIVE && st->blocks[i].stack < n) {
            used[st->blocks[i].stack] = true;
        }
    }
    for (size_t i = 1; i < n; i++) {
        if (used[i]) {
            cJSON *stack = mt_put_object(p, stacks, NULL);
            mt_put_u64(p, stack, "stack", i);
            mt_put_item(p, stack, "frames", mt_json_frames(result->snapshot, (uint32_t)i));
        }
    }
    mt_mem_free(used);
}

static void put_state(struct mt_put *p, cJSON *devices, const struct mt_state_result *result)
{
    const struct mt_state *st = result->state;
    struct mt_state_sum sum = {0};
    cJSON *o = mt_put_object(p, devices, NULL);
    for (size_t i = 0; i < st->n_segments; i++) {
        mt_state_add_segment(st, i, &sum);
    }
    mt_put_u64(p, o, "device", st->device);
    mt_put_text(p, o, "moment", result->moment);
    mt_put_u64(p, o, "events_done", st->events_done);
    mt_put_u64(p, o, "reserved_bytes", sum.reserved);
    mt_put_u64(p, o, "allocated_bytes", sum.allocated);
    mt_put_u64(p, o, "pending_bytes", sum.pending);
    mt_put_u64(p, o, "requested_bytes", sum.requested);
    mt_put_u64(p, o, "free_bytes", sum.free);
    mt_put_u64(p, o, "largest_hole_bytes", sum.largest_hole);
    mt_put_u64(p, o, "unmatched_events", st->unmatched);
    cJSON *segments = mt_put_array(p, o, "segments");
    for (size_t i = 0; i < st->n_segments; i++) {
        put_segment(p, segments, result->snapshot, st, i);
    }
    put_stacks(p, o, result);
}

enum mt_status mt_report_states(const struct mt_report *r, const struct mt_state_result *list,
                                size_t n, struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "segment_plot/1");
    cJSON *devices = mt_put_array(&p, root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_state(&p, devices, &list[i]);
    }
    return mt_put_end(&p, r, root, false, err);
}
