/* SPDX-License-Identifier: MIT */
/*
 * Nearly all bytes of a large snapshot are trace events, written again and again with the same keys
 * in one of two orders. Read opcode by opcode, each costs some 30 unpredictable jumps; read in a
 * straight line, as here, each place of the code sees one kind of opcode and the processor guesses
 * right. Measured on 2 million events: the whole load takes half of the time.
 *
 * The cursor goes from function to function by value, so that it stays in a register: every opcode
 * begins where the one before ended, and a way through memory would be most of the time. NULL: not
 * as expected.
 *
 * This file decides nothing: whatever is not written exactly as expected is left to the machine and
 * the schema, and the state is touched only once an event was read to its end.
 */
#include "snapshot/read/pickle_events.h"
#include "snapshot/read/pickle_ops.h"
#include "snapshot/schema/fields.h"
#include "snapshot/schema/records.h"
#include "support/bytes.h"

/* MAX_MEMOS: the dictionary, the action and both other texts, the pool and the list. */
enum { MAX_MEMOS = 6, MAX_TEXTS = 2, MIN_LIST_BYTES = MT_EVENT_MIN_BYTES / 4 };

struct fast_event {
    struct mt_machine *m;
    const uint8_t *end;
    struct mt_event event;
    uint64_t stream; /* the handle */
    uint32_t present;
    mt_word memos[MAX_MEMOS]; /* what MEMOIZE opcodes stored, in order; the first is the event */
    unsigned n_memos;
    uint32_t texts[MAX_TEXTS];    /* compile_context, user_metadata; 0 = absent */
    bool has_pool;                /* it is that of the machine's last pair */
    const uint8_t *list;          /* frame_ids of the machine hold a list to intern, read here */
    size_t list_bytes;            /* of it */
    unsigned list_memo;           /* its place in memos + 1, or 0 */
    struct mt_stack_guess *guess; /* the place for it */
};

/* Integers: bytes before the number, its bytes (0: the next byte says), whether it has a sign. */
static const struct int_op {
    uint8_t head, n, is_signed;
} INT_OPS[256] = {[MT_OP_BININT] = {1, 4, 1},
                  [MT_OP_BININT1] = {1, 1, 0},
                  [MT_OP_BININT2] = {1, 2, 0},
                  [MT_OP_LONG1] = {2, 0, 1}};

MT_INLINE const uint8_t *get_int(const uint8_t *p, int64_t *v)
{
    struct int_op op = INT_OPS[p[0]];
    unsigned n = op.n ? op.n : p[1];
    if (op.head == 0 || n == 0 || n > 8) {
        return NULL;
    }
    unsigned unused = 64 - 8 * n;
    uint64_t raw = mt_load64(p + op.head) << unused;
    *v = op.is_signed ? (int64_t)raw >> unused : (int64_t)(raw >> unused);
    return p + op.head + n;
}

/* One that nearly always takes `n` bytes: then the next opcode need not wait for this one. */
MT_INLINE const uint8_t *get_long(const uint8_t *p, unsigned n, int64_t *v)
{
    if (MT_UNLIKELY(mt_load16(p) != (MT_OP_LONG1 | n << 8))) {
        return get_int(p, v);
    }
    unsigned unused = 64 - 8 * n;
    *v = (int64_t)(mt_load64(p + 2) << unused) >> unused;
    return p + 2 + n;
}

/* A word from the memo. */
MT_INLINE const uint8_t *get_ref(const struct mt_machine *m, const uint8_t *p, mt_word *w)
{
    if (p[0] == MT_OP_LONG_BINGET) {
        return mt_memo_get(&m->memo, mt_load32(p + 1), w) ? p + 5 : NULL;
    }
    return p[0] == MT_OP_BINGET && mt_memo_get(&m->memo, p[1], w) ? p + 2 : NULL;
}

/* ---- keys ---- */

/* The key is fetched from the memo, by an opcode not met before: is it `key`? Then that is learned.
 */
static const uint8_t *learn_key(struct mt_machine *m, const uint8_t *p, enum mt_event_key key)
{
    mt_word w = 0;
    const uint8_t *behind = get_ref(m, p, &w);
    if (!behind || w != m->schema.event_keys[key]) {
        return NULL;
    }
    struct mt_key_ref *ref = &m->key_refs[key];
    ref->n = (unsigned)(behind - p);
    ref->mask = (UINT64_C(1) << (8 * ref->n)) - 1;
    ref->bytes = mt_load64(p) & ref->mask;
    return behind;
}

/* The key `key` as it was written the last time; a key not met yet is none. */
MT_INLINE const uint8_t *known_key(struct fast_event *f, const uint8_t *p, enum mt_event_key key)
{
    const struct mt_key_ref *ref = &f->m->key_refs[key];
    if (ref->n == 0 || (mt_load64(p) & ref->mask) != ref->bytes) {
        return NULL;
    }
    f->present |= 1u << key;
    return p + ref->n;
}

MT_INLINE const uint8_t *take_key(struct fast_event *f, const uint8_t *p, enum mt_event_key key)
{
    const uint8_t *behind = known_key(f, p, key);
    if (MT_UNLIKELY(!behind)) {
        behind = learn_key(f->m, p, key);
        f->present |= behind ? 1u << key : 0;
    }
    return behind;
}

/* ---- what was stored in the memo ---- */

/* PUT opcodes of older protocols and of the C++ writer: they count up as MEMOIZE does. */
static const uint8_t *note_put(struct fast_event *f, const uint8_t *p, mt_word w)
{
    bool is_long = p[0] == MT_OP_LONG_BINPUT;
    uint32_t index = is_long ? mt_load32(p + 1) : p[1];
    if (index != f->m->memo.packed.n + f->n_memos) {
        return NULL;
    }
    f->memos[f->n_memos++] = w;
    return p + (is_long ? 5 : 2);
}

MT_INLINE const uint8_t *note_memo(struct fast_event *f, const uint8_t *p, mt_word w)
{
    if (MT_LIKELY(p[0] == MT_OP_MEMOIZE)) {
        f->memos[f->n_memos++] = w;
        return p + 1;
    }
    return p[0] == MT_OP_BINPUT || p[0] == MT_OP_LONG_BINPUT ? note_put(f, p, w) : p;
}

/* ---- values ---- */

/* A short text that stands here itself. */
static const uint8_t *new_text(struct mt_machine *m, const uint8_t *p, uint32_t *id)
{
    bool is_short = p[0] == MT_OP_SHORT_BINUNICODE;
    uint32_t n = is_short ? p[1] : mt_load32(p + 1);
    unsigned head = is_short ? 2 : 5;
    if (n > 8 || (*id = mt_machine_short_str(m, p + head, n)) == 0) {
        return NULL;
    }
    if (head + n <= 8) {
        m->last_text.n = head + n;
        m->last_text.mask = UINT64_MAX >> (8 * (8 - head - n));
        m->last_text.bytes = mt_load64(p) & m->last_text.mask;
        m->last_text_id = *id;
    }
    return p + head + n;
}

MT_INLINE const uint8_t *get_text(struct fast_event *f, const uint8_t *p, uint32_t *id)
{
    struct mt_machine *m = f->m;
    if (p[0] == MT_OP_SHORT_BINUNICODE || p[0] == MT_OP_BINUNICODE) {
        if (MT_LIKELY(m->last_text.n && (mt_load64(p) & m->last_text.mask) == m->last_text.bytes)) {
            *id = m->last_text_id; /* "N/A", event after event */
            p += m->last_text.n;
        } else if (!(p = new_text(m, p, id))) {
            return NULL;
        }
        return note_memo(f, p, mt_word_make(MT_TAG_STR, *id));
    }
    mt_word w = 0;
    p = get_ref(m, p, &w);
    *id = (uint32_t)mt_word_payload(w);
    return mt_word_tag(w) == MT_TAG_STR ? p : NULL;
}

MT_INLINE const uint8_t *get_action(struct fast_event *f, const uint8_t *p)
{
    uint32_t id = 0;
    p = take_key(f, p, MT_EVENT_KEY_action);
    p = p ? get_text(f, p, &id) : NULL;
    if (!p || id >= f->m->schema.n_known) {
        return NULL;
    }
    f->event.action = f->m->schema.known[id].action;
    return f->event.action != MT_ACTION_OTHER ? p : NULL;
}

MT_INLINE const uint8_t *get_addr(struct fast_event *f, const uint8_t *p)
{
    int64_t v = 0;
    const uint8_t *value = take_key(f, p, MT_EVENT_KEY_addr);
    value = value ? value : take_key(f, p, MT_EVENT_KEY_device_free);
    p = value ? get_long(value, 6, &v) : NULL;
    f->event.addr = (uint64_t)v;
    return v >= 0 ? p : NULL;
}

MT_INLINE const uint8_t *get_size(struct fast_event *f, const uint8_t *p)
{
    int64_t v = 0;
    p = take_key(f, p, MT_EVENT_KEY_size);
    p = p ? get_int(p, &v) : NULL;
    f->event.size = (uint64_t)v;
    return v >= 0 ? p : NULL;
}

MT_INLINE const uint8_t *get_stream(struct fast_event *f, const uint8_t *p)
{
    int64_t v = 0;
    p = take_key(f, p, MT_EVENT_KEY_stream);
    p = p ? get_int(p, &v) : NULL;
    f->stream = (uint64_t)v;
    return v >= 0 && v <= MT_WORD_INT_MAX ? p : NULL;
}

/* The time when it comes next; p when something else does. */
MT_INLINE const uint8_t *get_time(struct fast_event *f, const uint8_t *p, bool known_only)
{
    const uint8_t *value =
        known_only ? known_key(f, p, MT_EVENT_KEY_time_us) : take_key(f, p, MT_EVENT_KEY_time_us);
    p = value ? get_long(value, 7, &f->event.time_us) : p;
    return value && f->event.time_us == MT_NO_TIME ? NULL : p;
}

/* A text when it comes next; p when something else does. */
MT_INLINE const uint8_t *get_optional_text(struct fast_event *f, const uint8_t *p,
                                           enum mt_event_key key, uint32_t *id)
{
    const uint8_t *value = take_key(f, p, key);
    return value ? get_text(f, value, id) : p;
}

/* The same pair as the last one, as a tuple. */
static const uint8_t *get_pool(struct fast_event *f, const uint8_t *p)
{
    const struct mt_machine *m = f->m;
    int64_t a = 0;
    int64_t b = 0;
    p = get_int(p, &a);
    p = p ? get_int(p, &b) : NULL;
    f->has_pool = m->last_pair.word != 0 && m->last_pair.id.a == a && m->last_pair.id.b == b;
    return p && f->has_pool && p[0] == MT_OP_TUPLE2 ? note_memo(f, p + 1, m->last_pair.word) : NULL;
}

/* ---- frames ---- */

/* [] in one of three ways; NULL when it is not empty. */
MT_INLINE const uint8_t *get_empty_list(const uint8_t *p)
{
    if (p[0] == MT_OP_MARK && p[1] == MT_OP_APPENDS) { /* the C++ writer's */
        return p + 2;
    }
    return p[0] == MT_OP_SETITEMS ? p : NULL;
}

/* [frame, frame ...], each a reference: the ids go to the machine's scratch. */
static const uint8_t *get_frame_ids(struct fast_event *f, const uint8_t *p)
{
    struct mt_machine *m = f->m;
    bool many = p[0] == MT_OP_MARK;
    p += many;
    m->frame_ids.n = 0;
    while (p[0] != MT_OP_APPENDS && p[0] != MT_OP_APPEND) {
        mt_word w = 0;
        if (f->end - p < MIN_LIST_BYTES || !(p = get_ref(m, p, &w)) ||
            mt_word_tag(w) != MT_TAG_FRAME ||
            !mt_vec_push(&m->frame_ids, (uint32_t)mt_word_payload(w))) {
            return NULL;
        }
    }
    bool ends_well = p[0] == (many ? MT_OP_APPENDS : MT_OP_APPEND) && m->frame_ids.n > 0 &&
                     (many || m->frame_ids.n == 1);
    return ends_well ? p + 1 : NULL;
}

MT_INLINE const uint8_t *get_list(struct fast_event *f, const uint8_t *p)
{
    struct mt_machine *m = f->m;
    struct mt_stack_guess *guess = mt_stack_guess_find(&m->guesses, &f->event);
    if (guess->n && (size_t)(f->end - p) >= guess->n + MIN_LIST_BYTES &&
        memcmp(p, guess->bytes, guess->n) == 0) {
        f->event.stack = m->guesses.last = guess->stack;
        return p + guess->n;
    }
    const uint8_t *behind = get_frame_ids(f, p);
    f->guess = guess;
    f->list = p;
    f->list_bytes = behind ? (size_t)(behind - p) : 0;
    return behind;
}

MT_INLINE const uint8_t *get_new_list(struct fast_event *f, const uint8_t *p)
{
    unsigned before = f->n_memos;
    p = note_memo(f, p + 1, 0);
    if (!p) {
        return NULL;
    }
    const uint8_t *behind = get_empty_list(p);
    if (behind) {
        f->event.stack = f->m->schema.empty_stack;
    } else if (!(behind = get_list(f, p))) {
        return NULL;
    }
    behind = f->n_memos == before ? note_memo(f, behind, 0) : behind; /* the C++ writer's place */
    f->list_memo = f->n_memos > before ? f->n_memos : 0;
    return behind;
}

MT_INLINE const uint8_t *get_frames(struct fast_event *f, const uint8_t *p)
{
    if (p[0] == MT_OP_EMPTY_LIST) {
        return get_new_list(f, p);
    }
    mt_word w = 0;
    p = get_ref(f->m, p, &w);
    enum mt_tag tag = mt_word_tag(w);
    f->event.stack = tag == MT_TAG_STACK ? (uint32_t)mt_word_payload(w) : f->m->schema.empty_stack;
    return tag == MT_TAG_STACK || tag == MT_TAG_FRESH_LIST ? p : NULL;
}

/* What stands at the end: frames, and before them the pool where the writer is new. */
MT_INLINE const uint8_t *get_last_keys(struct fast_event *f, const uint8_t *p)
{
    const uint8_t *value = known_key(f, p, MT_EVENT_KEY_frames);
    if (value) {
        return get_frames(f, value);
    }
    value = take_key(f, p, MT_EVENT_KEY_pool_id);
    if (value && !(p = get_pool(f, value))) {
        return NULL;
    }
    value = take_key(f, p, MT_EVENT_KEY_frames);
    return value ? get_frames(f, value) : p;
}

/* The keys of an event, from behind its MARK to behind its SETITEMS. */
MT_INLINE const uint8_t *get_keys(struct fast_event *f, const uint8_t *p)
{
    if (!(p = get_action(f, p)) || !(p = get_addr(f, p)) || !(p = get_size(f, p)) ||
        !(p = get_stream(f, p)) || !(p = get_time(f, p, true)) ||
        !(p = get_optional_text(f, p, MT_EVENT_KEY_compile_context, &f->texts[0])) ||
        !(p = get_optional_text(f, p, MT_EVENT_KEY_user_metadata, &f->texts[1]))) {
        return NULL;
    }
    /* the C++ writer puts the time here */
    if (!(f->present >> MT_EVENT_KEY_time_us & 1) && !(p = get_time(f, p, false))) {
        return NULL;
    }
    p = get_last_keys(f, p);
    return p && p[0] == MT_OP_SETITEMS ? p + 1 : NULL;
}

/* ---- putting it in place ---- */

MT_INLINE bool commit_memos(struct fast_event *f, mt_word event)
{
    struct mt_memo *memo = &f->m->memo;
    for (unsigned i = 0; i < f->n_memos; i++) {
        mt_word w = f->memos[i];
        if (i + 1 == f->list_memo) {
            w = mt_word_make(MT_TAG_STACK, f->event.stack);
        } else if (w == 0) {
            w = event; /* writers that do not memoize the dictionary begin with something else */
        }
        if (!mt_memo_put(memo, memo->packed.n, w)) {
            return false;
        }
    }
    return true;
}

/* Columns hold their default already. */
static bool commit_column(struct fast_event *f, size_t index, enum mt_event_column c,
                          uint32_t value)
{
    return value == f->m->column_defaults[c] ||
           mt_builder_event_column(f->m->builder, index, c, value);
}

static bool commit_columns(struct fast_event *f, size_t index)
{
    const struct mt_machine *m = f->m;
    return (!f->texts[0] || commit_column(f, index, MT_COLUMN_COMPILE_CONTEXT, f->texts[0])) &&
           (!f->texts[1] || commit_column(f, index, MT_COLUMN_USER_METADATA, f->texts[1])) &&
           (!f->has_pool || commit_column(f, index, MT_COLUMN_POOL, m->last_pair.pool));
}

static bool commit_list(struct fast_event *f)
{
    struct mt_machine *m = f->m;
    f->event.stack = mt_builder_stack(m->builder, m->frame_ids.v, m->frame_ids.n);
    if (!f->event.stack) {
        return false;
    }
    mt_stack_guess_learn(&m->guesses, f->guess, f->list, f->list_bytes, f->event.stack);
    return true;
}

/* Mostly those of the last event. */
MT_INLINE bool commit_stream_and_shape(struct fast_event *f)
{
    struct mt_machine *m = f->m;
    const struct mt_schema *s = &m->schema;
    if (MT_LIKELY(s->last_stream.valid && s->last_stream.handle == f->stream &&
                  !s->last_stream.negative && s->last_shape.valid &&
                  s->last_shape.present == f->present && s->last_shape.action_name == 0)) {
        f->event.stream = s->last_stream.index;
        f->event.shape = s->last_shape.index;
        return true;
    }
    mt_word stream = mt_word_from_int((int64_t)f->stream);
    return mt_field_stream(m, stream, &f->event.stream) == MT_OK &&
           mt_record_shape(m, f->present, 0, &f->event.shape) == MT_OK;
}

MT_INLINE bool commit(struct fast_event *f, mt_word *word)
{
    struct mt_machine *m = f->m;
    size_t index = mt_builder_n_events(m->builder);
    if (index >= m->max_events || !commit_stream_and_shape(f) || (f->list && !commit_list(f))) {
        return false;
    }
    *word = mt_word_make(MT_TAG_EVENT, index);
    m->torn = !mt_builder_event(m->builder, &f->event) || !commit_columns(f, index) ||
              !commit_memos(f, *word);
    return !m->torn;
}

const uint8_t *mt_pickle_event(struct mt_machine *m, const uint8_t *p, const uint8_t *end,
                               mt_word *word)
{
    struct fast_event f;
    f.m = m;
    f.end = end;
    f.event = (struct mt_event){.time_us = MT_NO_TIME};
    f.present = 0;
    f.n_memos = 0;
    f.texts[0] = f.texts[1] = 0;
    f.has_pool = false;
    f.list = NULL;
    f.list_memo = 0;
    p = note_memo(&f, p + 1, 0);
    if (!p || p[0] != MT_OP_MARK || !(p = get_keys(&f, p + 1)) || !commit(&f, word)) {
        return NULL;
    }
    return p;
}
