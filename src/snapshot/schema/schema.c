/* SPDX-License-Identifier: MIT */
/*
 * Which record a dictionary is, and which field a key. The strings of keys.h are interned first, so
 * a key's string id is an index into a small table that says what it means in each record: no
 * comparison of bytes happens per event.
 *
 * Records are told apart by the keys that only they have. What becomes of their values stands with
 * the records.
 */
#include "snapshot/schema/schema.h"

#include <string.h>

#include "snapshot/schema/machine.h"
#include "snapshot/schema/records.h"

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

enum { USE_NEED, USE_SHOW };

struct key_row {
    const char *name;
    uint8_t record;
    int8_t key;
    uint8_t use;
};

static const struct key_row KEYS[] = {
#define X(name, type, since, use) {#name, MT_RECORD_EVENT, MT_EVENT_KEY_##name, USE_##use},
    MT_EVENT_KEYS(X)
#undef X
#define X(name, type, since, use) {#name, MT_RECORD_SEGMENT, MT_SEGMENT_KEY_##name, USE_##use},
        MT_SEGMENT_KEYS(X)
#undef X
#define X(name, type, since, use) {#name, MT_RECORD_BLOCK, MT_BLOCK_KEY_##name, USE_##use},
            MT_BLOCK_KEYS(X)
#undef X
#define X(name, type, since, use) {#name, MT_RECORD_HISTORY, MT_HISTORY_KEY_##name, USE_##use},
                MT_HISTORY_KEYS(X)
#undef X
#define X(name, type, since, use) {#name, MT_RECORD_FRAME, MT_FRAME_KEY_##name, USE_##use},
                    MT_FRAME_KEYS(X)
#undef X
#define X(name, type, since, use)                                                                  \
    {#name, MT_RECORD_ANNOTATION, MT_ANNOTATION_KEY_##name, USE_##use},
                        MT_ANNOTATION_KEYS(X)
#undef X
#define X(name, type, since, use) {#name, MT_RECORD_TOP, MT_TOP_KEY_##name, USE_##use},
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
        k->needed |= (uint8_t)((KEYS[i].use == USE_NEED) << KEYS[i].record);
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

/* ---- which record ---- */

const char *mt_record_name(enum mt_record record)
{
    static const char *const names[MT_RECORD_COUNT] = {"event", "segment",    "block",   "history",
                                                       "frame", "annotation", "snapshot"};
    return names[record];
}

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
    static mt_record_make *const make[] = {
        [MT_RECORD_EVENT] = mt_record_event, [MT_RECORD_SEGMENT] = mt_record_segment,
        [MT_RECORD_BLOCK] = mt_record_block, [MT_RECORD_HISTORY] = mt_record_history,
        [MT_RECORD_FRAME] = mt_record_frame, [MT_RECORD_ANNOTATION] = mt_record_annotation,
    };
    *out = 0;
    if (n == 0) {
        return MT_OK;
    }
    enum mt_record record = classify(&m->schema, pairs, n);
    if (record == MT_RECORD_COUNT) {
        return MT_OK;
    }
    enum mt_status status = make[record](m, pairs, n, out);
    return MT_LIKELY(status == MT_OK) ? MT_OK
                                      : mt_error_prefix(m->err, "%s", mt_record_name(record));
}
