/* SPDX-License-Identifier: MIT */
/*
 * The outermost value of a file: the dictionary that holds the state and the traces, or the bare
 * list of segments that the first releases wrote. Only here are device and host told apart.
 */
#include <inttypes.h>

#include "snapshot/schema/fields.h"
#include "snapshot/schema/schema.h"

static enum mt_status add_segments(struct mt_machine *m, uint32_t first, uint32_t n, bool host)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!mt_builder_segment(m->builder, &m->schema.segments.v[first + i], host)) {
            return mt_fail_nomem(m->err);
        }
    }
    return MT_OK;
}

static enum mt_status top_segments(struct mt_machine *m, const char *key, mt_word w, bool host)
{
    uint32_t first;
    uint32_t n;
    MT_TRY(mt_field_range(m, key, w, MT_TAG_SEGMENT, "a list of segments", &first, &n));
    return add_segments(m, first, n, host);
}

/* Values of unknown keys name segments by their index among all that were read. */
static enum mt_status keep_strays(struct mt_machine *m)
{
    for (size_t i = 0; m->schema.strays && i < m->schema.segments.n; i++) {
        if (!mt_builder_other_segment(m->builder, &m->schema.segments.v[i])) {
            return mt_fail_nomem(m->err);
        }
    }
    return MT_OK;
}

/* The events of a list of them; false when it is anything else. */
static bool is_trace(struct mt_value trace)
{
    return (trace.kind == MT_VALUE_EVENTS && !trace.single) ||
           (trace.kind == MT_VALUE_LIST && trace.n == 0);
}

static enum mt_status add_traces(struct mt_machine *m, struct mt_value list, bool host)
{
    for (uint32_t i = 0; i < list.n; i++) {
        struct mt_value trace = mt_builder_get_value(m->builder, list.u.id + i);
        if (!mt_builder_trace(m->builder, trace.n ? trace.u.id : 0, trace.n, host)) {
            return mt_fail_nomem(m->err);
        }
    }
    return MT_OK;
}

/* A list with one list of events a device; the host's may be one flat list. */
static enum mt_status top_traces(struct mt_machine *m, const char *key, mt_word w, bool host)
{
    struct mt_value list;
    MT_TRY(mt_machine_value(m, w, &list));
    if (host && list.kind == MT_VALUE_EVENTS && !list.single) {
        mt_builder_flat_host_trace(m->builder);
        return mt_builder_trace(m->builder, list.u.id, list.n, true) ? MT_OK
                                                                     : mt_fail_nomem(m->err);
    }
    if (list.kind != MT_VALUE_LIST) {
        return mt_field_wrong_type(m, key, "a list of traces", w);
    }
    for (uint32_t i = 0; i < list.n; i++) {
        if (!is_trace(mt_builder_get_value(m->builder, list.u.id + i))) {
            return mt_fail(m->err, MT_FORMAT, m->offset, "%s[%" PRIu32 "] is no list of events",
                           key, i);
        }
    }
    return add_traces(m, list, host);
}

struct top {
    uint32_t seen, settings, own, extra;
};

static enum mt_status top_value(struct mt_machine *m, mt_word w, uint32_t *out)
{
    struct mt_value value;
    MT_TRY(mt_machine_value(m, w, &value));
    *out = mt_builder_values(m->builder, &value, 1);
    return *out ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status put_top(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct top *top = into;
    uint32_t first;
    uint32_t n;
    if (top->seen >> key & 1) { /* each time more segments, as often as the file likes */
        return mt_fail(m->err, MT_FORMAT, m->offset, "a key of the snapshot stands twice");
    }
    top->seen |= 1u << key;
    m->last_key = key;
    switch ((enum mt_top_key)key) {
    case MT_TOP_KEY_segments: return top_segments(m, "segments", w, false);
    case MT_TOP_KEY_host_segments: return top_segments(m, "host_segments", w, true);
    case MT_TOP_KEY_device_traces: return top_traces(m, "device_traces", w, false);
    case MT_TOP_KEY_host_traces: return top_traces(m, "host_traces", w, true);
    case MT_TOP_KEY_allocator_settings: return top_value(m, w, &top->settings);
    case MT_TOP_KEY_memtool: return top_value(m, w, &top->own);
    case MT_TOP_KEY_external_annotations:
        return mt_field_range(m, "external_annotations", w, MT_TAG_ANNOTATION,
                              "a list of annotations", &first, &n);
    case MT_TOP_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_schema_top(struct mt_machine *m, const mt_word *pairs, size_t n)
{
    struct top top = {0};
    struct mt_fields f = {MT_RECORD_TOP, put_top, &top, &top.extra, 0, 0};
    MT_TRY(mt_fields_put(m, &f, pairs, n));
    if (!(f.present & (1u << MT_TOP_KEY_segments | 1u << MT_TOP_KEY_device_traces))) {
        return mt_fail(m->err, MT_FORMAT, m->offset,
                       "not a memory snapshot (a dictionary without 'segments')");
    }
    mt_builder_top(m->builder, f.present, top.settings, top.extra);
    mt_builder_own(m->builder, top.own);
    return keep_strays(m);
}

enum mt_status mt_schema_top_list(struct mt_machine *m, uint32_t first, uint32_t n)
{
    m->bare_list = true;
    mt_builder_top(m->builder, 1u << MT_TOP_KEY_segments, 0, 0);
    MT_TRY(add_segments(m, first, n, false));
    return keep_strays(m);
}
