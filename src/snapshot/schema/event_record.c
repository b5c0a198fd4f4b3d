/* SPDX-License-Identifier: MIT */
/*
 * A dictionary with an action becomes a trace event. Events are nearly all of a large snapshot, so
 * the answers that go with the last one - its stream, its set of keys - are asked first.
 */
#include "snapshot/schema/records.h"

#include <inttypes.h>

#include "snapshot/schema/fields.h"
#include "support/units.h"

enum { FREE_BITS = 1 << MT_EVENT_KEY_device_free | 1 << MT_EVENT_KEY_addr };

struct event_parts {
    struct mt_event event;
    uint32_t negative; /* MT_PRESENT_NEGATIVE_ADDR_EVENT, or 0 */
    uint32_t action_name;
    uint32_t columns[MT_COLUMN_COUNT];
    unsigned columns_set;
};

static void set_column(struct event_parts *f, enum mt_event_column c, uint32_t value)
{
    f->columns[c] = value;
    f->columns_set |= 1u << c;
}

static enum mt_status put_action(struct mt_machine *m, struct event_parts *f, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(mt_field_str(m, "action", w, &id));
    f->event.action = id < m->schema.n_known ? m->schema.known[id].action : MT_ACTION_OTHER;
    f->action_name = f->event.action == MT_ACTION_OTHER ? id : 0;
    return MT_OK;
}

static enum mt_status put_text(struct mt_machine *m, struct event_parts *f, enum mt_event_column c,
                               const char *key, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(mt_field_str(m, key, w, &id));
    set_column(f, c, id);
    return MT_OK;
}

static enum mt_status put_event_pool(struct mt_machine *m, struct event_parts *f, mt_word w)
{
    struct mt_pool_id id;
    MT_TRY(mt_field_pair(m, "pool_id", w, &id));
    size_t pool = mt_builder_pool(m->builder, id);
    if (pool == SIZE_MAX) {
        return mt_fail_nomem(m->err);
    }
    set_column(f, MT_COLUMN_POOL, (uint32_t)pool);
    return MT_OK;
}

static enum mt_status put_event_addr(struct mt_machine *m, struct event_parts *f, mt_word w)
{
    bool negative = false;
    MT_TRY(mt_field_addr(m, "addr", w, &f->event.addr, &negative));
    f->negative = negative ? MT_PRESENT_NEGATIVE_ADDR_EVENT : 0;
    return MT_OK;
}

static enum mt_status put_event_key(struct mt_machine *m, void *into, int key, mt_word w)
{
    struct event_parts *f = into;
    switch ((enum mt_event_key)key) {
    case MT_EVENT_KEY_action: return put_action(m, f, w);
    case MT_EVENT_KEY_addr: return put_event_addr(m, f, w);
    case MT_EVENT_KEY_device_free: return mt_field_size(m, "device_free", w, &f->event.addr);
    case MT_EVENT_KEY_size: return mt_field_size(m, "size", w, &f->event.size);
    case MT_EVENT_KEY_stream: return mt_field_stream(m, w, &f->event.stream);
    case MT_EVENT_KEY_time_us:
        return mt_field_i64(m, "time_us", w, INT64_MIN + 1, INT64_MAX, &f->event.time_us);
    case MT_EVENT_KEY_frames: return mt_field_stack(m, w, &f->event.stack);
    case MT_EVENT_KEY_pool_id: return put_event_pool(m, f, w);
    case MT_EVENT_KEY_compile_context:
        return put_text(m, f, MT_COLUMN_COMPILE_CONTEXT, "compile_context", w);
    case MT_EVENT_KEY_user_metadata:
        return put_text(m, f, MT_COLUMN_USER_METADATA, "user_metadata", w);
    case MT_EVENT_KEY_internal_metadata:
        return put_text(m, f, MT_COLUMN_INTERNAL_METADATA, "internal_metadata", w);
    case MT_EVENT_KEY_category: return put_text(m, f, MT_COLUMN_CATEGORY, "category", w);
    case MT_EVENT_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status add_columns(struct mt_machine *m, const struct event_parts *f, size_t index)
{
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        if ((f->columns_set >> c & 1) &&
            !mt_builder_event_column(m->builder, index, (enum mt_event_column)c, f->columns[c])) {
            return mt_fail_nomem(m->err);
        }
    }
    return MT_OK;
}

enum mt_status mt_record_shape(struct mt_machine *m, uint32_t present, uint32_t action_name,
                               uint8_t *index)
{
    struct mt_schema *s = &m->schema;
    if (!s->last_shape.valid || s->last_shape.present != present ||
        s->last_shape.action_name != action_name) {
        size_t i = mt_builder_event_shape(m->builder, present, action_name);
        if (i == SIZE_MAX && !mt_builder_shapes_full(m->builder)) {
            return mt_fail_nomem(m->err);
        }
        if (i == SIZE_MAX) {
            return mt_fail(m->err, MT_LIMIT, m->offset,
                           "more than 255 different sets of keys in trace events");
        }
        s->last_shape.present = present;
        s->last_shape.action_name = action_name;
        s->last_shape.index = (uint8_t)i;
        s->last_shape.valid = true;
    }
    *index = s->last_shape.index;
    return MT_OK;
}

/* addr and device_free share a field: that of an out-of-memory is what was free, that of others an
 * address. Who writes both loses neither. */
static enum mt_status put_apart(struct mt_machine *m, struct mt_fields *fields,
                                const mt_word *pairs, size_t n)
{
    struct event_parts *f = fields->into;
    bool oom = f->event.action == MT_ACTION_OOM;
    int field = oom ? MT_EVENT_KEY_device_free : MT_EVENT_KEY_addr;
    for (size_t i = 0; i < n; i++) {
        int key = mt_schema_key(&m->schema, MT_RECORD_EVENT, pairs[2 * i], pairs[2 * i + 1]);
        if (key == field) {
            MT_TRY(put_event_key(m, f, key, pairs[2 * i + 1]));
        } else if (key == MT_EVENT_KEY_device_free || key == MT_EVENT_KEY_addr) {
            MT_TRY(mt_fields_take_back(m, fields, key, pairs + 2 * i));
        }
    }
    f->negative = oom ? 0 : f->negative;
    return MT_OK;
}

enum mt_status mt_record_event(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
{
    struct event_parts f;
    f.event = (struct mt_event){.time_us = MT_NO_TIME};
    f.negative = f.action_name = 0;
    f.columns_set = 0;
    uint32_t extra = 0;
    struct mt_fields fields = {MT_RECORD_EVENT, put_event_key, &f, &extra, 0, 0};
    MT_TRY(mt_fields_put(m, &fields, pairs, n));
    if ((fields.present & FREE_BITS) == FREE_BITS) {
        MT_TRY(put_apart(m, &fields, pairs, n));
    }
    if (extra) {
        set_column(&f, MT_COLUMN_EXTRA, extra);
    }
    if (f.event.action == MT_ACTION_OOM && !(fields.present & FREE_BITS)) {
        f.event.addr = MT_FREE_UNKNOWN;
    }
    MT_TRY(mt_record_shape(m, fields.present | f.negative, f.action_name, &f.event.shape));
    size_t index = mt_builder_n_events(m->builder);
    if (index >= m->max_events) {
        mt_fail(m->err, MT_LIMIT, m->offset, "more than %s events, at byte %" PRIu64,
                mt_count_text(m->max_events).s, m->offset);
        return mt_hint(m->err, "real files have fewer events than bytes, packed too; raise the "
                               "limit with --max-events N if you trust the file");
    }
    if (!mt_builder_event(m->builder, &f.event)) {
        return mt_fail_nomem(m->err);
    }
    *out = mt_word_make(MT_TAG_EVENT, index);
    return f.columns_set ? add_columns(m, &f, index) : MT_OK;
}
