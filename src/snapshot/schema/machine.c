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
#include "snapshot/schema/machine.h"

#include <inttypes.h>
#include <string.h>

#include "support/bytes.h"
#include "support/hash.h"
#include "support/units.h"

enum { MIN_STACK = 64 };

#define FAIL(m, ...) mt_fail((m)->err, MT_FORMAT, (m)->offset, __VA_ARGS__)

enum mt_status mt_machine_init(struct mt_machine *m, struct mt_builder *b, uint32_t max_depth,
                               uint64_t max_events, struct mt_error *err)
{
    *m = (struct mt_machine){.builder = b,
                             .err = err,
                             .max_depth = max_depth,
                             .told_events = max_events,
                             .max_events = max_events ? max_events : UINT32_MAX,
                             .last_key = -1};
    m->guesses.v = mt_mem_zalloc(MT_STACK_GUESSES, sizeof *m->guesses.v);
    if (!m->guesses.v || !mt_vec_reserve(&m->stack, MIN_STACK)) { /* the hot loop wants a pointer */
        return mt_fail_nomem(err);
    }
    for (int c = 0; c < MT_COLUMN_COUNT; c++) {
        m->column_defaults[c] = mt_builder_column_default(b, (enum mt_event_column)c);
    }
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
    mt_memo_release(&m->memo);
    mt_vec_release(&m->frame_ids);
    mt_vec_release(&m->wides);
    mt_vec_release(&m->floats);
    mt_mem_free(m->guesses.v);
    mt_schema_release(&m->schema);
}

/* ---- limits ---- */

enum mt_status mt_machine_allow(const struct mt_machine *m, size_t n, unsigned bytes_each,
                                const char *what)
{
    enum { FREE = 1000000 };
    uint64_t most = FREE + m->offset / bytes_each;
    most = m->told_events > most ? m->told_events : most;
    if (MT_LIKELY(n < most)) {
        return MT_OK;
    }
    (void)mt_fail(m->err, MT_LIMIT, m->offset, "more than %s %s, at byte %" PRIu64,
                  mt_count_text(most).s, what, m->offset);
    return mt_hint(m->err, "raise the limit with --max-events N if you trust the file");
}

/* Python's writer appends a thousand items at a time; the C++ one pushes a whole list, of which
 * each item has 50 bytes and more (an event) but is one word when the next comes. */
enum mt_status mt_machine_grow_stack(struct mt_machine *m)
{
    enum { BYTES_PER_WORD = 32 };
    MT_TRY(mt_machine_allow(m, m->stack.n, BYTES_PER_WORD, "values that no list has taken yet"));
    return mt_vec_reserve(&m->stack, m->stack.n + 1) ? MT_OK : mt_fail_nomem(m->err);
}

/* Numbers of eight bytes that are no small integers. */
static enum mt_status allow_number(const struct mt_machine *m, size_t n)
{
    enum { BYTES_PER_NUMBER = 64 };
    return mt_machine_allow(m, n, BYTES_PER_NUMBER, "floats or integers of 60 bits and more");
}

/* Short strings pack badly, so that a small file has few of them. */
static enum mt_status allow_string(struct mt_machine *m, uint32_t id, size_t n)
{
    enum { LONG_STRING = 256, FREE_BYTES = 268435456, BYTES_PER_BYTE = 8 };
    if (MT_LIKELY(n < LONG_STRING) || id <= m->newest_string) {
        return MT_OK;
    }
    m->newest_string = id;
    m->long_bytes += n;
    uint64_t most = m->offset / BYTES_PER_BYTE;
    most = most > FREE_BYTES ? most : FREE_BYTES;
    return m->long_bytes <= most
               ? MT_OK
               : mt_fail(m->err, MT_LIMIT, m->offset,
                         "more than %s bytes of different strings at byte %" PRIu64
                         "; no snapshot has so many",
                         mt_count_text(most).s, m->offset);
}

/* ---- scalars ---- */

enum mt_status mt_machine_push_u64(struct mt_machine *m, uint64_t magnitude, bool negative)
{
    if (magnitude <= (uint64_t)MT_WORD_INT_MAX) {
        return mt_machine_push(
            m, mt_word_from_int(negative ? -(int64_t)magnitude : (int64_t)magnitude));
    }
    MT_TRY(allow_number(m, m->wides.n));
    if (!mt_vec_push(&m->wides, magnitude)) {
        return mt_fail_nomem(m->err);
    }
    return mt_machine_push(m,
                           mt_word_make(MT_TAG_WIDE, (uint64_t)(m->wides.n - 1) << 1 | negative));
}

enum mt_status mt_machine_push_float(struct mt_machine *m, double x)
{
    MT_TRY(allow_number(m, m->floats.n));
    if (!mt_vec_push(&m->floats, x)) {
        return mt_fail_nomem(m->err);
    }
    return mt_machine_push(m, mt_word_make(MT_TAG_FLOAT, m->floats.n - 1));
}

/* JSON writes every file name and function again and again: where length, beginning and end are
 * those of a string met lately it is mostly the same one, and need not be hashed. */
static uint32_t recent_str(struct mt_machine *m, const uint8_t *p, size_t n)
{
    uint64_t first = 0;
    uint64_t last = 0;
    if (n >= 8) {
        first = mt_load64(p);
        last = mt_load64(p + n - 8);
    } else if (n >= 4) {
        first = mt_load32(p);
        last = mt_load32(p + n - 4);
    } else if (n > 0) {
        first = p[0];
        last = p[n - 1];
    }
    uint64_t mix = (first + n) * UINT64_C(0x9e3779b97f4a7c15) ^ last * UINT64_C(0xc4ceb9fe1a85ec53);
    uint32_t *known = &m->recent_strings[mix >> (64 - MT_RECENT_BITS)];
    if (*known == 0 || !mt_str_equal(mt_builder_get_str(m->builder, *known),
                                     (struct mt_str){(const char *)p, n})) {
        *known = mt_builder_str(m->builder, p, n);
    }
    return *known;
}

enum mt_status mt_machine_push_str(struct mt_machine *m, const void *p, size_t n)
{
    uint32_t id = recent_str(m, p, n);
    MT_TRY(allow_string(m, id, n));
    return id ? mt_machine_push(m, mt_word_make(MT_TAG_STR, id)) : mt_fail_nomem(m->err);
}

enum mt_status mt_machine_push_raw(struct mt_machine *m, const void *p, size_t n, bool is_bytes)
{
    uint32_t id = mt_builder_str(m->builder, p, n);
    MT_TRY(allow_string(m, id, n));
    return id ? mt_machine_push(m, mt_word_make(MT_TAG_RAW, (uint64_t)id << 1 | is_bytes))
              : mt_fail_nomem(m->err);
}

uint32_t mt_machine_short_str(struct mt_machine *m, const uint8_t *p, size_t n)
{
    uint64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    bytes = n < 8 ? bytes & ((UINT64_C(1) << (8 * n)) - 1) : bytes; /* little-endian hosts */
    size_t slot = (size_t)(mt_hash_mix(bytes, n) % MT_SHORT_STRINGS);
    if (m->short_strings[slot].id == 0 || m->short_strings[slot].bytes != bytes ||
        m->short_strings[slot].n != n) {
        uint32_t id = mt_builder_str(m->builder, p, n);
        m->short_strings[slot].bytes = bytes;
        m->short_strings[slot].n = (uint32_t)n;
        m->short_strings[slot].id = id;
    }
    return m->short_strings[slot].id;
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

/* ---- lists ---- */

static bool is_record(enum mt_tag tag)
{
    return tag >= MT_TAG_EVENT && tag <= MT_TAG_ANNOTATION;
}

static enum mt_status start_list(struct mt_machine *m, size_t at, mt_word first_item)
{
    mt_word fresh = m->stack.v[at];
    enum mt_tag tag = mt_word_tag(first_item);
    bool range = is_record(tag);
    mt_word w;
    MT_TRY(mt_container_new(m, range ? MT_CONTAINER_RANGE : MT_CONTAINER_LIST,
                            (uint32_t)mt_word_payload(fresh), &w));
    struct mt_container *c = mt_container_of(m, w);
    c->record = (uint8_t)tag;
    c->first = range ? (uint32_t)mt_word_payload(first_item) : 0;
    m->stack.v[at] = w;
    return MT_OK;
}

/* Marks are only shown: a list that holds something else too is one of any values. */
static enum mt_status loosen_annotations(struct mt_machine *m, struct mt_container *c)
{
    if (!mt_vec_reserve(&c->items, c->n)) {
        return mt_fail_nomem(m->err);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        c->items.v[i] = mt_word_make(MT_TAG_ANNOTATION, c->first + i);
    }
    c->items.n = c->n;
    c->kind = MT_CONTAINER_LIST;
    return MT_OK;
}

static bool all_are(enum mt_tag tag, const mt_word *items, size_t n)
{
    while (n > 0 && mt_word_tag(items[n - 1]) == tag) {
        n--;
    }
    return n == 0;
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

enum mt_status mt_machine_append(struct mt_machine *m, size_t from)
{
    if (from == 0 || from < m->fence + 1) {
        return FAIL(m, "an item is appended, and there is no list");
    }
    size_t n = m->stack.n - from;
    for (size_t i = from; i < m->stack.n; i++) {
        if (mt_word_tag(m->stack.v[i]) == MT_TAG_CONTAINER) { /* a thousand events are none */
            MT_TRY(mt_container_settle(m, &m->stack.v[i]));
        }
    }
    enum mt_tag tag = mt_word_tag(m->stack.v[from - 1]);
    if (tag == MT_TAG_FRESH_LIST && n) {
        MT_TRY(start_list(m, from - 1, m->stack.v[from]));
    } else if (tag != MT_TAG_CONTAINER && tag != MT_TAG_FRESH_LIST) {
        return FAIL(m, "an item is appended to %s", mt_machine_describe(m, m->stack.v[from - 1]));
    }
    if (n) {
        struct mt_container *c = mt_container_of(m, m->stack.v[from - 1]);
        if (c->sealed || (c->kind != MT_CONTAINER_RANGE && c->kind != MT_CONTAINER_LIST)) {
            return FAIL(m, "an item is appended to a finished %s",
                        c->kind == MT_CONTAINER_DICT ? "dictionary" : "list");
        }
        if (c->kind == MT_CONTAINER_RANGE && c->record == MT_TAG_ANNOTATION &&
            !all_are(MT_TAG_ANNOTATION, m->stack.v + from, n)) {
            MT_TRY(loosen_annotations(m, c));
        }
        MT_TRY(c->kind == MT_CONTAINER_RANGE ? extend_range(m, c, m->stack.v + from, n)
                                             : mt_container_add(m, m->stack.v[from - 1], from, n));
    }
    m->stack.n = from;
    return MT_OK;
}

/* ---- dictionaries ---- */

static enum mt_status set_in_container(struct mt_machine *m, size_t from)
{
    for (size_t i = from; i < m->stack.n; i++) {
        MT_TRY(mt_container_settle(m, &m->stack.v[i]));
    }
    mt_word w = m->stack.v[from - 1];
    if (mt_word_tag(w) == MT_TAG_FRESH_DICT) {
        MT_TRY(mt_container_new(m, MT_CONTAINER_DICT, (uint32_t)mt_word_payload(w), &w));
        m->stack.v[from - 1] = w;
    }
    if (mt_container_of(m, w)->sealed || mt_container_of(m, w)->kind != MT_CONTAINER_DICT) {
        return FAIL(m, "a key is set in a finished %s",
                    mt_container_of(m, w)->kind == MT_CONTAINER_DICT ? "dictionary" : "list");
    }
    return mt_container_add(m, w, from, m->stack.n - from);
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
        enum mt_status status = mt_schema_reduce(m, m->stack.v + from, n, &record);
        if (MT_UNLIKELY(status != MT_OK)) {
            m->stack.n = from; /* a half made record has taken its containers: no salvage of them */
            return status;
        }
        if (MT_LIKELY(record != 0)) {
            MT_TRY(mt_machine_remember(m, (uint32_t)mt_word_payload(dict), record));
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
        MT_TRY(mt_container_new(m, MT_CONTAINER_TUPLE, 0, w));
        mt_container_of(m, *w)->pinned = true;
        MT_TRY(mt_container_add(m, *w, from, 2));
        m->pairs.v[pool] = (uint32_t)mt_word_payload(*w) + 1;
    }
    *w = mt_word_make(MT_TAG_CONTAINER, m->pairs.v[pool] - 1);
    m->last_pair.id = id;
    m->last_pair.word = *w;
    m->last_pair.pool = (uint32_t)pool;
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
            MT_TRY(mt_container_settle(m, &m->stack.v[i]));
        }
        MT_TRY(mt_container_new(m, MT_CONTAINER_TUPLE, 0, &w));
        MT_TRY(mt_container_add(m, w, from, n));
    }
    m->stack.n = from;
    return mt_machine_push(m, w);
}

enum mt_status mt_machine_identity(struct mt_machine *m)
{
    mt_word identity = mt_word_make(MT_TAG_CONST, MT_CONST_IDENTITY);
    size_t n = m->stack.n;
    bool ok = n >= m->fence + 2 && m->stack.v[n - 2] == identity &&
              mt_word_tag(m->stack.v[n - 1]) == MT_TAG_CONTAINER;
    const struct mt_container *args = ok ? mt_container_of(m, m->stack.v[n - 1]) : NULL;
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
        mt_container_of(m, *w)->pinned = true;
    }
    return MT_OK;
}

enum mt_status mt_machine_dup(struct mt_machine *m)
{
    mt_word w = 0;
    MT_TRY(top_word(m, &w));
    if (mt_word_tag(w) == MT_TAG_CONTAINER) {
        mt_container_of(m, w)->duplicated = true;
    }
    return mt_machine_push(m, w);
}

/* What becomes of a list or dictionary is told to one memo entry only. */
static enum mt_status refuse_second_name(struct mt_machine *m, mt_word w, uint64_t index)
{
    uint64_t before = 0;
    if (mt_word_tag(w) == MT_TAG_FRESH_DICT || mt_word_tag(w) == MT_TAG_FRESH_LIST) {
        before = mt_word_payload(w);
    } else if (mt_word_tag(w) == MT_TAG_CONTAINER) {
        const struct mt_container *c = mt_container_of(m, w);
        before = c->kind == MT_CONTAINER_TUPLE ? 0 : c->memo;
    }
    if (before && before != index + 1) {
        return FAIL(m,
                    "one object gets two memo indexes, %" PRIu64 " and %" PRIu64
                    "; no known writer does that",
                    before - 1, index);
    }
    return MT_OK;
}

enum mt_status mt_machine_put(struct mt_machine *m, uint64_t index)
{
    mt_word w = 0;
    MT_TRY(top_word(m, &w));
    if (index > m->offset || index >= UINT32_MAX) {
        return FAIL(m, "memo index %" PRIu64 " is larger than the bytes before it", index);
    }
    enum mt_tag tag = mt_word_tag(w);
    MT_TRY(refuse_second_name(m, w, index));
    if (tag == MT_TAG_FRESH_DICT || tag == MT_TAG_FRESH_LIST) {
        w = mt_word_make(tag, index + 1);
        m->stack.v[m->stack.n - 1] = w;
    } else if (tag == MT_TAG_CONTAINER) {
        mt_container_of(m, w)->memo = (uint32_t)index + 1;
    }
    if (index < m->memo.packed.n) { /* an entry changes: what was learned may be wrong */
        memset(m->key_refs, 0, sizeof m->key_refs);
        mt_stack_guess_forget(&m->guesses);
    }
    enum { BYTES_PER_ENTRY = 16 }; /* PyTorch's pickles have 28 and more */
    if (index >= m->memo.packed.cap || m->memo.wide.n == m->memo.wide.cap) {
        MT_TRY(mt_machine_allow(m, index, BYTES_PER_ENTRY, "entries of the memo"));
    }
    return mt_memo_put(&m->memo, index, w) ? MT_OK : mt_fail_nomem(m->err);
}

enum mt_status mt_machine_get(struct mt_machine *m, uint64_t index)
{
    mt_word w;
    if (!mt_memo_get(&m->memo, index, &w)) {
        return FAIL(m, "memo index %" PRIu64 " was never stored", index);
    }
    if (mt_word_tag(w) == MT_TAG_CONTAINER) {
        mt_container_of(m, w)->duplicated = true;
    }
    return mt_machine_push(m, w);
}

enum mt_status mt_machine_remember(struct mt_machine *m, uint32_t memo, mt_word w)
{
    if (memo == 0) {
        return MT_OK;
    }
    mt_word before = 0;
    bool named = mt_memo_get(&m->memo, memo - 1, &before);
    enum mt_tag tag = mt_word_tag(before);
    if (named && tag != MT_TAG_FRESH_DICT && tag != MT_TAG_FRESH_LIST && tag != MT_TAG_CONTAINER) {
        return MT_OK; /* something else was stored there meanwhile */
    }
    return mt_memo_put(&m->memo, memo - 1, w) ? MT_OK : mt_fail_nomem(m->err);
}
