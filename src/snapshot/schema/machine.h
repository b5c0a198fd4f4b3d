/* SPDX-License-Identifier: MIT */
/*
 * The machine that both readers drive: a value stack with marks, a memo, and the containers that
 * are being filled. It knows neither pickle nor JSON nor the meaning of keys. When a dictionary
 * closes it asks the schema what it is; records (events, frames, segments ...) go to the builder at
 * once and only their id stays behind, so nothing is allocated per event.
 *
 * A container is sealed when another one takes it in: then it is turned into a finished value, and
 * cannot change any more. That keeps everything free of recursion and makes cycles an error.
 *
 * Positions in errors are m->offset, which the reader keeps at the current opcode or token.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_MACHINE_H
#define MEMTOOL_SNAPSHOT_SCHEMA_MACHINE_H

#include "snapshot/model/builder.h"
#include "snapshot/schema/memo.h"
#include "snapshot/schema/schema.h"
#include "snapshot/schema/stack_guess.h"
#include "snapshot/schema/word.h"
#include "support/vec.h"

enum mt_container_kind {
    MT_CONTAINER_LIST,  /* of anything: words in `items` */
    MT_CONTAINER_TUPLE, /* the same */
    MT_CONTAINER_DICT,  /* the same: key, value, key, value ... */
    MT_CONTAINER_RANGE  /* a list of records of one kind: [first, first + n) */
};

struct mt_container {
    uint8_t kind;
    uint8_t record;  /* RANGE: the records' tag */
    bool sealed;     /* `value` is final */
    bool pinned;     /* may be named again: never recycled */
    bool duplicated; /* the stack may hold it twice (DUP, or fetched from the memo) */
    uint32_t depth;  /* 1 + that of the deepest child */
    uint32_t memo;   /* memo index + 1, or 0 */
    uint32_t stack;  /* stack id of a list of frames, once asked for */
    uint32_t first;  /* RANGE */
    uint32_t n;
    MT_VEC(mt_word) items;
    struct mt_value value;
};

enum { MT_SHORT_STRINGS = 64, MT_RECENT_BITS = 10 };

struct mt_machine {
    struct mt_builder *builder;
    struct mt_schema schema;
    struct mt_error *err;
    uint64_t offset;
    uint32_t max_depth;
    uint64_t told_events; /* what the user allows, 0 = nothing said */
    uint64_t max_events;  /* so many, or what the reader finds right for the file */

    MT_VEC(mt_word) stack;
    MT_VEC(uint32_t) marks; /* stack heights */
    size_t fence;           /* height of the last mark: nothing below may be popped */
    struct mt_memo memo;
    MT_VEC(struct mt_container) containers;
    MT_VEC(uint32_t) free_containers;
    MT_VEC(uint32_t) pairs; /* container of the tuple (a, b), by pool index + 1 */
    MT_VEC(uint64_t) wides;
    MT_VEC(double) floats;
    MT_VEC(uint32_t) frame_ids; /* scratch for interning a stack */
    struct {
        uint64_t bytes;
        uint32_t n, id;
    } short_strings[MT_SHORT_STRINGS]; /* ids of strings of at most 8 bytes, seen lately */
    uint32_t recent_strings[1 << MT_RECENT_BITS]; /* ids of others, 0: none */
    struct mt_key_ref {
        uint64_t bytes, mask;       /* an opcode with its operand */
        uint32_t n;                 /* its length */
    } key_refs[MT_EVENT_KEY_COUNT]; /* the one that last fetched this key from the memo */
    struct mt_key_ref last_text;    /* the last short string, as an opcode with its operand */
    uint32_t last_text_id;
    struct {
        struct mt_pool_id id;
        mt_word word; /* 0: there was none */
        uint32_t pool;
    } last_pair;
    struct mt_stack_guesses guesses;
    uint32_t column_defaults[MT_COLUMN_COUNT]; /* of the builder */
    bool torn;         /* memory ran out in the middle of a fast path: nothing may be tried again */
    bool bare_list;    /* finished: the top was a list of segments */
    size_t n_items;    /* in all containers */
    size_t long_bytes; /* of long strings */
    uint32_t newest_string; /* the highest id that they have */
    int last_key;           /* finished: enum mt_top_key of the dictionary's last one, -1: none */
};

/* max_events: 0 = as many as have ids. */
enum mt_status mt_machine_init(struct mt_machine *m, struct mt_builder *b, uint32_t max_depth,
                               uint64_t max_events, struct mt_error *err) MT_NODISCARD;
void mt_machine_release(struct mt_machine *m);

/*
 * Whether there may be one more of something of which there are n: a million at first, then one for
 * each `bytes_each` bytes read, or as many as the user allows events. For what is no record:
 * PyTorch writes little of it, and a file of few bytes, or of gzip, could ask for all memory with
 * it. Errors: MT_LIMIT, "more than 1,000,000 `what`".
 */
enum mt_status mt_machine_allow(const struct mt_machine *m, size_t n, unsigned bytes_each,
                                const char *what) MT_NODISCARD;

/* Makes room on the stack. Errors: MT_LIMIT, MT_NOMEM. */
enum mt_status mt_machine_grow_stack(struct mt_machine *m) MT_NODISCARD;

/* Pushes one word. Errors: MT_LIMIT, MT_NOMEM. */
MT_NODISCARD static inline enum mt_status mt_machine_push(struct mt_machine *m, mt_word w)
{
    if (MT_UNLIKELY(m->stack.n == m->stack.cap)) {
        MT_TRY(mt_machine_grow_stack(m));
    }
    m->stack.v[m->stack.n++] = w;
    return MT_OK;
}

/* Integers of any width become words. Errors: MT_NOMEM. */
enum mt_status mt_machine_push_u64(struct mt_machine *m, uint64_t magnitude, bool negative)
    MT_NODISCARD;
enum mt_status mt_machine_push_float(struct mt_machine *m, double x) MT_NODISCARD;
/* A string. */
enum mt_status mt_machine_push_str(struct mt_machine *m, const void *p, size_t n) MT_NODISCARD;
/* Bytes, or the decimal digits of an integer beyond 64 bits. */
enum mt_status mt_machine_push_raw(struct mt_machine *m, const void *p, size_t n, bool is_bytes)
    MT_NODISCARD;

/* Errors: MT_LIMIT beyond max_depth. */
enum mt_status mt_machine_mark(struct mt_machine *m) MT_NODISCARD;

/* Pops the last mark: *at is the height where it stood. Errors: MT_FORMAT without a mark. */
enum mt_status mt_machine_pop_mark(struct mt_machine *m, size_t *at) MT_NODISCARD;

/* Appends the words from height `from` to the list just below, and pops them. Errors: MT_FORMAT
 * when there is no list, or when it mixes records. */
enum mt_status mt_machine_append(struct mt_machine *m, size_t from) MT_NODISCARD;

/* The same for pairs and the dictionary just below. `closes`: the dictionary is complete, so it may
 * become a record at once. */
enum mt_status mt_machine_set(struct mt_machine *m, size_t from, bool closes) MT_NODISCARD;

/* Replaces the words from height `from` by one tuple, list or dictionary of them. */
enum mt_status mt_machine_tuple(struct mt_machine *m, size_t from) MT_NODISCARD;

enum mt_status mt_machine_pop(struct mt_machine *m) MT_NODISCARD;
enum mt_status mt_machine_dup(struct mt_machine *m) MT_NODISCARD;
enum mt_status mt_machine_put(struct mt_machine *m, uint64_t index) MT_NODISCARD;
enum mt_status mt_machine_get(struct mt_machine *m, uint64_t index) MT_NODISCARD;

/* Applies what a call of IDENTITY with a tuple of arguments gives: its first argument. */
enum mt_status mt_machine_identity(struct mt_machine *m) MT_NODISCARD;

/* Closes everything that is open, as if the input had ended in good order: lists keep what they
 * have, records that are not complete are dropped. For --salvage. */
enum mt_status mt_machine_close_all(struct mt_machine *m) MT_NODISCARD;

/* Hands the single value on the stack to the schema as the snapshot. */
enum mt_status mt_machine_finish(struct mt_machine *m) MT_NODISCARD;

/* The id of a string of at most 8 bytes, of which 8 may be read; 0 when out of memory. Writers
 * repeat "N/A" and "" for every event. */
uint32_t mt_machine_short_str(struct mt_machine *m, const uint8_t *p, size_t n) MT_NODISCARD;

/* ---- containers: between machine.c and containers.c ---- */

static inline struct mt_container *mt_container_of(const struct mt_machine *m, mt_word w)
{
    return &m->containers.v[mt_word_payload(w)];
}

/* Gives what the memo calls `memo` (index + 1, 0 = nothing) another value. */
enum mt_status mt_machine_remember(struct mt_machine *m, uint32_t memo, mt_word w) MT_NODISCARD;

/* A new container, `memo` as in mt_container; *w is its word. */
enum mt_status mt_container_new(struct mt_machine *m, enum mt_container_kind kind, uint32_t memo,
                                mt_word *w) MT_NODISCARD;

/* Appends the n words at height `from` of the stack. */
enum mt_status mt_container_add(struct mt_machine *m, mt_word w, size_t from, size_t n)
    MT_NODISCARD;

/* Settles a word that is about to become part of a container: a dictionary becomes a record if it
 * is one, any other container is sealed. */
enum mt_status mt_container_settle(struct mt_machine *m, mt_word *w) MT_NODISCARD;

/* ---- for the schema ---- */

/* True, with *magnitude and *negative, when w is an integer of at most 64 bits. */
bool mt_machine_integer(const struct mt_machine *m, mt_word w, uint64_t *magnitude, bool *negative);

/* Turns a list of frames into a stack id: 0 when w is anything else. The container is given back.
 */
enum mt_status mt_machine_take_stack(struct mt_machine *m, mt_word w, uint32_t *stack) MT_NODISCARD;

/* A pair of integers, as tuple or list; false when w is anything else. */
bool mt_machine_pair(const struct mt_machine *m, mt_word w, struct mt_pool_id *pair);

/* A list of records of one kind: false when w is anything else; an empty list has n = 0. */
bool mt_machine_range(const struct mt_machine *m, mt_word w, enum mt_tag record, uint32_t *first,
                      uint32_t *n);

/* Any word as a finished value. Errors: MT_LIMIT (depth), MT_NOMEM. */
enum mt_status mt_machine_value(struct mt_machine *m, mt_word w, struct mt_value *value)
    MT_NODISCARD;

/* What w is, for messages: "an integer", "a list". */
const char *mt_machine_describe(const struct mt_machine *m, mt_word w);

#endif
