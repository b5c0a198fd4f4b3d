/* SPDX-License-Identifier: MIT */
/*
 * Nearly all bytes of a large snapshot are trace events, written again and again with the same keys
 * in one of two orders. Read opcode by opcode, each costs some 30 unpredictable jumps; read in a
 * straight line, as here, each place of the code sees one kind of opcode and the processor guesses
 * right. Measured on 2 million events: the whole load takes 0.6 of the time.
 *
 * This file decides nothing: whatever is not written exactly as expected is left to the machine and
 * the schema, and the state is touched only once an event was read to its end.
 */
#include "pickle_events.h"

#include <memtool/bytes.h>

#include "pickle_ops.h"

enum { MAX_MEMOS = 6, MAX_FRAME_BYTES = 5, MAX_TEXTS = 2 };

struct fast_event {
    struct mt_machine *m;
    const uint8_t *p;
    const uint8_t *end;
    struct mt_event event;
    uint32_t present;
    mt_word memos[MAX_MEMOS]; /* what MEMOIZE opcodes stored, in order; the first is the event */
    unsigned n_memos;
    uint32_t texts[MAX_TEXTS]; /* compile_context, user_metadata; 0 = absent */
    bool new_list;             /* frame_ids of the machine hold a list to intern */
    unsigned list_memo;        /* its place in memos + 1, or 0 */
};

/* Integers: bytes before the number, its bytes (0: the next byte says), whether it has a sign. */
static const struct int_op {
    uint8_t head, n, is_signed;
} INT_OPS[256] = {[MT_OP_BININT] = {1, 4, 1},
                  [MT_OP_BININT1] = {1, 1, 0},
                  [MT_OP_BININT2] = {1, 2, 0},
                  [MT_OP_LONG1] = {2, 0, 1}};

static inline bool get_int(struct fast_event *f, int64_t *v)
{
    struct int_op op = INT_OPS[f->p[0]];
    unsigned n = op.n ? op.n : f->p[1];
    if (op.head == 0 || n == 0 || n > 8) {
        return false;
    }
    unsigned unused = 64 - 8 * n;
    uint64_t raw = mt_load64(f->p + op.head) << unused;
    *v = op.is_signed ? (int64_t)raw >> unused : (int64_t)(raw >> unused);
    f->p += op.head + n;
    return true;
}

static inline bool get_size(struct fast_event *f, uint64_t *v)
{
    int64_t i;
    if (!get_int(f, &i) || i < 0) {
        return false;
    }
    *v = (uint64_t)i;
    return true;
}

/* A word from the memo. */
static inline bool get_ref(struct fast_event *f, mt_word *w)
{
    const uint8_t *p = f->p;
    if (p[0] == MT_OP_BINGET) {
        f->p = p + 2;
        return mt_memo_get(&f->m->memo, p[1], w);
    }
    f->p = p + 5;
    return p[0] == MT_OP_LONG_BINGET && mt_memo_get(&f->m->memo, mt_load32(p + 1), w);
}

/* The key is fetched from the memo, by an opcode not met before: is it `key`? Then that is learned.
 */
static bool learn_key(struct fast_event *f, enum mt_event_key key)
{
    const uint8_t *p = f->p;
    mt_word w = 0;
    if (!get_ref(f, &w) || w != f->m->schema.event_keys[key]) {
        f->p = p;
        return false;
    }
    struct mt_key_ref *ref = &f->m->key_refs[key];
    ref->n = (unsigned)(f->p - p);
    ref->mask = (UINT64_C(1) << (8 * ref->n)) - 1;
    ref->bytes = mt_load64(p) & ref->mask;
    f->present |= 1u << key;
    return true;
}

/* Is the next value the key `key`? Then it is taken. */
static inline bool take_key(struct fast_event *f, enum mt_event_key key)
{
    const struct mt_key_ref *ref = &f->m->key_refs[key];
    if (MT_LIKELY(ref->n && (mt_load64(f->p) & ref->mask) == ref->bytes)) {
        f->p += ref->n;
        f->present |= 1u << key;
        return true;
    }
    return learn_key(f, key);
}

static inline void note_memo(struct fast_event *f, mt_word w)
{
    if (f->p[0] == MT_OP_MEMOIZE) {
        f->memos[f->n_memos++] = w;
        f->p++;
    }
}

static bool get_text(struct fast_event *f, uint32_t *id)
{
    mt_word w = 0;
    if (f->p[0] == MT_OP_SHORT_BINUNICODE) {
        unsigned n = f->p[1];
        struct mt_key_ref *last = &f->m->last_text;
        if (n <= 6 && (mt_load64(f->p) & last->mask) == last->bytes && last->n) {
            *id = last->n; /* "N/A", event after event */
        } else if (n > 8 || !(*id = mt_machine_short_str(f->m, f->p + 2, n))) {
            return false;
        } else if (n <= 6) {
            last->mask = UINT64_MAX >> (8 * (6 - n));
            last->bytes = mt_load64(f->p) & last->mask;
            last->n = *id;
        }
        f->p += 2 + n;
        note_memo(f, mt_word_make(MT_TAG_STR, *id));
        return true;
    }
    if (!get_ref(f, &w) || mt_word_tag(w) != MT_TAG_STR) {
        return false;
    }
    *id = (uint32_t)mt_word_payload(w);
    return true;
}

static bool get_action(struct fast_event *f)
{
    uint32_t id = 0;
    if (!take_key(f, MT_EVENT_KEY_action) || !get_text(f, &id) || id >= f->m->schema.n_known) {
        return false;
    }
    f->event.action = f->m->schema.known[id].action;
    return f->event.action != MT_ACTION_OTHER;
}

static bool get_addr(struct fast_event *f)
{
    return (take_key(f, MT_EVENT_KEY_addr) || take_key(f, MT_EVENT_KEY_device_free)) &&
           get_size(f, &f->event.addr);
}

static bool get_stream(struct fast_event *f)
{
    uint64_t handle;
    if (!take_key(f, MT_EVENT_KEY_stream) || !get_size(f, &handle)) {
        return false;
    }
    const struct mt_schema *s = &f->m->schema;
    f->event.stream = s->last_stream.index;
    return s->last_stream.valid && s->last_stream.handle == handle && !s->last_stream.negative;
}

/* [] or [frame, frame ...], each a reference: the ids go to the machine's scratch. */
static bool get_new_list(struct fast_event *f)
{
    f->p++;
    if (f->p[0] == MT_OP_MEMOIZE) {
        f->list_memo = ++f->n_memos;
        f->p++;
    }
    if (f->p[0] == MT_OP_SETITEMS) {
        f->event.stack = f->m->schema.empty_stack;
        return true;
    }
    bool many = f->p[0] == MT_OP_MARK;
    f->p += many;
    struct mt_machine *m = f->m;
    m->frame_ids.n = 0;
    while (f->p[0] != MT_OP_APPENDS && f->p[0] != MT_OP_APPEND) {
        mt_word w = 0;
        if (f->end - f->p < MT_EVENT_MIN_BYTES / 4 || !get_ref(f, &w) ||
            mt_word_tag(w) != MT_TAG_FRAME ||
            !mt_vec_push(&m->frame_ids, (uint32_t)mt_word_payload(w))) {
            return false;
        }
    }
    f->new_list = true;
    bool ends_well = f->p[0] == (many ? MT_OP_APPENDS : MT_OP_APPEND) && m->frame_ids.n > 0 &&
                     (many || m->frame_ids.n == 1);
    f->p++;
    return ends_well;
}

static bool get_frames(struct fast_event *f)
{
    if (f->p[0] == MT_OP_EMPTY_LIST) {
        return get_new_list(f);
    }
    mt_word w = 0;
    if (!get_ref(f, &w)) {
        return false;
    }
    enum mt_tag tag = mt_word_tag(w);
    f->event.stack = tag == MT_TAG_STACK ? (uint32_t)mt_word_payload(w) : f->m->schema.empty_stack;
    return tag == MT_TAG_STACK || tag == MT_TAG_FRESH_LIST;
}

static bool get_time(struct fast_event *f)
{
    return !take_key(f, MT_EVENT_KEY_time_us) || get_int(f, &f->event.time_us);
}

static bool get_keys(struct fast_event *f)
{
    if (!get_action(f) || !get_addr(f) || !take_key(f, MT_EVENT_KEY_size) ||
        !get_size(f, &f->event.size) || !get_stream(f) || !get_time(f)) {
        return false;
    }
    if (take_key(f, MT_EVENT_KEY_compile_context) && !get_text(f, &f->texts[0])) {
        return false;
    }
    if (take_key(f, MT_EVENT_KEY_user_metadata) && !get_text(f, &f->texts[1])) {
        return false;
    }
    /* the C++ writer puts the time here */
    if (!(f->present >> MT_EVENT_KEY_time_us & 1) && !get_time(f)) {
        return false;
    }
    if (take_key(f, MT_EVENT_KEY_frames) && !get_frames(f)) {
        return false;
    }
    return *f->p++ == MT_OP_SETITEMS;
}

/* ---- putting it in place ---- */

static bool commit_memos(struct fast_event *f, mt_word event)
{
    struct mt_memo *memo = &f->m->memo;
    for (unsigned i = 0; i < f->n_memos; i++) {
        mt_word w = f->memos[i];
        if (i + 1 == f->list_memo) {
            w = mt_word_make(MT_TAG_STACK, f->event.stack);
        } else if (i == 0 && f->memos[0] == 0) {
            w = event; /* writers that do not memoize the dictionary begin with the list */
        }
        if (!mt_memo_put(memo, memo->packed.n, w)) {
            return false;
        }
    }
    return true;
}

static bool commit_texts(struct fast_event *f, size_t index)
{
    static const uint8_t columns[MAX_TEXTS] = {MT_COLUMN_COMPILE_CONTEXT, MT_COLUMN_USER_METADATA};
    for (int i = 0; i < MAX_TEXTS; i++) {
        if (f->texts[i] &&
            !mt_builder_event_column(f->m->builder, index, (enum mt_event_column)columns[i],
                                     f->texts[i])) {
            return false;
        }
    }
    return true;
}

static bool commit(struct fast_event *f, mt_word *word)
{
    struct mt_machine *m = f->m;
    struct mt_schema *s = &m->schema;
    size_t index = mt_builder_n_events(m->builder);
    if (!s->last_shape.valid || s->last_shape.present != f->present ||
        s->last_shape.action_name != 0 || index >= m->max_events) {
        return false;
    }
    if (f->new_list) {
        f->event.stack = mt_builder_stack(m->builder, m->frame_ids.v, m->frame_ids.n);
        if (!f->event.stack) {
            return false;
        }
    }
    f->event.shape = s->last_shape.index;
    *word = mt_word_make(MT_TAG_EVENT, index);
    m->torn = !mt_builder_event(m->builder, &f->event) || !commit_texts(f, index) ||
              !commit_memos(f, *word);
    return !m->torn;
}

const uint8_t *mt_pickle_event(struct mt_machine *m, const uint8_t *p, const uint8_t *end,
                               mt_word *word)
{
    struct fast_event f;
    f.m = m;
    f.p = p + 1;
    f.end = end;
    f.event = (struct mt_event){.time_us = MT_NO_TIME};
    f.present = 0;
    f.n_memos = 0;
    f.texts[0] = f.texts[1] = 0;
    f.new_list = false;
    f.list_memo = 0;
    note_memo(&f, 0);
    if (*f.p++ != MT_OP_MARK || !get_keys(&f) || !commit(&f, word)) {
        return NULL;
    }
    return f.p;
}
