/* SPDX-License-Identifier: MIT */
/*
 * Seeded hashing and the two tables built on it. The seed is chosen per run (fixed by MEMTOOL_SEED)
 * so that a hostile file cannot aim at one slot. Nothing that is printed depends on table order.
 */
#ifndef MEMTOOL_SUPPORT_HASH_H
#define MEMTOOL_SUPPORT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/str.h"
#include "support/vec.h"

/* One step of hashing words: a bijection of `b` for each `a`, and of `a` for each `b`. The top 15
 * bits of `b` do not reach the low 20 of the result: a table takes its slot from mt_hash_mix. */
static inline uint64_t mt_hash_step(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    x ^= x >> 32;
    x = (x ^ b) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 29);
}

/* A 64-bit mix of two words, each bit of which depends on all bits of both (multiply and fold, with
 * the constants of MurmurHash3's finalizer). */
static inline uint64_t mt_hash_mix(uint64_t a, uint64_t b)
{
    uint64_t x = mt_hash_step(a, b) * 0xff51afd7ed558ccdu;
    return x ^ (x >> 32);
}

uint64_t mt_hash_bytes(const void *p, size_t n, uint64_t seed);

/* ---- u64 -> u32 map, open addressing, linear probing, load at most one half ---- */

struct mt_idmap_slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
};

/* Empty when zeroed (then the seed is 0). */
struct mt_idmap {
    struct mt_idmap_slot *slots;
    size_t n;
    size_t mask; /* slots - 1; 0 when there are none */
    uint64_t seed;
};

void mt_idmap_release(struct mt_idmap *m);

/* Pointer to the value of `key`, or NULL; valid until the next put or remove. */
uint32_t *mt_idmap_find(const struct mt_idmap *m, uint64_t key);

/* Stores or replaces; false when out of memory (the map is unchanged). */
bool mt_idmap_put(struct mt_idmap *m, uint64_t key, uint32_t value) MT_NODISCARD;

/* Removes; returns whether the key was there, and its value through *value (may be NULL). */
bool mt_idmap_remove(struct mt_idmap *m, uint64_t key, uint32_t *value);

/* ---- interning of byte strings: equal bytes get the same id; ids are dense, from 1 ---- */

struct mt_intern {
    struct mt_arena *arena;        /* holds the bytes; borrowed */
    MT_VEC(struct mt_str) strings; /* by id; slot 0 is the empty string and means "none" */
    uint32_t *slots;               /* ids, 0 = empty */
    size_t mask;
    uint64_t seed;
};

/* `arena` must outlive the table. */
void mt_intern_init(struct mt_intern *t, struct mt_arena *arena, uint64_t seed);
void mt_intern_release(struct mt_intern *t);

/* The id of these bytes, added when new; 0 when out of memory or when 2^32 - 1 strings are there.
 */
uint32_t mt_intern_put(struct mt_intern *t, const void *p, size_t n) MT_NODISCARD;

/* The id of these bytes, or 0 when they were never added. */
uint32_t mt_intern_find(const struct mt_intern *t, const void *p, size_t n);

/* The bytes of an id that mt_intern_put gave; NUL-terminated; lives as long as the arena. */
static inline struct mt_str mt_intern_get(const struct mt_intern *t, uint32_t id)
{
    return t->strings.v[id];
}

#endif
