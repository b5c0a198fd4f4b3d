/* SPDX-License-Identifier: MIT */
/*
 * Words to typed values. A key whose value is None, every key that is not known, and what a known
 * key cannot hold goes to the record's list of extras, for `convert`. Where sizes and addresses are
 * made of it a value of the wrong type is an error that names both.
 */
#include "snapshot/schema/fields.h"

#include <inttypes.h>
#include <math.h>

enum mt_status mt_field_wrong_type(struct mt_machine *m, const char *key, const char *expected,
                                   mt_word w)
{
    return mt_fail(m->err, MT_FORMAT, m->offset, "%s: expected %s, found %s", key, expected,
                   mt_machine_describe(m, w));
}

/* Integers, and numbers that other programs wrote with a point where PyTorch has none. */
static bool integer(const struct mt_machine *m, mt_word w, uint64_t *magnitude, bool *negative)
{
    enum { EXACT_BITS = 53 };
    if (MT_LIKELY(mt_word_tag(w) != MT_TAG_FLOAT)) {
        return mt_machine_integer(m, w, magnitude, negative);
    }
    double x = m->floats.v[mt_word_payload(w)];
    if (!(fabs(x) <= ldexp(1, EXACT_BITS)) || floor(x) != x) {
        return false;
    }
    *negative = x < 0;
    *magnitude = (uint64_t)fabs(x);
    return true;
}

enum mt_status mt_field_size(struct mt_machine *m, const char *key, mt_word w, uint64_t *out)
{
    bool negative;
    if (!integer(m, w, out, &negative)) {
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
    if (!integer(m, w, out, negative)) {
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
    if (!integer(m, w, &magnitude, &negative)) {
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

/* ---- records ---- */

/* Keeps a pair in the list of extras; *value is what became of the word. */
static enum mt_status keep(struct mt_machine *m, mt_word key, mt_word w, uint32_t *head,
                           struct mt_value *value)
{
    struct mt_value name;
    MT_TRY(mt_machine_value(m, key, &name));
    MT_TRY(mt_machine_value(m, w, value));
    *head = mt_builder_extra(m->builder, *head, &name, value);
    return *head ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_status keep_unknown(struct mt_machine *m, const struct mt_fields *f, mt_word key,
                                   mt_word w)
{
    struct mt_value value;
    bool known = mt_word_tag(key) == MT_TAG_STR && mt_word_payload(key) < m->schema.n_known &&
                 m->schema.known[mt_word_payload(key)].key[f->record] >= 0;
    mt_builder_count_unknown(m->builder, known ? 0 : 1); /* a known key is None: absent */
    return keep(m, key, w, f->extra, &value);
}

static enum mt_status keep_odd(struct mt_machine *m, struct mt_fields *f, int key, mt_word key_word,
                               mt_word w)
{
    struct mt_value value;
    MT_TRY(keep(m, key_word, w, f->extra, &value));
    f->odd |= 1u << key;
    f->present &= ~(1u << key);
    bool ok = mt_builder_odd(m->builder, mt_record_name(f->record),
                             (uint32_t)mt_word_payload(key_word), &value);
    return ok ? MT_OK : mt_fail_nomem(m->err);
}

/* A value of a known key. */
static enum mt_status put_known(struct mt_machine *m, struct mt_fields *f, int key,
                                mt_word key_word, mt_word w)
{
    struct mt_error *err = m->err, told;
    bool needed = mt_schema_needs(&m->schema, f->record, key_word);
    m->err = needed ? err : &told;
    enum mt_status status = f->put(m, f->into, key, w);
    m->err = err;
    if (MT_LIKELY(status == MT_OK)) {
        f->present |= 1u << key;
        return MT_OK;
    }
    if (!needed && status == MT_FORMAT) {
        return keep_odd(m, f, key, key_word, w);
    }
    if (!needed) {
        *err = told;
    }
    return status;
}

enum mt_status mt_fields_take_back(struct mt_machine *m, struct mt_fields *f, int key,
                                   const mt_word *pair)
{
    f->present &= ~(1u << key);
    return keep_unknown(m, f, pair[0], pair[1]);
}

enum mt_status mt_fields_put(struct mt_machine *m, struct mt_fields *f, const mt_word *pairs,
                             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mt_word value = pairs[2 * i + 1];
        int key = mt_schema_key(&m->schema, f->record, pairs[2 * i], value);
        MT_TRY(MT_LIKELY(key >= 0) ? put_known(m, f, key, pairs[2 * i], value)
                                   : keep_unknown(m, f, pairs[2 * i], value));
    }
    return MT_OK;
}
