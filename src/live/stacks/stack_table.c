/* SPDX-License-Identifier: MIT */
/*
 * Interning stacks: by the key that the capture made, and what a stack reads like beside it, frame
 * by frame, equal lines once.
 */
#include "live/stacks/stack_table.h"

#include <string.h>

#include "support/mem.h"

/* A program that never stops making new stacks (deep recursion, generated code) must not eat the
 * host: beyond so many, events have none. */
enum { FIRST_SLOTS = 1024, MAX_STACKS = 1000000 };

/* ---- ids by key ---- */

static bool key_table_init(struct mt_key_table *t, size_t slots)
{
    t->slots = mt_mem_zalloc(slots, sizeof *t->slots);
    t->mask = slots - 1;
    return t->slots != NULL;
}

/* There is room, and the key is new. */
static void key_table_put(struct mt_key_table *t, struct mt_key_slot slot)
{
    size_t at = slot.hash & t->mask;
    while (t->slots[at].id) {
        at = (at + 1) & t->mask;
    }
    t->slots[at] = slot;
}

/* Room for one more than `n`; false when out of memory. */
static bool key_table_make_room(struct mt_key_table *t, size_t n)
{
    struct mt_key_table wider;
    if (2 * n <= t->mask) {
        return true;
    }
    if (!key_table_init(&wider, 2 * (t->mask + 1))) {
        return false;
    }
    for (size_t i = 0; i <= t->mask; i++) {
        if (t->slots[i].id) {
            key_table_put(&wider, t->slots[i]);
        }
    }
    mt_mem_free(t->slots);
    *t = wider;
    return true;
}

/* ---- the table ---- */

static bool push_none(struct mt_stack_table *t)
{
    const struct mt_live_frame no_frame = {0};
    const struct mt_live_stack no_stack = {0};
    return mt_vec_push(&t->frames, no_frame) && mt_vec_push(&t->stacks, no_stack);
}

bool mt_stack_table_init(struct mt_stack_table *t)
{
    memset(t, 0, sizeof *t);
    mt_intern_init(&t->strings, &t->arena, 0);
    if (!key_table_init(&t->frame_ids, FIRST_SLOTS) ||
        !key_table_init(&t->stack_ids, FIRST_SLOTS) || !push_none(t)) {
        mt_stack_table_release(t);
        return false;
    }
    return true;
}

void mt_stack_table_release(struct mt_stack_table *t)
{
    mt_intern_release(&t->strings);
    mt_arena_release(&t->arena);
    mt_vec_release(&t->frames);
    mt_vec_release(&t->members);
    mt_vec_release(&t->stacks);
    mt_mem_free(t->frame_ids.slots);
    mt_mem_free(t->stack_ids.slots);
    memset(t, 0, sizeof *t);
}

bool mt_stack_table_full(const struct mt_stack_table *t)
{
    return t->stacks.n >= MAX_STACKS;
}

/* The key of a frame is all of it: an odd factor and a turn lose nothing. */
static struct mt_key_slot frame_key(const struct mt_live_frame *f)
{
    uint64_t hash = ((uint64_t)f->name << 32 | f->filename) * 0x9e3779b97f4a7c15u;
    return (struct mt_key_slot){.hash = hash >> 32 | hash << 32, .check = (uint32_t)f->line};
}

static uint32_t add_frame(struct mt_stack_table *t, const struct mt_frame_text *text)
{
    const struct mt_live_frame f = {mt_intern_put(&t->strings, text->name.p, text->name.n),
                                    mt_intern_put(&t->strings, text->filename.p, text->filename.n),
                                    text->line};
    struct mt_key_slot key = frame_key(&f);
    uint32_t known = mt_key_table_find(&t->frame_ids, key.hash, key.check);
    if (known) {
        return known;
    }
    key.id = (uint32_t)t->frames.n;
    if (key.id == UINT32_MAX || !key_table_make_room(&t->frame_ids, t->frames.n) ||
        !mt_vec_push(&t->frames, f)) {
        return 0;
    }
    key_table_put(&t->frame_ids, key);
    return key.id;
}

uint32_t mt_stack_table_add(struct mt_stack_table *t, const struct mt_raw_stack *raw,
                            const struct mt_frame_text *texts, size_t n)
{
    uint32_t known = mt_stack_table_find(t, raw);
    if (known) {
        return known;
    }
    const struct mt_live_stack s = {.first = (uint32_t)t->members.n, .n = (uint32_t)n};
    const struct mt_key_slot key = {raw->key.hash, (uint32_t)raw->key.check, (uint32_t)t->stacks.n};
    if (mt_stack_table_full(t) || !mt_vec_reserve(&t->members, t->members.n + n) ||
        !key_table_make_room(&t->stack_ids, t->stacks.n)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        t->members.v[t->members.n + i] = add_frame(t, &texts[i]);
    }
    if (!mt_vec_push(&t->stacks, s)) {
        return 0;
    }
    t->members.n += n;
    key_table_put(&t->stack_ids, key);
    return key.id;
}
