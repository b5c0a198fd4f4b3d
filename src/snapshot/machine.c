/* SPDX-License-Identifier: MIT */
/*
 * Stack, marks, memo and containers. The hot way is: push nine pairs, mt_machine_set with `closes`,
 * the schema makes an event of them, one word stays. Everything else (settings, unknown keys, old
 * protocols that fill a dictionary key by key) goes through containers of words.
 *
 * What a container's children are worth is settled when they are put in: a dictionary that turns
 * out to be a record becomes one, any other container is sealed. So a container's words never point
 * to something that can still change, and turning it into values needs no recursion.
 */
#include "machine.h"

#include <inttypes.h>
#include <string.h>

#define FAIL(m, ...) mt_fail((m)->err, MT_FORMAT, (m)->offset, __VA_ARGS__)

enum mt_status mt_machine_init(struct mt_machine *m, struct mt_builder *b, uint32_t max_depth,
                               uint64_t max_events, struct mt_error *err)
{
    *m = (struct mt_machine){
        .builder = b, .err = err, .max_depth = max_depth, .max_events = max_events};
    return mt_schema_init(&m->schema, b, err);
}

void mt_machine_release(struct mt_machine *m)
{
    for (size_t i = 0; i < m->containers.n; i++) {
        mt_vec_release(&m->containers.v[i].items);
    }
    mt_vec_release(&m->containers);
    mt_vec_release(&m->free_containers);
    mt_vec_release(&m->pairs);
    mt_vec_release(&m->stack);
    mt_vec_release(&m->marks);
    mt_vec_release(&m->memo);
    mt_vec_release(&m->wides);
    mt_vec_release(&m->floats);
    mt_schema_release(&m->schema);
}

/* ---- scalars ---- */

static enum mt_status push(struct mt_machine *m, mt_word w)
{
    return MT_LIKELY(mt_machine_push(m, w)) ? MT_OK : mt_fail_nomem(m->err);
}

enum mt_status mt_machine_push_u64(struct mt_machine *m, uint64_t magnitude, bool negative)
{
    if (magnitude <= (uint64_t)MT_WORD_INT_MAX) {
        return push(m, mt_word_from_int(negative ? -(int64_t)magnitude : (int64_t)magnitude));
    }
    if (!mt_vec_push(&m->wides, magnitude)) {
        return mt_fail_nomem(m->err);
    }
    return push(m, mt_word_make(MT_TAG_WIDE, (uint64_t)(m->wides.n - 1) << 1 | negative));
}

enum mt_status mt_machine_push_float(struct mt_machine *m, double x)
{
    if (!mt_vec_push(&m->floats, x)) {
        return mt_fail_nomem(m->err);
    }
    return push(m, mt_word_make(MT_TAG_FLOAT, m->floats.n - 1));
}

enum mt_status mt_machine_push_bytes(struct mt_machine *m, enum mt_tag tag, const void *p, size_t n)
{
    uint32_t id = mt_builder_str(m->builder, p, n);
    return id ? push(m, mt_word_make(tag, id)) : mt_fail_nomem(m->err);
}

/* ---- marks ---- */

enum mt_status mt_machine_mark(struct mt_machine *m)
{
    if (m->marks.n >= m->max_depth) {
        mt_fail(m->err, MT_LIMIT, m->offset, "nested deeper than %" PRIu32 " levels", m->max_depth);
        return mt_hint(m->err,
                       "no snapshot is; raise the limit with --max-depth N if you trust it");
    }
    if (!mt_vec_push(&m->marks, (uint32_t)m->stack.n)) {
        return mt_fail_nomem(m->err);
    }
    m->fence = m->stack.n;
    return MT_OK;
}

enum mt_status mt_machine_pop_mark(struct mt_machine *m, size_t *at)
{
    if (m->marks.n == 0) {
        return FAIL(m, "an opcode needs a mark, and there is none");
    }
    *at = m->marks.v[--m->marks.n];
    m->fence = m->marks.n ? m->marks.v[m->marks.n - 1] : 0;
    return MT_OK;
}

/* ---- containers ---- */

static struct mt_container *container_of(const struct mt_machine *m, mt_word w)
{
    return &m->containers.v[mt_word_payload(w)];
}

static void remember(struct mt_machine *m, uint32_t memo, mt_word w)
{
    if (memo) {
        m->memo.v[memo - 1] = w;
    }
}

/* A new container; `memo` as in mt_container. *w is its word. */
static enum mt_status new_container(struct mt_machine *m, enum mt_container_kind kind,
                                    uint32_t memo, mt_word *w)
{
    uint32_t index;
    if (m->free_containers.n) {
        index = m->free_containers.v[--m->free_containers.n];
    } else {
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
    remember(m, memo, *w);
    return MT_OK;
}

/* Gives a container back for reuse, unless the memo may still name it. */
static void recycle(struct mt_machine *m, mt_word w)
{
    struct mt_container *c = container_of(m, w);
    if (!c->pinned && mt_vec_push(&m->free_containers, (uint32_t)mt_word_payload(w))) {
        c->items.n = 0;
    }
}

static bool is_record(enum mt_tag tag)
{
    return tag >= MT_TAG_EVENT && tag <= MT_TAG_ANNOTATION;
}

static enum mt_status seal(struct mt_machine *m, mt_word w);

/* A dictionary that was filled key by key may be a record. */
static enum mt_status reduce_container(struct mt_machine *m, mt_word *w)
{
    struct mt_container *c = container_of(m, *w);
    mt_word record;
    MT_TRY(mt_schema_reduce(m, c->items.v, c->items.n / 2, &record));
    c = container_of(m, *w); /* the schema may have moved the containers */
    if (record) {
        remember(m, c->memo, record);
        recycle(m, *w);
        *w = record;
    }
    return MT_OK;
}

/* Settles a word that is about to become part of a container. */
static enum mt_status settle(struct mt_machine *m, mt_word *w)
{
    if (MT_LIKELY(mt_word_tag(*w) != MT_TAG_CONTAINER)) {
        return MT_OK;
    }
    struct mt_container *c = container_of(m, *w);
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
    MT_VEC(uint32_t) ids = {0};
    if (!mt_vec_reserve(&ids, c->items.n)) {
        return mt_fail_nomem(m->err);
    }
    for (size_t i = 0; i < c->items.n; i++) {
        ids.v[i] = (uint32_t)mt_word_payload(c->items.v[i]);
    }
    c->stack = mt_builder_stack(m->builder, ids.v, c->items.n);
    mt_vec_release(&ids);
    return c->stack ? MT_OK : mt_fail_nomem(m->err);
}

static enum mt_value_kind range_kind(enum mt_tag record)
{
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
    struct mt_container *c = container_of(m, w);
    if (c->sealed) {
        return MT_OK;
    }
    if (c->depth > m->max_depth) {
        return mt_fail(m->err, MT_LIMIT, m->offset, "nested deeper than %" PRIu32 " levels",
                       m->max_depth);
    }
    c->sealed = true;
    if (c->kind == MT_CONTAINER_RANGE) {
        c->value =
            (struct mt_value){.kind = (uint8_t)range_kind(c->record), .n = c->n, .u.id = c->first};
        return MT_OK;
    }
    if (c->kind == MT_CONTAINER_LIST && all_frames(c)) {
        MT_TRY(intern_stack(m, c));
        c->value = (struct mt_value){.kind = MT_VALUE_STACK, .u.id = c->stack};
        return MT_OK;
    }
    return seal_items(m, c);
}

/* ---- lists ---- */

static enum mt_status start_list(struct mt_machine *m, size_t at, mt_word first_item)
{
    mt_word fresh = m->stack.v[at];
    enum mt_tag tag = mt_word_tag(first_item);
    bool range = is_record(tag);
    mt_word w;
    MT_TRY(new_container(m, range ? MT_CONTAINER_RANGE : MT_CONTAINER_LIST,
                         (uint32_t)mt_word_payload(fresh), &w));
    struct mt_container *c = container_of(m, w);
    c->record = (uint8_t)tag;
    c->first = range ? (uint32_t)mt_word_payload(first_item) : 0;
    m->stack.v[at] = w;
    return MT_OK;
}

static enum mt_status extend_range(struct mt_machine *m, struct mt_container *c,
                                   const mt_word *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_word_tag(items[i]) != c->record) {
            return FAIL(m, "a list of records holds %s", mt_machine_describe(m, items[i]));
        }
        if (mt_word_payload(items[i]) != (uint64_t)c->first + c->n) {
            return FAIL(m, "one record stands in two places of a list; no known writer does that");
        }
        c->n++;
    }
    return MT_OK;
}

static void deepen(struct mt_machine *m, struct mt_container *c, mt_word child)
{
    if (mt_word_tag(child) == MT_TAG_CONTAINER) {
        uint32_t depth = container_of(m, child)->depth + 1;
        c->depth = depth > c->depth ? depth : c->depth;
    }
}

static enum mt_status add_items(struct mt_machine *m, mt_word w, size_t from, size_t n)
{
    struct mt_container *c = container_of(m, w);
    if (!mt_vec_reserve(&c->items, c->items.n + n)) {
        return mt_fail_nomem(m->err);
    }
    memcpy(c->items.v + c->items.n, m->stack.v + from, n * sizeof(mt_word));
    c->items.n += n;
    for (size_t i = 0; i < n; i++) {
        deepen(m, c, m->stack.v[from + i]);
    }
    return MT_OK;
}

enum mt_status mt_machine_append(struct mt_machine *m, size_t from)
{
    if (from == 0 || from < m->fence + 1) {
        return FAIL(m, "an item is appended, and there is no list");
    }
    size_t n = m->stack.n - from;
    for (size_t i = from; i < m->stack.n; i++) {
        MT_TRY(settle(m, &m->stack.v[i]));
    }
    enum mt_tag tag = mt_word_tag(m->stack.v[from - 1]);
    if (tag == MT_TAG_FRESH_LIST && n) {
        MT_TRY(start_list(m, from - 1, m->stack.v[from]));
    } else if (tag != MT_TAG_CONTAINER && tag != MT_TAG_FRESH_LIST) {
        return FAIL(m, "an item is appended to %s", mt_machine_describe(m, m->stack.v[from - 1]));
    }
    if (n) {
        struct mt_container *c = container_of(m, m->stack.v[from - 1]);
        if (c->sealed || (c->kind != MT_CONTAINER_RANGE && c->kind != MT_CONTAINER_LIST)) {
            return FAIL(m, "an item is appended to a finished %s",
                        c->kind == MT_CONTAINER_DICT ? "dictionary" : "list");
        }
        MT_TRY(c->kind == MT_CONTAINER_RANGE ? extend_range(m, c, m->stack.v + from, n)
                                             : add_items(m, m->stack.v[from - 1], from, n));
    }
    m->stack.n = from;
    return MT_OK;
}

/* ---- dictionaries ---- */

static enum mt_status set_in_container(struct mt_machine *m, size_t from)
{
    for (size_t i = from; i < m->stack.n; i++) {
        MT_TRY(settle(m, &m->stack.v[i]));
    }
    mt_word w = m->stack.v[from - 1];
    if (mt_word_tag(w) == MT_TAG_FRESH_DICT) {
        MT_TRY(new_container(m, MT_CONTAINER_DICT, (uint32_t)mt_word_payload(w), &w));
        m->stack.v[from - 1] = w;
    }
    if (container_of(m, w)->sealed || container_of(m, w)->kind != MT_CONTAINER_DICT) {
        return FAIL(m, "a key is set in a finished %s",
                    container_of(m, w)->kind == MT_CONTAINER_DICT ? "dictionary" : "list");
    }
    return add_items(m, w, from, m->stack.n - from);
}

enum mt_status mt_machine_set(struct mt_machine *m, size_t from, bool closes)
{
    if (from == 0 || from < m->fence + 1 || (m->stack.n - from) % 2) {
        return FAIL(m, "a key is set, and there is no dictionary or no value");
    }
    size_t n = (m->stack.n - from) / 2;
    mt_word dict = m->stack.v[from - 1];
    enum mt_tag tag = mt_word_tag(dict);
    if (tag == MT_TAG_FRESH_DICT && closes && n) {
        mt_word record;
        MT_TRY(mt_schema_reduce(m, m->stack.v + from, n, &record));
        if (MT_LIKELY(record != 0)) {
            remember(m, (uint32_t)mt_word_payload(dict), record);
            m->stack.v[from - 1] = record;
            m->stack.n = from;
            return MT_OK;
        }
    } else if (tag != MT_TAG_FRESH_DICT && tag != MT_TAG_CONTAINER) {
        return FAIL(m, "a key is set in %s", mt_machine_describe(m, dict));
    }
    if (n) {
        MT_TRY(set_in_container(m, from));
    }
    m->stack.n = from;
    return MT_OK;
}

/* ---- tuples ---- */

/* Pools are written as pairs of small numbers, one tuple an event: equal pairs share a container.
 */
static enum mt_status shared_pair(struct mt_machine *m, size_t from, mt_word *w)
{
    const mt_word *items = m->stack.v + from;
    struct mt_pool_id id = {mt_word_int(items[0]), mt_word_int(items[1])};
    size_t pool = mt_builder_pool(m->builder, id);
    if (pool == SIZE_MAX) {
        return mt_fail(m->err, MT_LIMIT, m->offset, "more than 65,535 different pools");
    }
    while (m->pairs.n <= pool) {
        if (!mt_vec_push(&m->pairs, 0)) {
            return mt_fail_nomem(m->err);
        }
    }
    if (m->pairs.v[pool] == 0) {
        MT_TRY(new_container(m, MT_CONTAINER_TUPLE, 0, w));
        container_of(m, *w)->pinned = true;
        MT_TRY(add_items(m, *w, from, 2));
        m->pairs.v[pool] = (uint32_t)mt_word_payload(*w) + 1;
    }
    *w = mt_word_make(MT_TAG_CONTAINER, m->pairs.v[pool] - 1);
    return MT_OK;
}

enum mt_status mt_machine_tuple(struct mt_machine *m, size_t from)
{
    if (from < m->fence || from > m->stack.n) {
        return FAIL(m, "a tuple needs more values than there are");
    }
    mt_word w = 0;
    size_t n = m->stack.n - from;
    if (n == 2 && mt_word_tag(m->stack.v[from]) == MT_TAG_INT &&
        mt_word_tag(m->stack.v[from + 1]) == MT_TAG_INT) {
        MT_TRY(shared_pair(m, from, &w));
    } else {
        for (size_t i = from; i < m->stack.n; i++) {
            MT_TRY(settle(m, &m->stack.v[i]));
        }
        MT_TRY(new_container(m, MT_CONTAINER_TUPLE, 0, &w));
        MT_TRY(add_items(m, w, from, n));
    }
    m->stack.n = from;
    return push(m, w);
}

enum mt_status mt_machine_identity(struct mt_machine *m)
{
    mt_word identity = mt_word_make(MT_TAG_CONST, MT_CONST_IDENTITY);
    size_t n = m->stack.n;
    bool ok = n >= m->fence + 2 && m->stack.v[n - 2] == identity &&
              mt_word_tag(m->stack.v[n - 1]) == MT_TAG_CONTAINER;
    const struct mt_container *args = ok ? container_of(m, m->stack.v[n - 1]) : NULL;
    if (!args || args->kind != MT_CONTAINER_TUPLE || args->items.n == 0) {
        return FAIL(m, "REDUCE would call something; a snapshot holds data only");
    }
    m->stack.v[n - 2] = args->items.v[0];
    m->stack.n--;
    return MT_OK;
}

/* ---- stack and memo ---- */

enum mt_status mt_machine_pop(struct mt_machine *m)
{
    if (m->stack.n <= m->fence) {
        return FAIL(m, "POP with nothing to pop");
    }
    m->stack.n--;
    return MT_OK;
}

/* The top word is about to have a second name. */
static enum mt_status top_word(struct mt_machine *m, mt_word *w)
{
    if (m->stack.n <= m->fence) {
        return FAIL(m, "an opcode needs a value, and there is none");
    }
    *w = m->stack.v[m->stack.n - 1];
    if (mt_word_tag(*w) == MT_TAG_CONTAINER) {
        container_of(m, *w)->pinned = true;
    }
    return MT_OK;
}

enum mt_status mt_machine_dup(struct mt_machine *m)
{
    mt_word w = 0;
    MT_TRY(top_word(m, &w));
    return push(m, w);
}

enum mt_status mt_machine_put(struct mt_machine *m, uint64_t index)
{
    mt_word w = 0;
    MT_TRY(top_word(m, &w));
    if (index > m->offset || index >= UINT32_MAX) {
        return FAIL(m, "memo index %" PRIu64 " is larger than the bytes before it", index);
    }
    if (index >= m->memo.n) {
        if (!mt_vec_reserve(&m->memo, (size_t)index + 1)) {
            return mt_fail_nomem(m->err);
        }
        memset(m->memo.v + m->memo.n, 0xff, ((size_t)index + 1 - m->memo.n) * sizeof(mt_word));
        m->memo.n = (size_t)index + 1;
    }
    enum mt_tag tag = mt_word_tag(w);
    if (tag == MT_TAG_FRESH_DICT || tag == MT_TAG_FRESH_LIST) {
        w = mt_word_make(tag, index + 1);
        m->stack.v[m->stack.n - 1] = w;
    } else if (tag == MT_TAG_CONTAINER) {
        container_of(m, w)->memo = (uint32_t)index + 1;
    }
    m->memo.v[index] = w;
    return MT_OK;
}

enum mt_status mt_machine_get(struct mt_machine *m, uint64_t index)
{
    if (index >= m->memo.n || m->memo.v[index] == UINT64_MAX) {
        return FAIL(m, "memo index %" PRIu64 " was never stored", index);
    }
    return push(m, m->memo.v[index]);
}

/* ---- ending ---- */

static bool is_list(const struct mt_machine *m, mt_word w)
{
    if (mt_word_tag(w) == MT_TAG_FRESH_LIST) {
        return true;
    }
    return mt_word_tag(w) == MT_TAG_CONTAINER && container_of(m, w)->kind != MT_CONTAINER_DICT &&
           !container_of(m, w)->sealed;
}

/* Python writes a list of one item without a mark: what stands behind an open list at an even place
 * was about to be appended to it. */
static void fold_open_lists(struct mt_machine *m, size_t at)
{
    while (m->stack.n >= at + 3 && (m->stack.n - at) % 2 == 1 &&
           is_list(m, m->stack.v[m->stack.n - 2]) && is_list(m, m->stack.v[m->stack.n - 1])) {
        if (mt_machine_append(m, m->stack.n - 1) != MT_OK) {
            return;
        }
    }
}

/* Closes the container under the last mark with what it has; a record that is not whole goes. */
static enum mt_status close_one(struct mt_machine *m)
{
    size_t at;
    MT_TRY(mt_machine_pop_mark(m, &at));
    if (at == 0 || at > m->stack.n) {
        m->stack.n = at < m->stack.n ? at : m->stack.n;
        return MT_OK;
    }
    mt_word below = m->stack.v[at - 1];
    enum mt_tag tag = mt_word_tag(below);
    bool dict = tag == MT_TAG_FRESH_DICT ||
                (tag == MT_TAG_CONTAINER && container_of(m, below)->kind == MT_CONTAINER_DICT);
    if (!dict) {
        return mt_machine_append(m, at);
    }
    fold_open_lists(m, at);
    m->stack.n -= (m->stack.n - at) % 2;
    if (at > 1) { /* only the top dictionary is worth something in pieces */
        m->stack.n = at - 1;
        return MT_OK;
    }
    return mt_machine_set(m, at, false);
}

enum mt_status mt_machine_close_all(struct mt_machine *m)
{
    while (m->marks.n) {
        size_t at = m->marks.v[m->marks.n - 1];
        if (close_one(m) != MT_OK) {
            if (m->err->code == MT_NOMEM) {
                return m->err->code;
            }
            m->stack.n = at ? at - 1 : 0; /* what cannot be closed is not whole */
        }
    }
    return MT_OK;
}

enum mt_status mt_machine_finish(struct mt_machine *m)
{
    if (m->stack.n == 0) {
        return FAIL(m, "not a memory snapshot (no value in it)");
    }
    mt_word w = m->stack.v[0];
    enum mt_tag tag = mt_word_tag(w);
    if (tag == MT_TAG_FRESH_LIST) {
        return mt_schema_top_list(m, 0, 0);
    }
    if (tag == MT_TAG_CONTAINER) {
        const struct mt_container *c = container_of(m, w);
        if (c->kind == MT_CONTAINER_DICT) {
            return mt_schema_top(m, c->items.v, c->items.n / 2);
        }
        if (c->kind == MT_CONTAINER_RANGE && c->record == MT_TAG_SEGMENT) {
            return mt_schema_top_list(m, c->first, c->n);
        }
    }
    return FAIL(m, "not a memory snapshot (%s at the top)", mt_machine_describe(m, w));
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

enum mt_status mt_machine_take_stack(struct mt_machine *m, mt_word w, uint32_t *stack)
{
    *stack = 0;
    if (mt_word_tag(w) == MT_TAG_FRESH_LIST) {
        *stack = m->schema.empty_stack;
        return MT_OK;
    }
    if (mt_word_tag(w) != MT_TAG_CONTAINER) {
        return MT_OK;
    }
    struct mt_container *c = container_of(m, w);
    if (c->stack == 0 && !c->sealed && c->kind == MT_CONTAINER_LIST && all_frames(c)) {
        MT_TRY(intern_stack(m, c));
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
    const struct mt_container *c = container_of(m, w);
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
    const struct mt_container *c = container_of(m, w);
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
    MT_TRY(settle(m, &w));
    if (mt_word_tag(w) != MT_TAG_CONTAINER) {
        return mt_machine_value(m, w, value); /* it turned out to be a record */
    }
    *value = container_of(m, w)->value;
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
    case MT_TAG_BIG: *value = (struct mt_value){.kind = MT_VALUE_BIG, .u.id = id}; return MT_OK;
    case MT_TAG_FLOAT:
        *value = (struct mt_value){.kind = MT_VALUE_FLOAT, .u.f = m->floats.v[id]};
        return MT_OK;
    case MT_TAG_STR: *value = (struct mt_value){.kind = MT_VALUE_STR, .u.id = id}; return MT_OK;
    case MT_TAG_BYTES: *value = (struct mt_value){.kind = MT_VALUE_BYTES, .u.id = id}; return MT_OK;
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
        *value =
            (struct mt_value){.kind = (uint8_t)range_kind(tag), .single = true, .n = 1, .u.id = id};
        return MT_OK;
    }
}

const char *mt_machine_describe(const struct mt_machine *m, mt_word w)
{
    static const char *const names[] = {
        "an integer",    "an integer",      "an integer",          "a number",
        "a string",      "bytes",           "None, true or false", "an empty dictionary",
        "an empty list", "a container",     "a trace event",       "a segment",
        "a block",       "a history entry", "an annotation",       "a frame"};
    static const char *const containers[] = {"a list", "a tuple", "a dictionary",
                                             "a list of records"};
    if (mt_word_tag(w) == MT_TAG_CONTAINER) {
        return containers[container_of(m, w)->kind];
    }
    return names[mt_word_tag(w)];
}
