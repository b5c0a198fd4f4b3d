/* SPDX-License-Identifier: MIT */
/*
 * Words to typed values. A key whose value is None, and every key that is not known, goes to the
 * record's list of extras, for `convert`. A known key with a value of the wrong type is an error
 * that names both.
 */
#include "snapshot/schema/fields.h"

#include <inttypes.h>

enum mt_status mt_field_wrong_type(struct mt_machine *m, const char *key, const char *expected,
                                   mt_word w)
{
    return mt_fail(m->err, MT_FORMAT, m->offset, "%s: expected %s, found %s", key, expected,
                   mt_machine_describe(m, w));
}

enum mt_status mt_field_size(struct mt_machine *m, const char *key, mt_word w, uint64_t *out)
{
    bool negative;
    if (!mt_machine_integer(m, w, out, &negative)) {
        return mt_field_wrong_type(m, key, "an integer", w);
    }
    if (negative) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "%s: -%" PRIu64 " is negative", key, *out);
    }
    return MT_OK;
}

enum mt_status mt_field_addr(struct mt_machine *m, const char *key, mt_word w, uint64_t *out,
                             bool *negative)
{
    if (!mt_machine_integer(m, w, out, negative)) {
        return mt_field_wrong_type(m, key, "an integer", w);
    }
    if (*negative) {
        *out = UINT64_C(0) - *out;
    }
    return MT_OK;
}

enum mt_status mt_field_i64(struct mt_machine *m, const char *key, mt_word w, int64_t min,
                            int64_t max, int64_t *out)
{
    uint64_t magnitude;
    bool negative;
    if (!mt_machine_integer(m, w, &magnitude, &negative)) {
        return mt_field_wrong_type(m, key, "an integer", w);
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

enum mt_status mt_field_i32(struct mt_machine *m, const char *key, mt_word w, int32_t *out)
{
    int64_t wide = 0;
    MT_TRY(mt_field_i64(m, key, w, INT32_MIN, INT32_MAX, &wide));
    *out = (int32_t)wide;
    return MT_OK;
}

enum mt_status mt_field_str(struct mt_machine *m, const char *key, mt_word w, uint32_t *id)
{
    if (mt_word_tag(w) != MT_TAG_STR) {
        return mt_field_wrong_type(m, key, "a string", w);
    }
    *id = (uint32_t)mt_word_payload(w);
    return MT_OK;
}

enum mt_status mt_field_bool(struct mt_machine *m, const char *key, mt_word w, bool *out)
{
    if (w == mt_word_make(MT_TAG_CONST, MT_CONST_TRUE) || w == mt_word_from_int(1)) {
        *out = true;
    } else if (w == mt_word_make(MT_TAG_CONST, MT_CONST_FALSE) || w == mt_word_from_int(0)) {
        *out = false;
    } else {
        return mt_field_wrong_type(m, key, "true or false", w);
    }
    return MT_OK;
}

enum mt_status mt_field_stack(struct mt_machine *m, mt_word w, uint32_t *stack)
{
    MT_TRY(mt_machine_take_stack(m, w, stack));
    return *stack ? MT_OK : mt_field_wrong_type(m, "frames", "a list of frames", w);
}

enum mt_status mt_field_pair(struct mt_machine *m, const char *key, mt_word w,
                             struct mt_pool_id *pair)
{
    return mt_machine_pair(m, w, pair) ? MT_OK
                                       : mt_field_wrong_type(m, key, "a pair of integers", w);
}

enum mt_status mt_field_range(struct mt_machine *m, const char *key, mt_word w, enum mt_tag record,
                              const char *expected, uint32_t *first, uint32_t *n)
{
    return mt_machine_range(m, w, record, first, n) ? MT_OK
                                                    : mt_field_wrong_type(m, key, expected, w);
}

enum mt_status mt_field_stream(struct mt_machine *m, mt_word w, uint16_t *out)
{
    struct mt_schema *s = &m->schema;
    uint64_t handle = 0;
    bool negative = false;
    MT_TRY(mt_field_addr(m, "stream", w, &handle, &negative));
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

enum mt_status mt_field_keep(struct mt_machine *m, mt_word key, mt_word w, uint32_t *head)
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

enum mt_status mt_fields_put(struct mt_machine *m, enum mt_record record, const mt_word *pairs,
                             size_t n, mt_field_put *put, void *into, uint32_t *extra)
{
    for (size_t i = 0; i < n; i++) {
        mt_word value = pairs[2 * i + 1];
        int key = mt_schema_key(&m->schema, record, pairs[2 * i], value);
        MT_TRY(key >= 0 ? put(m, into, key, value) : mt_field_keep(m, pairs[2 * i], value, extra));
    }
    return MT_OK;
}
