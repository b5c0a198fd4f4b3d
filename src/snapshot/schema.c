/* SPDX-License-Identifier: MIT */
/*
 * Keys to fields. The strings of keys.h are interned first, so a key's string id is an index into a
 * small table that says what it means in each record: no comparison of bytes happens per event.
 *
 * Records are told apart by the keys that only they have. A key whose value is None, and every key
 * that is not known, goes to the record's list of extras, for `convert`. A known key with a value
 * of the wrong type is an error that names both.
 */
#include "schema.h"

#include <inttypes.h>
#include <string.h>

#include "machine.h"

/* ---- tables ---- */

enum {
    MARK_ACTION = 1,
    MARK_TOTAL_SIZE = 2,
    MARK_BLOCKS = 4,
    MARK_STATE = 8,
    MARK_SIZE = 16,
    MARK_REAL_SIZE = 32,
    MARK_NAME = 64,
    MARK_FILENAME = 128
};

/* Which records a dictionary can be, in the order of asking: all of `marks` must be there. */
static const struct {
    uint8_t marks;
    uint8_t record;
} SHAPES[] = {
    {MARK_ACTION, MT_RECORD_EVENT},
    {MARK_TOTAL_SIZE | MARK_BLOCKS, MT_RECORD_SEGMENT},
    {MARK_STATE | MARK_SIZE, MT_RECORD_BLOCK},
    {MARK_REAL_SIZE, MT_RECORD_HISTORY},
    {MARK_NAME | MARK_FILENAME, MT_RECORD_FRAME},
};

static const struct {
    const char *key;
    uint8_t mark;
} MARKS[] = {
    {"action", MARK_ACTION}, {"total_size", MARK_TOTAL_SIZE},
    {"blocks", MARK_BLOCKS}, {"state", MARK_STATE},
    {"size", MARK_SIZE},     {"real_size", MARK_REAL_SIZE},
    {"name", MARK_NAME},     {"filename", MARK_FILENAME},
};

struct key_row {
    const char *name;
    uint8_t record;
    int8_t key;
};

static const struct key_row KEYS[] = {
#define X(name, type, since) {#name, MT_RECORD_EVENT, MT_EVENT_KEY_##name},
    MT_EVENT_KEYS(X)
#undef X
#define X(name, type, since) {#name, MT_RECORD_SEGMENT, MT_SEGMENT_KEY_##name},
        MT_SEGMENT_KEYS(X)
#undef X
#define X(name, type, since) {#name, MT_RECORD_BLOCK, MT_BLOCK_KEY_##name},
            MT_BLOCK_KEYS(X)
#undef X
#define X(name, type, since) {#name, MT_RECORD_HISTORY, MT_HISTORY_KEY_##name},
                MT_HISTORY_KEYS(X)
#undef X
#define X(name, type, since) {#name, MT_RECORD_FRAME, MT_FRAME_KEY_##name},
                    MT_FRAME_KEYS(X)
#undef X
#define X(name, type, since) {#name, MT_RECORD_ANNOTATION, MT_ANNOTATION_KEY_##name},
                        MT_ANNOTATION_KEYS(X)
#undef X
#define X(name, type, since) {#name, MT_RECORD_TOP, MT_TOP_KEY_##name},
                            MT_TOP_KEYS(X)
#undef X
};

static const char *const ACTIONS[] = {
#define X(name, word) word,
    MT_ACTION_MAP(X)
#undef X
};

/* The entry of a known string, added when new; NULL: no memory, or MT_KNOWN_MAX is too small. */
static struct mt_known *known_entry(struct mt_schema *s, struct mt_builder *b, const char *word,
                                    uint32_t *id)
{
    *id = mt_builder_cstr(b, word);
    if (*id == 0) {
        return NULL;
    }
    MT_ASSERT(*id < MT_KNOWN_MAX);
    while (s->n_known <= *id) {
        memset(s->known[s->n_known].key, -1, MT_RECORD_COUNT);
        s->n_known++;
    }
    return &s->known[*id];
}

static bool intern_keys(struct mt_schema *s, struct mt_builder *b)
{
    uint32_t id;
    for (size_t i = 0; i < MT_COUNT(KEYS); i++) {
        struct mt_known *k = known_entry(s, b, KEYS[i].name, &id);
        if (!k) {
            return false;
        }
        k->key[KEYS[i].record] = KEYS[i].key;
        if (KEYS[i].record == MT_RECORD_EVENT) {
            s->event_keys[KEYS[i].key] = mt_word_make(MT_TAG_STR, id);
        }
    }
    for (size_t i = 0; i < MT_COUNT(MARKS); i++) {
        struct mt_known *k = known_entry(s, b, MARKS[i].key, &id);
        if (!k) {
            return false;
        }
        k->mark = MARKS[i].mark;
    }
    for (size_t i = 1; i < MT_COUNT(ACTIONS); i++) {
        struct mt_known *k = known_entry(s, b, ACTIONS[i], &id);
        if (!k) {
            return false;
        }
        k->action = (uint8_t)i;
    }
    return true;
}

enum mt_status mt_schema_init(struct mt_schema *s, struct mt_builder *b, struct mt_error *err)
{
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free"};
    static const char *const kinds[] = {"small", "large"};
    bool ok = intern_keys(s, b);
    s->action_key = mt_builder_cstr(b, "action");
    s->empty_stack = mt_builder_stack(b, NULL, 0);
    ok = ok && s->action_key && s->empty_stack;
    for (size_t i = 0; i < MT_COUNT(states); i++) {
        s->states[i] = mt_builder_cstr(b, states[i]);
        ok = ok && s->states[i];
    }
    for (size_t i = 0; i < MT_COUNT(kinds); i++) {
        s->kinds[i] = mt_builder_cstr(b, kinds[i]);
        ok = ok && s->kinds[i];
    }
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_schema_release(struct mt_schema *s)
{
    mt_vec_release(&s->segments);
}

/* ---- typed values ---- */

static bool is_none(mt_word w)
{
    return w == mt_word_make(MT_TAG_CONST, MT_CONST_NONE);
}

static enum mt_status wrong_type(struct mt_machine *m, const char *key, const char *expected,
                                 mt_word w)
{
    return mt_fail(m->err, MT_FORMAT, m->offset, "%s: expected %s, found %s", key, expected,
                   mt_machine_describe(m, w));
}

/* A count of bytes. */
static enum mt_status get_size(struct mt_machine *m, const char *key, mt_word w, uint64_t *out)
{
    bool negative;
    if (!mt_machine_integer(m, w, out, &negative)) {
        return wrong_type(m, key, "an integer", w);
    }
    if (negative) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "%s: -%" PRIu64 " is negative", key, *out);
    }
    return MT_OK;
}

/* An address or handle: the C++ writer makes those above 2^63 negative. */
static enum mt_status get_addr(struct mt_machine *m, const char *key, mt_word w, uint64_t *out,
                               bool *negative)
{
    if (!mt_machine_integer(m, w, out, negative)) {
        return wrong_type(m, key, "an integer", w);
    }
    if (*negative) {
        *out = UINT64_C(0) - *out;
    }
    return MT_OK;
}

static enum mt_status get_i64(struct mt_machine *m, const char *key, mt_word w, int64_t min,
                              int64_t max, int64_t *out)
{
    uint64_t magnitude;
    bool negative;
    if (!mt_machine_integer(m, w, &magnitude, &negative)) {
        return wrong_type(m, key, "an integer", w);
    }
    if (magnitude > (uint64_t)INT64_MAX) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "%s: %s%" PRIu64 " is out of range", key,
                       negative ? "-" : "", magnitude);
    }
    *out = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    if (*out < min || *out > max) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "%s: %" PRId64 " is out of range", key, *out);
    }
    return MT_OK;
}

static enum mt_status get_i32(struct mt_machine *m, const char *key, mt_word w, int32_t *out)
{
    int64_t wide = 0;
    MT_TRY(get_i64(m, key, w, INT32_MIN, INT32_MAX, &wide));
    *out = (int32_t)wide;
    return MT_OK;
}

static enum mt_status get_str(struct mt_machine *m, const char *key, mt_word w, uint32_t *id)
{
    if (mt_word_tag(w) != MT_TAG_STR) {
        return wrong_type(m, key, "a string", w);
    }
    *id = (uint32_t)mt_word_payload(w);
    return MT_OK;
}

static enum mt_status get_bool(struct mt_machine *m, const char *key, mt_word w, bool *out)
{
    if (w == mt_word_make(MT_TAG_CONST, MT_CONST_TRUE) || w == mt_word_from_int(1)) {
        *out = true;
    } else if (w == mt_word_make(MT_TAG_CONST, MT_CONST_FALSE) || w == mt_word_from_int(0)) {
        *out = false;
    } else {
        return wrong_type(m, key, "true or false", w);
    }
    return MT_OK;
}

static enum mt_status get_stack(struct mt_machine *m, mt_word w, uint32_t *stack)
{
    MT_TRY(mt_machine_take_stack(m, w, stack));
    return *stack ? MT_OK : wrong_type(m, "frames", "a list of frames", w);
}

static enum mt_status get_pair(struct mt_machine *m, const char *key, mt_word w,
                               struct mt_pool_id *pair)
{
    return mt_machine_pair(m, w, pair) ? MT_OK : wrong_type(m, key, "a pair of integers", w);
}

static enum mt_status get_range(struct mt_machine *m, const char *key, mt_word w,
                                enum mt_tag record, const char *expected, uint32_t *first,
                                uint32_t *n)
{
    return mt_machine_range(m, w, record, first, n) ? MT_OK : wrong_type(m, key, expected, w);
}

static enum mt_status get_stream(struct mt_machine *m, mt_word w, uint16_t *out)
{
    struct mt_schema *s = &m->schema;
    uint64_t handle = 0;
    bool negative = false;
    MT_TRY(get_addr(m, "stream", w, &handle, &negative));
    if (!s->last_stream.valid || s->last_stream.handle != handle ||
        s->last_stream.negative != negative) {
        size_t index = mt_builder_stream(m->builder, handle, negative);
        if (index == SIZE_MAX) {
            return mt_fail(m->err, MT_LIMIT, m->offset, "more than 65,535 streams");
        }
        s->last_stream.handle = handle;
        s->last_stream.index = (uint16_t)index;
        s->last_stream.negative = negative;
        s->last_stream.valid = true;
    }
    *out = s->last_stream.index;
    return MT_OK;
}

/* Keeps a pair that the record has no field for. */
static enum mt_status keep_extra(struct mt_machine *m, mt_word key, mt_word w, uint32_t *head)
{
    struct mt_value value;
    MT_TRY(mt_machine_value(m, w, &value));
    if (mt_word_tag(key) != MT_TAG_STR) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "a key is %s", mt_machine_describe(m, key));
    }
    uint32_t index = mt_builder_values(m->builder, &value, 1);
    *head = index ? mt_builder_extra(m->builder, *head, (uint32_t)mt_word_payload(key), index) : 0;
    return *head ? MT_OK : mt_fail_nomem(m->err);
}

/* The meaning of a key in a record: its enum value, or -1 for what goes to the extras. */
static int key_of(const struct mt_schema *s, enum mt_record record, mt_word key, mt_word value)
{
    uint64_t id = mt_word_payload(key);
    if (mt_word_tag(key) != MT_TAG_STR || id >= s->n_known || is_none(value)) {
        return -1;
    }
    return s->known[id].key[record];
}

/* ---- events ---- */

struct event_fill {
    struct mt_event event;
    uint32_t present;
    uint32_t action_name;
    uint32_t columns[MT_COLUMN_COUNT];
    unsigned columns_set;
};

static void set_column(struct event_fill *f, enum mt_event_column c, uint32_t value)
{
    f->columns[c] = value;
    f->columns_set |= 1u << c;
}

static enum mt_status fill_action(struct mt_machine *m, struct event_fill *f, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(get_str(m, "action", w, &id));
    f->event.action = id < m->schema.n_known ? m->schema.known[id].action : MT_ACTION_OTHER;
    f->action_name = f->event.action == MT_ACTION_OTHER ? id : 0;
    return MT_OK;
}

/* Texts are for people only: another type is kept as it is instead of being an error. */
static enum mt_status fill_text(struct mt_machine *m, struct event_fill *f, enum mt_event_column c,
                                int key, mt_word key_word, mt_word w)
{
    if (mt_word_tag(w) != MT_TAG_STR) {
        f->present &= ~(1u << key);
        f->columns_set |= 1u << MT_COLUMN_EXTRA;
        return keep_extra(m, key_word, w, &f->columns[MT_COLUMN_EXTRA]);
    }
    set_column(f, c, (uint32_t)mt_word_payload(w));
    return MT_OK;
}

static enum mt_status fill_event_pool(struct mt_machine *m, struct event_fill *f, mt_word w)
{
    struct mt_pool_id id;
    MT_TRY(get_pair(m, "pool_id", w, &id));
    size_t pool = mt_builder_pool(m->builder, id);
    if (pool == SIZE_MAX) {
        return mt_fail_nomem(m->err);
    }
    set_column(f, MT_COLUMN_POOL, (uint32_t)pool);
    return MT_OK;
}

static enum mt_status fill_event_addr(struct mt_machine *m, struct event_fill *f, mt_word w)
{
    bool negative = false;
    MT_TRY(get_addr(m, "addr", w, &f->event.addr, &negative));
    f->present |= negative ? MT_PRESENT_NEGATIVE_ADDR_EVENT : 0;
    return MT_OK;
}

static enum mt_status fill_event_key(struct mt_machine *m, struct event_fill *f, int key,
                                     mt_word key_word, mt_word w)
{
    f->present |= 1u << key;
    switch ((enum mt_event_key)key) {
    case MT_EVENT_KEY_action: return fill_action(m, f, w);
    case MT_EVENT_KEY_addr: return fill_event_addr(m, f, w);
    case MT_EVENT_KEY_device_free: return get_size(m, "device_free", w, &f->event.addr);
    case MT_EVENT_KEY_size: return get_size(m, "size", w, &f->event.size);
    case MT_EVENT_KEY_stream: return get_stream(m, w, &f->event.stream);
    case MT_EVENT_KEY_time_us:
        return get_i64(m, "time_us", w, INT64_MIN + 1, INT64_MAX, &f->event.time_us);
    case MT_EVENT_KEY_frames: return get_stack(m, w, &f->event.stack);
    case MT_EVENT_KEY_pool_id: return fill_event_pool(m, f, w);
    case MT_EVENT_KEY_compile_context:
        return fill_text(m, f, MT_COLUMN_COMPILE_CONTEXT, key, key_word, w);
    case MT_EVENT_KEY_user_metadata:
        return fill_text(m, f, MT_COLUMN_USER_METADATA, key, key_word, w);
    case MT_EVENT_KEY_internal_metadata:
        return fill_text(m, f, MT_COLUMN_INTERNAL_METADATA, key, key_word, w);
    case MT_EVENT_KEY_category: return fill_text(m, f, MT_COLUMN_CATEGORY, key, key_word, w);
    case MT_EVENT_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status shape_of(struct mt_machine *m, const struct event_fill *f, uint8_t *index)
{
    struct mt_schema *s = &m->schema;
    if (!s->last_shape.valid || s->last_shape.present != f->present ||
        s->last_shape.action_name != f->action_name) {
        size_t i = mt_builder_event_shape(m->builder, f->present, f->action_name);
        if (i == SIZE_MAX && !mt_builder_shapes_full(m->builder)) {
            return mt_fail_nomem(m->err);
        }
        if (i == SIZE_MAX) {
            return mt_fail(m->err, MT_LIMIT, m->offset,
                           "more than 255 different sets of keys in trace events");
        }
        s->last_shape.present = f->present;
        s->last_shape.action_name = f->action_name;
        s->last_shape.index = (uint8_t)i;
        s->last_shape.valid = true;
    }
    *index = s->last_shape.index;
    return MT_OK;
}

static enum mt_status add_columns(struct mt_machine *m, const struct event_fill *f, size_t index)
{
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        if ((f->columns_set >> c & 1) &&
            !mt_builder_event_column(m->builder, index, (enum mt_event_column)c, f->columns[c])) {
            return mt_fail_nomem(m->err);
        }
    }
    return MT_OK;
}

static enum mt_status reduce_event(struct mt_machine *m, const mt_word *pairs, size_t n,
                                   mt_word *out)
{
    struct event_fill f;
    f.event = (struct mt_event){.time_us = MT_NO_TIME};
    f.present = f.action_name = 0;
    f.columns_set = 0;
    f.columns[MT_COLUMN_EXTRA] = 0;
    for (size_t i = 0; i < n; i++) {
        mt_word key_word = pairs[2 * i];
        mt_word value = pairs[2 * i + 1];
        int key = key_of(&m->schema, MT_RECORD_EVENT, key_word, value);
        if (MT_LIKELY(key >= 0)) {
            MT_TRY(fill_event_key(m, &f, key, key_word, value));
        } else {
            f.columns_set |= 1u << MT_COLUMN_EXTRA;
            MT_TRY(keep_extra(m, key_word, value, &f.columns[MT_COLUMN_EXTRA]));
        }
    }
    MT_TRY(shape_of(m, &f, &f.event.shape));
    size_t index = mt_builder_n_events(m->builder);
    if (index >= m->max_events) {
        mt_fail(m->err, MT_LIMIT, m->offset, "more than %" PRIu64 " events", m->max_events);
        return mt_hint(m->err, "raise the limit with --max-events N");
    }
    if (!mt_builder_event(m->builder, &f.event)) {
        return mt_fail_nomem(m->err);
    }
    *out = mt_word_make(MT_TAG_EVENT, index);
    return f.columns_set ? add_columns(m, &f, index) : MT_OK;
}

/* ---- segments ---- */

static enum mt_status fill_segment_type(struct mt_machine *m, struct mt_segment *s, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(get_str(m, "segment_type", w, &id));
    s->kind = id == m->schema.kinds[MT_POOL_SMALL] ? MT_POOL_SMALL : MT_POOL_LARGE;
    s->type_name = id == m->schema.kinds[s->kind] ? 0 : id;
    return MT_OK;
}

static enum mt_status fill_segment_key(struct mt_machine *m, struct mt_segment *s, int key,
                                       mt_word w)
{
    bool negative = false;
    s->present |= 1u << key;
    switch ((enum mt_segment_key)key) {
    case MT_SEGMENT_KEY_device: return get_i32(m, "device", w, &s->device);
    case MT_SEGMENT_KEY_address:
        MT_TRY(get_addr(m, "address", w, &s->addr, &negative));
        s->present |= negative ? MT_PRESENT_NEGATIVE_ADDR_SEGMENT : 0;
        return MT_OK;
    case MT_SEGMENT_KEY_total_size: return get_size(m, "total_size", w, &s->total_size);
    case MT_SEGMENT_KEY_allocated_size: return get_size(m, "allocated_size", w, &s->allocated_size);
    case MT_SEGMENT_KEY_active_size: return get_size(m, "active_size", w, &s->active_size);
    case MT_SEGMENT_KEY_requested_size: return get_size(m, "requested_size", w, &s->requested_size);
    case MT_SEGMENT_KEY_stream: return get_stream(m, w, &s->stream);
    case MT_SEGMENT_KEY_segment_type: return fill_segment_type(m, s, w);
    case MT_SEGMENT_KEY_segment_pool_id: return get_pair(m, "segment_pool_id", w, &s->pool);
    case MT_SEGMENT_KEY_is_expandable: return get_bool(m, "is_expandable", w, &s->expandable);
    case MT_SEGMENT_KEY_frames: return get_stack(m, w, &s->stack);
    case MT_SEGMENT_KEY_blocks:
        return get_range(m, "blocks", w, MT_TAG_BLOCK, "a list of blocks", &s->first_block,
                         &s->n_blocks);
    case MT_SEGMENT_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status reduce_segment(struct mt_machine *m, const mt_word *pairs, size_t n,
                                     mt_word *out)
{
    struct mt_segment s = {0};
    for (size_t i = 0; i < n; i++) {
        int key = key_of(&m->schema, MT_RECORD_SEGMENT, pairs[2 * i], pairs[2 * i + 1]);
        MT_TRY(key >= 0 ? fill_segment_key(m, &s, key, pairs[2 * i + 1])
                        : keep_extra(m, pairs[2 * i], pairs[2 * i + 1], &s.extra));
    }
    *out = mt_word_make(MT_TAG_SEGMENT, m->schema.segments.n);
    return mt_vec_push(&m->schema.segments, s) ? MT_OK : mt_fail_nomem(m->err);
}

/* ---- blocks and their history ---- */

static enum mt_status fill_state(struct mt_machine *m, struct mt_block *b, mt_word w)
{
    uint32_t id = 0;
    MT_TRY(get_str(m, "state", w, &id));
    for (uint8_t i = 0; i < MT_COUNT(m->schema.states); i++) {
        if (m->schema.states[i] == id) {
            b->state = i;
            return MT_OK;
        }
    }
    /* the documentation's name of pending; no release wrote it, but files with it exist */
    bool alias = mt_str_equal(mt_builder_get_str(m->builder, id), MT_STR("active_awaiting_free"));
    b->state = alias ? MT_BLOCK_PENDING : MT_BLOCK_OTHER;
    b->state_name = id;
    return MT_OK;
}

static enum mt_status fill_block_key(struct mt_machine *m, struct mt_block *b, int key, mt_word w)
{
    bool negative = false;
    b->present |= (uint16_t)(1u << key);
    switch ((enum mt_block_key)key) {
    case MT_BLOCK_KEY_address:
        MT_TRY(get_addr(m, "address", w, &b->addr, &negative));
        b->present |= negative ? (uint16_t)MT_PRESENT_NEGATIVE_ADDR_BLOCK : 0;
        return MT_OK;
    case MT_BLOCK_KEY_size: return get_size(m, "size", w, &b->size);
    case MT_BLOCK_KEY_requested_size: return get_size(m, "requested_size", w, &b->requested);
    case MT_BLOCK_KEY_state: return fill_state(m, b, w);
    case MT_BLOCK_KEY_frames: return get_stack(m, w, &b->stack);
    case MT_BLOCK_KEY_history:
        return get_range(m, "history", w, MT_TAG_HISTORY, "a list of history entries",
                         &b->history_first, &b->history_n);
    case MT_BLOCK_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status reduce_block(struct mt_machine *m, const mt_word *pairs, size_t n,
                                   mt_word *out)
{
    struct mt_block b = {0};
    for (size_t i = 0; i < n; i++) {
        int key = key_of(&m->schema, MT_RECORD_BLOCK, pairs[2 * i], pairs[2 * i + 1]);
        MT_TRY(key >= 0 ? fill_block_key(m, &b, key, pairs[2 * i + 1])
                        : keep_extra(m, pairs[2 * i], pairs[2 * i + 1], &b.extra));
    }
    *out = mt_word_make(MT_TAG_BLOCK, mt_builder_n_blocks(m->builder));
    return mt_builder_block(m->builder, &b) ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status fill_history_key(struct mt_machine *m, struct mt_history *h, int key,
                                       mt_word w)
{
    bool negative = false;
    h->present |= 1u << key;
    switch ((enum mt_history_key)key) {
    case MT_HISTORY_KEY_addr:
        MT_TRY(get_addr(m, "addr", w, &h->addr, &negative));
        h->present |= negative ? MT_PRESENT_NEGATIVE_ADDR_HISTORY : 0;
        return MT_OK;
    case MT_HISTORY_KEY_real_size: return get_size(m, "real_size", w, &h->real_size);
    case MT_HISTORY_KEY_frames: return get_stack(m, w, &h->stack);
    case MT_HISTORY_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status reduce_history(struct mt_machine *m, const mt_word *pairs, size_t n,
                                     mt_word *out)
{
    struct mt_history h = {0};
    for (size_t i = 0; i < n; i++) {
        int key = key_of(&m->schema, MT_RECORD_HISTORY, pairs[2 * i], pairs[2 * i + 1]);
        MT_TRY(key >= 0 ? fill_history_key(m, &h, key, pairs[2 * i + 1])
                        : keep_extra(m, pairs[2 * i], pairs[2 * i + 1], &h.extra));
    }
    *out = mt_word_make(MT_TAG_HISTORY, mt_builder_n_history(m->builder));
    return mt_builder_history(m->builder, &h) ? MT_OK : mt_fail_nomem(m->err);
}

/* ---- frames and annotations ---- */

static enum mt_status fill_frame_key(struct mt_machine *m, struct mt_frame *f, int key, mt_word w)
{
    f->present |= 1u << key;
    switch ((enum mt_frame_key)key) {
    case MT_FRAME_KEY_name: return get_str(m, "name", w, &f->name);
    case MT_FRAME_KEY_filename: return get_str(m, "filename", w, &f->filename);
    case MT_FRAME_KEY_line: return get_i32(m, "line", w, &f->line);
    case MT_FRAME_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status reduce_frame(struct mt_machine *m, const mt_word *pairs, size_t n,
                                   mt_word *out)
{
    struct mt_frame f = {0};
    for (size_t i = 0; i < n; i++) {
        int key = key_of(&m->schema, MT_RECORD_FRAME, pairs[2 * i], pairs[2 * i + 1]);
        MT_TRY(key >= 0 ? fill_frame_key(m, &f, key, pairs[2 * i + 1])
                        : keep_extra(m, pairs[2 * i], pairs[2 * i + 1], &f.extra));
    }
    uint32_t id = mt_builder_frame(m->builder, &f);
    *out = mt_word_make(MT_TAG_FRAME, id);
    return id ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status fill_annotation_key(struct mt_machine *m, struct mt_annotation *a, int key,
                                          mt_word w)
{
    a->present |= 1u << key;
    switch ((enum mt_annotation_key)key) {
    case MT_ANNOTATION_KEY_stage: return get_str(m, "stage", w, &a->stage);
    case MT_ANNOTATION_KEY_name: return get_str(m, "name", w, &a->name);
    case MT_ANNOTATION_KEY_device: return get_i32(m, "device", w, &a->device);
    case MT_ANNOTATION_KEY_time_us:
        return get_i64(m, "time_us", w, INT64_MIN + 1, INT64_MAX, &a->time_us);
    case MT_ANNOTATION_KEY_COUNT: break;
    }
    return MT_OK;
}

static enum mt_status reduce_annotation(struct mt_machine *m, const mt_word *pairs, size_t n,
                                        mt_word *out)
{
    struct mt_annotation a = {.time_us = MT_NO_TIME};
    for (size_t i = 0; i < n; i++) {
        int key = key_of(&m->schema, MT_RECORD_ANNOTATION, pairs[2 * i], pairs[2 * i + 1]);
        MT_TRY(key >= 0 ? fill_annotation_key(m, &a, key, pairs[2 * i + 1])
                        : keep_extra(m, pairs[2 * i], pairs[2 * i + 1], &a.extra));
    }
    *out = mt_word_make(MT_TAG_ANNOTATION, mt_builder_n_annotations(m->builder));
    return mt_builder_annotation(m->builder, &a) ? MT_OK : mt_fail_nomem(m->err);
}

/* ---- which record ---- */

static enum mt_record classify(const struct mt_schema *s, const mt_word *pairs, size_t n)
{
    if (pairs[0] == mt_word_make(MT_TAG_STR, s->action_key)) {
        return MT_RECORD_EVENT; /* every writer puts it first */
    }
    unsigned marks = 0;
    bool stage = false;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = mt_word_payload(pairs[2 * i]);
        if (mt_word_tag(pairs[2 * i]) == MT_TAG_STR && id < s->n_known) {
            marks |= s->known[id].mark;
            stage |= s->known[id].key[MT_RECORD_ANNOTATION] == MT_ANNOTATION_KEY_stage;
        }
    }
    for (size_t i = 0; i < MT_COUNT(SHAPES); i++) {
        if ((marks & SHAPES[i].marks) == SHAPES[i].marks) {
            return (enum mt_record)SHAPES[i].record;
        }
    }
    return stage && (marks & MARK_NAME) ? MT_RECORD_ANNOTATION : MT_RECORD_COUNT;
}

enum mt_status mt_schema_reduce(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
{
    static enum mt_status (*const reduce[])(struct mt_machine *, const mt_word *, size_t,
                                            mt_word *) = {
        [MT_RECORD_EVENT] = reduce_event, [MT_RECORD_SEGMENT] = reduce_segment,
        [MT_RECORD_BLOCK] = reduce_block, [MT_RECORD_HISTORY] = reduce_history,
        [MT_RECORD_FRAME] = reduce_frame, [MT_RECORD_ANNOTATION] = reduce_annotation,
    };
    static const char *const names[] = {"event",   "segment", "block",
                                        "history", "frame",   "annotation"};
    *out = 0;
    if (n == 0) {
        return MT_OK;
    }
    enum mt_record record = classify(&m->schema, pairs, n);
    if (record == MT_RECORD_COUNT) {
        return MT_OK;
    }
    enum mt_status status = reduce[record](m, pairs, n, out);
    return MT_LIKELY(status == MT_OK) ? MT_OK : mt_error_prefix(m->err, "%s", names[record]);
}

/* ---- the top ---- */

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
    MT_TRY(get_range(m, key, w, MT_TAG_SEGMENT, "a list of segments", &first, &n));
    return add_segments(m, first, n, host);
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
        return wrong_type(m, key, "a list of traces", w);
    }
    for (uint32_t i = 0; i < list.n; i++) {
        struct mt_value trace = mt_builder_get_value(m->builder, list.u.id + i);
        bool events = trace.kind == MT_VALUE_EVENTS && !trace.single;
        if (!events && !(trace.kind == MT_VALUE_LIST && trace.n == 0)) {
            return mt_fail(m->err, MT_FORMAT, m->offset, "%s[%" PRIu32 "] is no list of events",
                           key, i);
        }
        if (!mt_builder_trace(m->builder, events ? trace.u.id : 0, trace.n, host)) {
            return mt_fail_nomem(m->err);
        }
    }
    return MT_OK;
}

struct top {
    uint32_t present, settings, own, extra;
};

static enum mt_status top_value(struct mt_machine *m, mt_word w, uint32_t *out)
{
    struct mt_value value;
    MT_TRY(mt_machine_value(m, w, &value));
    *out = mt_builder_values(m->builder, &value, 1);
    return *out ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status top_key(struct mt_machine *m, struct top *top, int key, mt_word w)
{
    uint32_t first;
    uint32_t n;
    top->present |= 1u << key;
    switch ((enum mt_top_key)key) {
    case MT_TOP_KEY_segments: return top_segments(m, "segments", w, false);
    case MT_TOP_KEY_host_segments: return top_segments(m, "host_segments", w, true);
    case MT_TOP_KEY_device_traces: return top_traces(m, "device_traces", w, false);
    case MT_TOP_KEY_host_traces: return top_traces(m, "host_traces", w, true);
    case MT_TOP_KEY_allocator_settings: return top_value(m, w, &top->settings);
    case MT_TOP_KEY_memtool: return top_value(m, w, &top->own);
    case MT_TOP_KEY_external_annotations:
        return get_range(m, "external_annotations", w, MT_TAG_ANNOTATION, "a list of annotations",
                         &first, &n);
    case MT_TOP_KEY_COUNT: break;
    }
    return MT_OK;
}

enum mt_status mt_schema_top(struct mt_machine *m, const mt_word *pairs, size_t n)
{
    struct top top = {0};
    for (size_t i = 0; i < n; i++) {
        int key = key_of(&m->schema, MT_RECORD_TOP, pairs[2 * i], pairs[2 * i + 1]);
        MT_TRY(key >= 0 ? top_key(m, &top, key, pairs[2 * i + 1])
                        : keep_extra(m, pairs[2 * i], pairs[2 * i + 1], &top.extra));
    }
    if (!(top.present & (1u << MT_TOP_KEY_segments | 1u << MT_TOP_KEY_device_traces))) {
        return mt_fail(m->err, MT_FORMAT, m->offset,
                       "not a memory snapshot (a dictionary without 'segments')");
    }
    mt_builder_top(m->builder, top.present, top.settings, top.extra);
    mt_builder_own(m->builder, top.own);
    return MT_OK;
}

enum mt_status mt_schema_top_list(struct mt_machine *m, uint32_t first, uint32_t n)
{
    m->bare_list = true;
    mt_builder_top(m->builder, 1u << MT_TOP_KEY_segments, 0, 0);
    return add_segments(m, first, n, false);
}
