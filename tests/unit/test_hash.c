/* SPDX-License-Identifier: MIT */
/* The id map against a plain array, and interning: equal bytes, equal ids. */
#include <stdio.h>
#include <string.h>

#include "support/hash.h"

#include "unit.h"

enum { KEYS = 512 };

/* A small generator, so that the test is the same on every machine. */
static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Random puts and removes of few keys, compared with an array after each. */
static void compare_with_array(uint64_t seed)
{
    struct mt_idmap map = {.seed = seed};
    uint32_t values[KEYS] = {0}; /* 0: absent */
    uint64_t random = seed + 1;
    for (int step = 0; step < 20000; step++) {
        uint64_t key = next(&random) % KEYS;
        uint32_t old = 0;
        if (next(&random) % 3) {
            values[key] = (uint32_t)step + 1;
            ck_assert(mt_idmap_put(&map, key << 9, values[key]));
        } else {
            ck_assert_int_eq(mt_idmap_remove(&map, key << 9, &old), values[key] != 0);
            ck_assert_uint_eq(old, values[key]);
            values[key] = 0;
        }
        uint64_t probe = next(&random) % KEYS;
        uint32_t *found = mt_idmap_find(&map, probe << 9);
        ck_assert_uint_eq(found ? *found : 0, values[probe]);
    }
    size_t n = 0;
    for (size_t i = 0; i < KEYS; i++) {
        n += values[i] != 0;
    }
    ck_assert_uint_eq(map.n, n);
    mt_idmap_release(&map);
}

START_TEST(map_equals_array)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        compare_with_array(seed);
    }
}
END_TEST

START_TEST(map_edges)
{
    struct mt_idmap map = {0};
    ck_assert_ptr_null(mt_idmap_find(&map, 0));
    ck_assert(!mt_idmap_remove(&map, 0, NULL));
    ck_assert(mt_idmap_put(&map, 0, 7));
    ck_assert(mt_idmap_put(&map, UINT64_MAX, 8));
    ck_assert_uint_eq(*mt_idmap_find(&map, 0), 7);
    ck_assert_uint_eq(*mt_idmap_find(&map, UINT64_MAX), 8);
    ck_assert(mt_idmap_put(&map, 0, 9));
    ck_assert_uint_eq(*mt_idmap_find(&map, 0), 9);
    ck_assert_uint_eq(map.n, 2);
    mt_idmap_release(&map);
}
END_TEST

START_TEST(interning)
{
    struct mt_arena arena = {0};
    struct mt_intern t;
    char text[16];
    uint32_t ids[3000];
    mt_intern_init(&t, &arena, 42);
    ck_assert_uint_eq(mt_intern_find(&t, "x", 1), 0);
    for (int i = 0; i < 3000; i++) {
        int n = snprintf(text, sizeof text, "%d", i);
        ids[i] = mt_intern_put(&t, text, (size_t)n);
        ck_assert_uint_eq(ids[i], (uint32_t)i + 1);
    }
    for (int i = 0; i < 3000; i++) {
        int n = snprintf(text, sizeof text, "%d", i);
        ck_assert_uint_eq(mt_intern_put(&t, text, (size_t)n), ids[i]);
        ck_assert_uint_eq(mt_intern_find(&t, text, (size_t)n), ids[i]);
        ck_assert_text(mt_intern_get(&t, ids[i]), text);
    }
    uint32_t with_nul = mt_intern_put(&t, "a\0b", 3);
    ck_assert_uint_ne(with_nul, mt_intern_put(&t, "a", 1));
    ck_assert_uint_eq(mt_intern_get(&t, with_nul).n, 3);
    ck_assert_uint_ne(mt_intern_put(&t, "", 0), 0);
    mt_intern_release(&t);
    mt_arena_release(&arena);
}
END_TEST

START_TEST(hash_takes_every_byte)
{
    char text[40] = {0};
    for (size_t n = 0; n <= sizeof text; n++) {
        uint64_t h = mt_hash_bytes(text, n, 1);
        ck_assert(h != mt_hash_bytes(text, n, 2));
        ck_assert(n == sizeof text || h != mt_hash_bytes(text, n + 1, 1));
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            ck_assert(h != mt_hash_bytes(text, n, 1));
            text[i] = 0;
        }
    }
}
END_TEST

/* How far apart the 2^16 keys of a family stand in a table of 2^17 slots with linear probing: a
 * look-up takes 1.5 probes at random, and thousands where keys share their low bits. */
static double probes_of(uint64_t (*hash)(uint64_t key, uint64_t seed), unsigned shift)
{
    enum { BITS = 17, MANY = 1 << 16 };
    static unsigned char taken[1 << BITS];
    size_t probes = 0;
    memset(taken, 0, sizeof taken);
    for (uint64_t k = 0; k < MANY; k++) {
        size_t i = (size_t)hash(k << shift, 42) & ((1 << BITS) - 1);
        for (probes++; taken[i]; probes++) {
            i = (i + 1) & ((1 << BITS) - 1);
        }
        taken[i] = 1;
    }
    return (double)probes / MANY;
}

static uint64_t of_bytes(uint64_t key, uint64_t seed)
{
    return mt_hash_bytes(&key, sizeof key, seed);
}

static uint64_t of_two_words(uint64_t key, uint64_t seed)
{
    const uint64_t words[2] = {key, key >> 1};
    return mt_hash_bytes(words, sizeof words, seed);
}

static uint64_t of_second(uint64_t key, uint64_t seed)
{
    return mt_hash_mix(seed, key);
}

/* Whichever bits of a word the keys differ in, they spread over the slots of a table. */
START_TEST(keys_spread_over_a_table)
{
    uint64_t (*const all[])(uint64_t, uint64_t) = {of_bytes, of_two_words, of_second, mt_hash_mix};
    for (unsigned shift = 0; shift <= 48; shift += 4) {
        for (size_t i = 0; i < MT_COUNT(all); i++) {
            double probes = probes_of(all[i], shift);
            ck_assert_msg(probes < 2, "hash %zu, shift %u: %.1f probes", i, shift, probes);
        }
    }
}
END_TEST

UNIT_MAIN("hash", map_equals_array, map_edges, interning, hash_takes_every_byte,
          keys_spread_over_a_table)
