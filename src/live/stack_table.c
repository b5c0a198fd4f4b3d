/* SPDX-License-Identifier: MIT */
/*
 * Interning stacks. The key of a stack is what the capture gave, compared in full behind a 64-bit
 * hash; what it reads like is stored beside it, frame by frame, equal lines once.
 */
#include "stack_table.h"

#include <string.h>

#include <memtool/mem.h>

/* A program that never stops making new stacks (deep recursion, generated code) must not eat the
 * host: beyond so many, events have none. */
enum { FIRST_SLOTS = 1024, MAX_STACKS = 1 << 20 };

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
    t->frame_slots = mt_mem_zalloc(FIRST_SLOTS, sizeof *t->frame_slots);
    t->stack_slots = mt_mem_zalloc(FIRST_SLOTS, sizeof *t->stack_slots);
    t->frame_mask = t->stack_mask = FIRST_SLOTS - 1;
    if (!t->frame_slots || !t->stack_slots || !push_none(t)) {
        mt_stack_table_release(t);
        return false;
    }
    return true;
}

void mt_stack_table_release(struct mt_stack_table *t)
{
    mt_intern_release(&t->strings);
    mt_arena_release(&t->arena);
    mt_vec_release(&t->raw);
    mt_vec_release(&t->frames);
    mt_vec_release(&t->members);
    mt_vec_release(&t->stacks);
    mt_mem_free(t->frame_slots);
    mt_mem_free(t->stack_slots);
    memset(t, 0, sizeof *t);
}

static inline bool is_stack(const struct mt_stack_table *t, uint32_t id,
                            const struct mt_raw_stack *raw)
{
    const struct mt_live_stack *s = &t->stacks.v[id];
    return s->hash == raw->hash && s->n_raw == raw->n &&
           memcmp(&t->raw.v[s->first_raw], raw->frames, raw->n * sizeof raw->frames[0]) == 0;
}

/* From slot `at` on. */
static uint32_t find_from(const struct mt_stack_table *t, const struct mt_raw_stack *raw, size_t at)
{
    while (t->stack_slots[at] != 0 && !is_stack(t, t->stack_slots[at], raw)) {
        at = (at + 1) & t->stack_mask;
    }
    return t->stack_slots[at];
}

uint32_t mt_stack_table_find(const struct mt_stack_table *t, const struct mt_raw_stack *raw)
{
    size_t home = raw->hash & t->stack_mask;
    uint32_t id = t->stack_slots[home];
    return MT_LIKELY(is_stack(t, id, raw)) ? id : find_from(t, raw, home);
}

static uint64_t frame_hash(const struct mt_live_frame *f)
{
    return mt_hash_mix(((uint64_t)f->name << 32) | f->filename, (uint32_t)f->line);
}

/* Puts `id` where its hash leads; there is room. */
static void place(uint32_t *slots, size_t mask, uint64_t hash, uint32_t id)
{
    size_t at = hash & mask;
    while (slots[at]) {
        at = (at + 1) & mask;
    }
    slots[at] = id;
}

/* Twice the slots when `n` items would fill more than half; `hash_of` tells an item's hash. */
static bool make_room(const struct mt_stack_table *t, uint32_t **slots, size_t *mask, size_t n,
                      uint64_t (*hash_of)(const struct mt_stack_table *, uint32_t))
{
    if (2 * n <= *mask) {
        return true;
    }
    size_t wider = 2 * (*mask + 1);
    uint32_t *fresh = mt_mem_zalloc(wider, sizeof *fresh);
    if (!fresh) {
        return false;
    }
    for (size_t i = 0; i <= *mask; i++) {
        if ((*slots)[i]) {
            place(fresh, wider - 1, hash_of(t, (*slots)[i]), (*slots)[i]);
        }
    }
    mt_mem_free(*slots);
    *slots = fresh;
    *mask = wider - 1;
    return true;
}

static uint64_t hash_of_frame(const struct mt_stack_table *t, uint32_t id)
{
    return frame_hash(&t->frames.v[id]);
}

static uint64_t hash_of_stack(const struct mt_stack_table *t, uint32_t id)
{
    return t->stacks.v[id].hash;
}

static uint32_t add_frame(struct mt_stack_table *t, const struct mt_frame_text *text)
{
    const struct mt_live_frame f = {mt_intern_put(&t->strings, text->name.p, text->name.n),
                                    mt_intern_put(&t->strings, text->filename.p, text->filename.n),
                                    text->line};
    uint64_t hash = frame_hash(&f);
    for (size_t at = hash & t->frame_mask; t->frame_slots[at]; at = (at + 1) & t->frame_mask) {
        const struct mt_live_frame *g = &t->frames.v[t->frame_slots[at]];
        if (g->name == f.name && g->filename == f.filename && g->line == f.line) {
            return t->frame_slots[at];
        }
    }
    uint32_t id = (uint32_t)t->frames.n;
    if (id == UINT32_MAX ||
        !make_room(t, &t->frame_slots, &t->frame_mask, t->frames.n, hash_of_frame) ||
        !mt_vec_push(&t->frames, f)) {
        return 0;
    }
    place(t->frame_slots, t->frame_mask, hash, id);
    return id;
}

uint32_t mt_stack_table_add(struct mt_stack_table *t, const struct mt_raw_stack *raw,
                            const struct mt_frame_text *texts, size_t n)
{
    uint32_t known = mt_stack_table_find(t, raw);
    if (known) {
        return known;
    }
    struct mt_live_stack s = {.hash = raw->hash,
                              .first_raw = (uint32_t)t->raw.n,
                              .n_raw = raw->n,
                              .first = (uint32_t)t->members.n,
                              .n = (uint32_t)n};
    uint32_t id = (uint32_t)t->stacks.n;
    if (id >= MAX_STACKS || !mt_vec_reserve(&t->raw, t->raw.n + raw->n) ||
        !mt_vec_reserve(&t->members, t->members.n + n) ||
        !make_room(t, &t->stack_slots, &t->stack_mask, t->stacks.n, hash_of_stack)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        t->members.v[t->members.n + i] = add_frame(t, &texts[i]);
    }
    if (!mt_vec_push(&t->stacks, s)) {
        return 0;
    }
    memcpy(&t->raw.v[t->raw.n], raw->frames, raw->n * sizeof raw->frames[0]);
    t->raw.n += raw->n;
    t->members.n += n;
    place(t->stack_slots, t->stack_mask, raw->hash, id);
    return id;
}
