/* SPDX-License-Identifier: MIT */
/*
 * Containers and what they become. What a container's children are worth is settled when they are
 * put in: a dictionary that turns out to be a record becomes one, any other container is sealed. So
 * a container's words never point to something that can still change, cycles are an error, and
 * turning a container into values needs no recursion.
 */
#include <inttypes.h>
#include <string.h>

#include "snapshot/schema/machine.h"

/* ---- containers ---- */

/*
 * A list or dictionary that becomes records or a stack is used again at once; what remains are a
 * list for each segment and each block's history, for which a file has 100 bytes and more, and what
 * no PyTorch wrote. Such a one takes 200 bytes of memory, and two of the file.
 */
static enum mt_status allow_container(const struct mt_machine *m)
{
    enum { BYTES_PER_CONTAINER = 64 };
    return mt_machine_allow(m, m->containers.n, BYTES_PER_CONTAINER,
                            "lists and dictionaries that are no records");
}

/* An item is a word here and a value of 16 bytes once the container is sealed. */
static enum mt_status allow_items(const struct mt_machine *m, size_t more)
{
    enum { BYTES_PER_ITEM = 32 };
    return mt_machine_allow(m, m->n_items + more - 1, BYTES_PER_ITEM,
                            "items of lists and dictionaries that are no records");
}

enum mt_status mt_container_new(struct mt_machine *m, enum mt_container_kind kind, uint32_t memo,
                                mt_word *w)
{
    uint32_t index;
    if (m->free_containers.n) {
        index = m->free_containers.v[--m->free_containers.n];
    } else {
        MT_TRY(allow_container(m));
        if (m->containers.n >= UINT32_MAX ||
            !mt_vec_push(&m->containers, (struct mt_container){0})) {
            return mt_fail_nomem(m->err);
        }
        index = (uint32_t)(m->containers.n - 1);
    }
    struct mt_container *c = &m->containers.v[index];
    mt_word *room = c->items.v; /* a recycled one keeps its memory */
    size_t cap = c->items.cap;
    *c =
        (struct mt_container){.kind = (uint8_t)kind, .memo = memo, .pinned = memo != 0, .depth = 1};
    c->items.v = room;
    c->items.cap = cap;
    *w = mt_word_make(MT_TAG_CONTAINER, index);
    return mt_machine_remember(m, memo, *w);
}

/* Gives a container back for reuse, unless the memo may still name it. */
static void recycle(struct mt_machine *m, mt_word w)
{
    struct mt_container *c = mt_container_of(m, w);
    if (!c->pinned && mt_vec_push(&m->free_containers, (uint32_t)mt_word_payload(w))) {
        m->n_items -= c->items.n;
        c->items.n = 0;
    }
}

static void deepen(struct mt_machine *m, struct mt_container *c, mt_word child)
{
    if (mt_word_tag(child) == MT_TAG_CONTAINER) {
        uint32_t depth = mt_container_of(m, child)->depth + 1;
        c->depth = depth > c->depth ? depth : c->depth;
    }
}

enum mt_status mt_container_add(struct mt_machine *m, mt_word w, size_t from, size_t n)
{
    struct mt_container *c = mt_container_of(m, w);
    if (n == 0) {
        return MT_OK;
    }
    MT_TRY(allow_items(m, n));
    if (!mt_vec_reserve(&c->items, c->items.n + n)) {
        return mt_fail_nomem(m->err);
    }
    m->n_items += n;
    memcpy(c->items.v + c->items.n, m->stack.v + from, n * sizeof(mt_word));
    c->items.n += n;
    for (size_t i = 0; i < n; i++) {
        deepen(m, c, m->stack.v[from + i]);
    }
    return MT_OK;
}

static enum mt_status seal(struct mt_machine *m, mt_word w);

/* A dictionary that was filled key by key may be a record. */
static enum mt_status reduce_container(struct mt_machine *m, mt_word *w)
{
    struct mt_container *c = mt_container_of(m, *w);
    mt_word record;
    enum mt_status status = mt_schema_reduce(m, c->items.v, c->items.n / 2, &record);
    c = mt_container_of(m, *w); /* the schema may have moved the containers */
    if (status != MT_OK) {
        c->items.n = 0; /* a half made record has taken what they name */
        return status;
    }
    if (record) {
        MT_TRY(mt_machine_remember(m, c->memo, record));
        recycle(m, *w);
        *w = record;
    }
    return MT_OK;
}

enum mt_status mt_container_settle(struct mt_machine *m, mt_word *w)
{
    if (MT_LIKELY(mt_word_tag(*w) != MT_TAG_CONTAINER)) {
        return MT_OK;
    }
    struct mt_container *c = mt_container_of(m, *w);
    if (c->kind == MT_CONTAINER_DICT && !c->sealed) {
        MT_TRY(reduce_container(m, w));
        if (mt_word_tag(*w) != MT_TAG_CONTAINER) {
            return MT_OK;
        }
    }
    return seal(m, *w);
}

static bool all_frames(const struct mt_container *c)
{
    for (size_t i = 0; i < c->items.n; i++) {
        if (mt_word_tag(c->items.v[i]) != MT_TAG_FRAME) {
            return false;
        }
    }
    return c->items.n > 0;
}

static enum mt_status intern_stack(struct mt_machine *m, struct mt_container *c)
{
    if (!mt_vec_reserve(&m->frame_ids, c->items.n)) {
        return mt_fail_nomem(m->err);
    }
    for (size_t i = 0; i < c->items.n; i++) {
        m->frame_ids.v[i] = (uint32_t)mt_word_payload(c->items.v[i]);
    }
    c->stack = mt_builder_stack(m->builder, m->frame_ids.v, c->items.n);
    return c->stack ? MT_OK : mt_fail_nomem(m->err);
}

/* Segments have indexes of their own, since the top alone tells where they belong. */
static enum mt_value_kind record_kind(struct mt_machine *m, enum mt_tag record)
{
    m->schema.strays |= record == MT_TAG_SEGMENT;
    switch (record) {
    case MT_TAG_EVENT: return MT_VALUE_EVENTS;
    case MT_TAG_SEGMENT: return MT_VALUE_SEGMENTS;
    case MT_TAG_BLOCK: return MT_VALUE_BLOCKS;
    case MT_TAG_HISTORY: return MT_VALUE_HISTORY;
    default: return MT_VALUE_ANNOTATIONS;
    }
}

/* The children of a container as one run of values. */
static enum mt_status seal_items(struct mt_machine *m, struct mt_container *c)
{
    static const uint8_t kinds[] = {MT_VALUE_LIST, MT_VALUE_TUPLE, MT_VALUE_DICT};
    MT_VEC(struct mt_value) values = {0};
    if (!mt_vec_reserve(&values, c->items.n)) {
        return mt_fail_nomem(m->err);
    }
    enum mt_status status = MT_OK;
    for (size_t i = 0; i < c->items.n && status == MT_OK; i++) {
        status = mt_machine_value(m, c->items.v[i], &values.v[i]);
    }
    uint32_t first = 0;
    if (status == MT_OK) {
        first = mt_builder_values(m->builder, values.v, c->items.n);
        status = first ? MT_OK : mt_fail_nomem(m->err);
    }
    mt_vec_release(&values);
    size_t n = c->kind == MT_CONTAINER_DICT ? c->items.n / 2 : c->items.n;
    c->value = (struct mt_value){.kind = kinds[c->kind], .n = (uint32_t)n, .u.id = first};
    return status;
}

/* Makes a container final. Its children are sealed already. */
static enum mt_status seal(struct mt_machine *m, mt_word w)
{
    struct mt_container *c = mt_container_of(m, w);
    if (c->sealed) {
        return MT_OK;
    }
    if (c->depth > m->max_depth) {
        return mt_fail(m->err, MT_LIMIT, m->offset, "nested deeper than %" PRIu32 " levels",
                       m->max_depth);
    }
    c->sealed = true;
    if (c->kind == MT_CONTAINER_RANGE) {
        c->value = (struct mt_value){
            .kind = (uint8_t)record_kind(m, c->record), .n = c->n, .u.id = c->first};
        return MT_OK;
    }
    if (c->kind == MT_CONTAINER_LIST && all_frames(c)) {
        MT_TRY(intern_stack(m, c));
        c->value = (struct mt_value){.kind = MT_VALUE_STACK, .u.id = c->stack};
        return MT_OK;
    }
    return seal_items(m, c);
}

/* ---- for the schema ---- */

bool mt_machine_integer(const struct mt_machine *m, mt_word w, uint64_t *magnitude, bool *negative)
{
    if (MT_LIKELY(mt_word_tag(w) == MT_TAG_INT)) {
        int64_t i = mt_word_int(w);
        *negative = i < 0;
        *magnitude = i < 0 ? (uint64_t)-i : (uint64_t)i;
        return true;
    }
    if (mt_word_tag(w) == MT_TAG_WIDE) {
        *negative = mt_word_payload(w) & 1;
        *magnitude = m->wides.v[mt_word_payload(w) >> 1];
        return true;
    }
    return false;
}

/* Whatever the memo calls the list becomes the stack's id, so that the container is free again: a
 * trace may hold a list of its own for every event. */
static enum mt_status take_frames(struct mt_machine *m, mt_word w)
{
    struct mt_container *c = mt_container_of(m, w);
    MT_TRY(intern_stack(m, c));
    MT_TRY(mt_machine_remember(m, c->memo, mt_word_make(MT_TAG_STACK, c->stack)));
    c->pinned = c->duplicated;
    return MT_OK;
}

enum mt_status mt_machine_take_stack(struct mt_machine *m, mt_word w, uint32_t *stack)
{
    enum mt_tag tag = mt_word_tag(w);
    *stack = 0;
    if (tag == MT_TAG_STACK || tag == MT_TAG_FRESH_LIST) {
        *stack = tag == MT_TAG_STACK ? (uint32_t)mt_word_payload(w) : m->schema.empty_stack;
        return MT_OK;
    }
    if (tag != MT_TAG_CONTAINER) {
        return MT_OK;
    }
    struct mt_container *c = mt_container_of(m, w);
    if (c->stack == 0 && !c->sealed && c->kind == MT_CONTAINER_LIST && all_frames(c)) {
        MT_TRY(take_frames(m, w));
    }
    *stack = c->stack;
    if (c->stack) {
        recycle(m, w);
    }
    return MT_OK;
}

bool mt_machine_pair(const struct mt_machine *m, mt_word w, struct mt_pool_id *pair)
{
    if (mt_word_tag(w) != MT_TAG_CONTAINER) {
        return false;
    }
    const struct mt_container *c = mt_container_of(m, w);
    if ((c->kind != MT_CONTAINER_TUPLE && c->kind != MT_CONTAINER_LIST) || c->items.n != 2 ||
        mt_word_tag(c->items.v[0]) != MT_TAG_INT || mt_word_tag(c->items.v[1]) != MT_TAG_INT) {
        return false;
    }
    *pair = (struct mt_pool_id){mt_word_int(c->items.v[0]), mt_word_int(c->items.v[1])};
    return true;
}

bool mt_machine_range(const struct mt_machine *m, mt_word w, enum mt_tag record, uint32_t *first,
                      uint32_t *n)
{
    *first = *n = 0;
    if (mt_word_tag(w) == MT_TAG_FRESH_LIST) {
        return true;
    }
    if (mt_word_tag(w) != MT_TAG_CONTAINER) {
        return false;
    }
    const struct mt_container *c = mt_container_of(m, w);
    if (c->kind != MT_CONTAINER_RANGE || c->record != record) {
        return false;
    }
    *first = c->first;
    *n = c->n;
    return true;
}

static struct mt_value integer_value(struct mt_machine *m, mt_word w)
{
    uint64_t magnitude;
    bool negative;
    mt_machine_integer(m, w, &magnitude, &negative);
    if (magnitude <= (uint64_t)INT64_MAX) {
        int64_t i = negative ? -(int64_t)magnitude : (int64_t)magnitude;
        return (struct mt_value){.kind = MT_VALUE_INT, .u.i = i};
    }
    struct mt_buf digits = {0};
    mt_buf_printf(&digits, "%s%" PRIu64, negative ? "-" : "", magnitude);
    struct mt_str s = mt_buf_view(&digits);
    uint32_t id = digits.failed ? 0 : mt_builder_str(m->builder, s.p, s.n);
    mt_buf_release(&digits);
    return (struct mt_value){.kind = MT_VALUE_BIG, .u.id = id};
}

static enum mt_status container_value(struct mt_machine *m, mt_word w, struct mt_value *value)
{
    MT_TRY(mt_container_settle(m, &w));
    if (mt_word_tag(w) != MT_TAG_CONTAINER) {
        return mt_machine_value(m, w, value); /* it turned out to be a record */
    }
    *value = mt_container_of(m, w)->value;
    recycle(m, w);
    return MT_OK;
}

enum mt_status mt_machine_value(struct mt_machine *m, mt_word w, struct mt_value *value)
{
    uint32_t id = (uint32_t)mt_word_payload(w);
    enum mt_tag tag = mt_word_tag(w);
    switch (tag) {
    case MT_TAG_INT:
    case MT_TAG_WIDE:
        *value = integer_value(m, w);
        return value->kind == MT_VALUE_BIG && !value->u.id ? mt_fail_nomem(m->err) : MT_OK;
    case MT_TAG_RAW:
        *value = (struct mt_value){.kind = id & 1 ? MT_VALUE_BYTES : MT_VALUE_BIG,
                                   .u.id = (uint32_t)(mt_word_payload(w) >> 1)};
        return MT_OK;
    case MT_TAG_FLOAT:
        *value = (struct mt_value){.kind = MT_VALUE_FLOAT, .u.f = m->floats.v[id]};
        return MT_OK;
    case MT_TAG_STR: *value = (struct mt_value){.kind = MT_VALUE_STR, .u.id = id}; return MT_OK;
    case MT_TAG_STACK: *value = (struct mt_value){.kind = MT_VALUE_STACK, .u.id = id}; return MT_OK;
    case MT_TAG_CONST:
        *value = id == MT_CONST_NONE
                     ? (struct mt_value){.kind = MT_VALUE_NONE}
                     : (struct mt_value){.kind = MT_VALUE_BOOL, .u.i = id == MT_CONST_TRUE};
        return MT_OK;
    case MT_TAG_FRESH_DICT: *value = (struct mt_value){.kind = MT_VALUE_DICT}; return MT_OK;
    case MT_TAG_FRESH_LIST: *value = (struct mt_value){.kind = MT_VALUE_LIST}; return MT_OK;
    case MT_TAG_FRAME: *value = (struct mt_value){.kind = MT_VALUE_FRAME, .u.id = id}; return MT_OK;
    case MT_TAG_CONTAINER: return container_value(m, w, value);
    default:
        *value = (struct mt_value){
            .kind = (uint8_t)record_kind(m, tag), .single = true, .n = 1, .u.id = id};
        return MT_OK;
    }
}

const char *mt_machine_describe(const struct mt_machine *m, mt_word w)
{
    static const char *const names[] = {
        "an integer",    "an integer",       "bytes or a huge integer", "a number",
        "a string",      "a list of frames", "None, true or false",     "an empty dictionary",
        "an empty list", "a container",      "a trace event",           "a segment",
        "a block",       "a history entry",  "an annotation",           "a frame"};
    static const char *const containers[] = {"a list of other things", "a tuple", "a dictionary",
                                             "a list of records"};
    if (mt_word_tag(w) == MT_TAG_CONTAINER) {
        return containers[mt_container_of(m, w)->kind];
    }
    return names[mt_word_tag(w)];
}
