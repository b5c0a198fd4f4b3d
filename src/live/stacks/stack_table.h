/* SPDX-License-Identifier: MIT */
/*
 * The stacks that a recorder has seen: each once, by id, with its frames in words. Grows with the
 * number of different stacks of the program, never with events. The caller brings the lock.
 */
#ifndef MEMTOOL_LIVE_STACKS_STACK_TABLE_H
#define MEMTOOL_LIVE_STACKS_STACK_TABLE_H

#include <stdbool.h>

#include "live/stacks/raw_stack.h"
#include "support/arena.h"
#include "support/hash.h"
#include "support/vec.h"

struct mt_live_frame {
    uint32_t name, filename; /* string ids */
    int32_t line;
};

struct mt_live_stack {
    uint32_t first, n; /* in `members`: frame ids, innermost first */
};

/* Ids by key; open addressing, at most half full. An id of 0 is an empty slot. Four slots to a
 * cache line, so that a lookup touches one. */
struct mt_key_slot {
    uint64_t hash;
    uint32_t check, id;
};

struct mt_key_table {
    struct mt_key_slot *slots;
    size_t mask;
};

/* Made empty by mt_stack_table_init. Slot 0 of frames and stacks is "none". */
struct mt_stack_table {
    struct mt_arena arena;
    struct mt_intern strings;
    MT_VEC(struct mt_live_frame) frames;
    MT_VEC(uint32_t) members;
    MT_VEC(struct mt_live_stack) stacks;
    struct mt_key_table frame_ids;
    struct mt_key_table stack_ids; /* last: what a lookup reads */
};

/* False when out of memory; then nothing is held. */
bool mt_stack_table_init(struct mt_stack_table *t) MT_NODISCARD;
void mt_stack_table_release(struct mt_stack_table *t);

/* The id of a key, 0 when it is not there. */
static inline uint32_t mt_key_table_find(const struct mt_key_table *t, uint64_t hash,
                                         uint32_t check)
{
    size_t at = hash & t->mask;
    while (t->slots[at].id && (t->slots[at].hash != hash || t->slots[at].check != check)) {
        at = (at + 1) & t->mask;
    }
    return t->slots[at].id;
}

/* The id of a captured stack, 0 when it is new. The hot way. */
static inline uint32_t mt_stack_table_find(const struct mt_stack_table *t,
                                           const struct mt_raw_stack *raw)
{
    return mt_key_table_find(&t->stack_ids, raw->key.hash, (uint32_t)raw->key.check);
}

/* No stack more is taken: every new one has the id 0. */
bool mt_stack_table_full(const struct mt_stack_table *t);

/* Adds a stack whose frames read texts[0 .. n); returns its id (an equal one that came meanwhile is
 * found), 0 when memory is out or the table full. */
uint32_t mt_stack_table_add(struct mt_stack_table *t, const struct mt_raw_stack *raw,
                            const struct mt_frame_text *texts, size_t n) MT_NODISCARD;

#endif
