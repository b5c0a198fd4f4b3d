/* SPDX-License-Identifier: MIT */
/*
 * Does a filter name something that the file has? What it names by itself is looked for first, so
 * that the message can say which part of the filter is at fault; that all parts together let
 * nothing through is found last.
 */
#include "heap/stacks/filter.h"

#include <inttypes.h>
#include <stdio.h>

#include "heap/walk/replay.h"

static enum mt_status check_device(const struct mt_filtered *f, struct mt_error *err)
{
    int32_t device = f->filter->device;
    struct mt_devices devices = {0};
    if (device < 0) {
        return MT_OK;
    }
    enum mt_status status = mt_devices_find(&devices, f->snapshot, false, err);
    bool found = false;
    for (size_t i = 0; i < devices.ids.n; i++) {
        found |= devices.ids.v[i] == device;
    }
    mt_devices_release(&devices);
    if (status == MT_OK && !found) {
        status = mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                         "device %" PRId32 " has neither segments nor events in this file", device);
    }
    return status;
}

static enum mt_status check_stream(const struct mt_filtered *f, struct mt_error *err)
{
    const struct mt_filter *filter = f->filter;
    const struct mt_snapshot *s = f->snapshot;
    bool found = !filter->has_stream || (filter->stream_is_index && filter->stream < s->n_streams);
    for (size_t i = 0; i < s->n_streams && !filter->stream_is_index; i++) {
        found |= s->streams[i].handle == filter->stream;
    }
    if (found) {
        return MT_OK;
    }
    char named[32];
    char has[48] = "stream 0 only";
    snprintf(named, sizeof named, filter->stream_is_index ? "%" PRIu64 : "0x%" PRIx64,
             filter->stream);
    if (s->n_streams > 1) {
        snprintf(has, sizeof has, "streams 0 to %zu", s->n_streams - 1);
    }
    return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "stream %s is not in this file (it has %s)",
                   named, has);
}

static enum mt_status check_pool(const struct mt_filtered *f, struct mt_error *err)
{
    const struct mt_filter *filter = f->filter;
    const struct mt_snapshot *s = f->snapshot;
    bool by_id = filter->pool == MT_POOL_IS_ID;
    bool found = !by_id && filter->pool != MT_POOL_IS_PRIVATE;
    for (size_t i = by_id ? 0 : 1; i < s->n_pools; i++) {
        found |=
            !by_id || (s->pools[i].a == filter->pool_id.a && s->pools[i].b == filter->pool_id.b);
    }
    for (size_t i = 0; i < s->n_segments; i++) {
        struct mt_pool_id id = s->segments[i].pool;
        found |=
            by_id ? id.a == filter->pool_id.a && id.b == filter->pool_id.b : id.a != 0 || id.b != 0;
    }
    if (found) {
        return MT_OK;
    }
    if (by_id) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                       "pool (%" PRId64 ", %" PRId64 ") is not in this file", filter->pool_id.a,
                       filter->pool_id.b);
    }
    return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "this file has no private pool");
}

static enum mt_status check_names(struct mt_filtered *f, struct mt_error *err)
{
    const struct mt_filter *filter = f->filter;
    if (filter->annotation && f->spans.n == 0) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "no annotation in this file is named '%s'",
                       filter->annotation);
    }
    bool found = !filter->has_frame;
    for (uint32_t i = 1; i < f->snapshot->n_stacks && !found; i++) {
        found = mt_filtered_stack(f, i);
    }
    return found
               ? MT_OK
               : mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "no call stack in this file matches --%s",
                         filter->has_not_frame ? "frame and --not-frame" : "frame");
}

static bool passes_segments(struct mt_filtered *f, const struct mt_segment *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < list[i].n_blocks; k++) {
            if (mt_filtered_block(f, &f->snapshot->blocks[list[i].first_block + k])) {
                return true;
            }
        }
    }
    return false;
}

static bool passes_trace(struct mt_filtered *f, int32_t device)
{
    size_t n = mt_device_trace(f->snapshot, device).n;
    for (size_t i = 0; i < n; i++) {
        if (mt_filtered_event(f, device, i)) {
            return true;
        }
    }
    return false;
}

/* Blocks have neither index nor time: where events are named by these, only events count. */
static bool names_events(const struct mt_filter *filter)
{
    return filter->event_min > 0 || filter->event_max != UINT64_MAX || filter->has_time ||
           filter->annotation;
}

static bool lets_any(struct mt_filtered *f)
{
    const struct mt_snapshot *s = f->snapshot;
    bool any =
        !names_events(f->filter) && (passes_segments(f, s->segments, s->n_segments) ||
                                     passes_segments(f, s->host_segments, s->n_host_segments));
    for (size_t d = 0; d < s->n_traces && !any; d++) {
        any = passes_trace(f, (int32_t)d);
    }
    return any || (s->n_host_traces > 0 && passes_trace(f, -1));
}

enum mt_status mt_filtered_check(struct mt_filtered *f, bool any, struct mt_error *err)
{
    const struct mt_snapshot *s = f->snapshot;
    bool empty = s->n_segments == 0 && s->n_host_segments == 0 && s->n_events == 0;
    if (empty || !f->filter || mt_filter_is_open(f->filter)) {
        return MT_OK; /* of an empty file the report says that it is empty */
    }
    MT_TRY(check_device(f, err));
    MT_TRY(check_stream(f, err));
    MT_TRY(check_pool(f, err));
    MT_TRY(check_names(f, err));
    if (any && !lets_any(f)) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "nothing in this file passes the filter");
    }
    return MT_OK;
}
