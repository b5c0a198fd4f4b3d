/* SPDX-License-Identifier: MIT */
/*
 * The stacks that a recorder has seen: each once, by id, with its frames in words. Grows with the
 * number of different stacks of the program, never with events. The caller brings the lock.
 */
#ifndef LIVE_STACK_TABLE_H
#define LIVE_STACK_TABLE_H

#include <stdbool.h>

#include <memtool/arena.h>
#include <memtool/hash.h>
#include <memtool/vec.h>

#include "raw_stack.h"

struct mt_live_frame {
    uint32_t name, filename; /* string ids */
    int32_t line;
};

struct mt_live_stack {
    uint64_t hash;
    uint32_t first_raw, n_raw; /* in `raw`: what the capture gave, to compare */
    uint32_t first, n;         /* in `members`: frame ids, innermost first */
};

/* Made empty by mt_stack_table_init. Slot 0 of frames and stacks is "none". */
struct mt_stack_table {
    struct mt_arena arena;
    struct mt_intern strings;
    MT_VEC(struct mt_raw_frame) raw;
    MT_VEC(struct mt_live_frame) frames;
    MT_VEC(uint32_t) members;
    MT_VEC(struct mt_live_stack) stacks;
    uint32_t *frame_slots; /* open addressing over frames and stacks; 0 is empty */
    uint32_t *stack_slots;
    size_t frame_mask, stack_mask;
};

/* False when out of memory; then nothing is held. */
bool mt_stack_table_init(struct mt_stack_table *t) MT_NODISCARD;
void mt_stack_table_release(struct mt_stack_table *t);

/* The id of a captured stack, 0 when it is new. The hot way: one probe and a comparison. */
uint32_t mt_stack_table_find(const struct mt_stack_table *t, const struct mt_raw_stack *raw);

/* Adds a stack whose frames read texts[0 .. n); returns its id (an equal one that came meanwhile is
 * found), 0 when memory is out or the table full. */
uint32_t mt_stack_table_add(struct mt_stack_table *t, const struct mt_raw_stack *raw,
                            const struct mt_frame_text *texts, size_t n) MT_NODISCARD;

#endif
