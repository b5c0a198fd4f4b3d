/* SPDX-License-Identifier: MIT */
/*
 * What the keys of a snapshot mean. Both readers hand over dictionaries as key/value words; the
 * schema says which record that is and has it put into the builder.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_SCHEMA_H
#define MEMTOOL_SNAPSHOT_SCHEMA_SCHEMA_H

#include "snapshot/model/builder.h"
#include "snapshot/schema/word.h"
#include "support/vec.h"
#include "torch/keys.h"

struct mt_machine;

enum mt_record { /* names: mt_record_name */
                 MT_RECORD_EVENT,
                 MT_RECORD_SEGMENT,
                 MT_RECORD_BLOCK,
                 MT_RECORD_HISTORY,
                 MT_RECORD_FRAME,
                 MT_RECORD_ANNOTATION,
                 MT_RECORD_TOP,
                 MT_RECORD_COUNT
};

/* What a known string means as a key: its enum value in each record, or -1; and as a word. */
struct mt_known {
    int8_t key[MT_RECORD_COUNT];
    uint8_t needed; /* bits 1 << enum mt_record: there sizes and addresses are made of it */
    uint8_t mark;   /* the bits by which records are told apart */
    uint8_t action; /* enum mt_action of this word, OTHER when it is none */
};

enum { MT_KNOWN_MAX = 64 }; /* distinct words of keys.h and actions, with room; asserted */

struct mt_schema {
    struct mt_known known[MT_KNOWN_MAX]; /* by string id: known strings are interned first */
    uint32_t n_known;
    mt_word event_keys[MT_EVENT_KEY_COUNT]; /* each key of an event as a word */
    uint32_t action_key;                    /* string id of "action" */
    uint32_t states[3], kinds[2];           /* string ids of the block states and pool kinds */
    MT_VEC(struct mt_segment) segments;     /* kept until the top tells device from host */
    bool strays;                            /* some of them are values of unknown keys */
    uint32_t empty_stack;
    /* events come in runs that are alike: the last answers */
    struct {
        uint32_t present, action_name;
        uint8_t index;
        bool valid;
    } last_shape;
    struct {
        uint64_t handle;
        uint16_t index;
        bool negative, valid;
    } last_stream;
};

/* The meaning of a key in a record: its enum value, or -1 for what goes to the extras. */
static inline int mt_schema_key(const struct mt_schema *s, enum mt_record record, mt_word key,
                                mt_word value)
{
    uint64_t id = mt_word_payload(key);
    if (mt_word_tag(key) != MT_TAG_STR || id >= s->n_known ||
        value == mt_word_make(MT_TAG_CONST, MT_CONST_NONE)) {
        return -1;
    }
    return s->known[id].key[record];
}

/* Whether an odd value of the key refuses the file. */
static inline bool mt_schema_needs(const struct mt_schema *s, enum mt_record record, mt_word key)
{
    return s->known[mt_word_payload(key)].needed >> record & 1;
}

/* "event", "segment" ... */
const char *mt_record_name(enum mt_record record);

enum mt_status mt_schema_init(struct mt_schema *s, struct mt_builder *b, struct mt_error *err)
    MT_NODISCARD;
void mt_schema_release(struct mt_schema *s);

/*
 * Looks at n pairs (key, value, key, value ...). When they make a record it goes to the builder and
 * *out is its word; otherwise *out is 0 (the word of the integer 0, which no record has).
 * Errors: MT_FORMAT (a value of the wrong type or out of range), MT_LIMIT, MT_NOMEM.
 */
enum mt_status mt_schema_reduce(struct mt_machine *m, const mt_word *pairs, size_t n, mt_word *out)
    MT_NODISCARD;

/* Takes the top-level value: a dictionary of n pairs with segments or traces, or a bare list of the
 * segments [first, first + n) of mt_schema.segments. Errors: MT_FORMAT (no snapshot), MT_NOMEM. */
enum mt_status mt_schema_top(struct mt_machine *m, const mt_word *pairs, size_t n) MT_NODISCARD;
enum mt_status mt_schema_top_list(struct mt_machine *m, uint32_t first, uint32_t n) MT_NODISCARD;

#endif
