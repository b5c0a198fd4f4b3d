/* SPDX-License-Identifier: MIT */
/*
 * Hashing eight bytes at a time with a multiply-and-fold mix, the id map, and the string table.
 * Removal from the map shifts the following run back, so there are no tombstones and a map that is
 * used as a live set (allocate, free, allocate ...) never degrades.
 */
#include "support/hash.h"

#include <string.h>

#include "support/mem.h"

uint64_t mt_hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const unsigned char *b = p;
    uint64_t h = seed ^ (n * 0x9fb21c651e98df25u);
    while (n >= 8) {
        uint64_t w;
        memcpy(&w, b, 8);
        h = mt_hash_step(h, w);
        b += 8;
        n -= 8;
    }
    uint64_t tail = 0;
    if (n) {
        memcpy(&tail, b, n);
    }
    return mt_hash_mix(h, tail);
}

/* ---- id map ---- */

void mt_idmap_release(struct mt_idmap *m)
{
    mt_mem_free(m->slots);
    *m = (struct mt_idmap){.seed = m->seed};
}

static size_t home(const struct mt_idmap *m, uint64_t key)
{
    return (size_t)mt_hash_mix(key, m->seed) & m->mask;
}

/* The slot that holds `key`, or the free slot where it would go. */
static size_t probe(const struct mt_idmap *m, uint64_t key)
{
    size_t i = home(m, key);
    while (m->slots[i].used && m->slots[i].key != key) {
        i = (i + 1) & m->mask;
    }
    return i;
}

uint32_t *mt_idmap_find(const struct mt_idmap *m, uint64_t key)
{
    if (m->n == 0) {
        return NULL;
    }
    struct mt_idmap_slot *s = &m->slots[probe(m, key)];
    return s->used ? &s->value : NULL;
}

static bool idmap_grow(struct mt_idmap *m)
{
    size_t count = m->slots ? (m->mask + 1) * 2 : 16;
    struct mt_idmap bigger = {mt_mem_zalloc(count, sizeof *m->slots), m->n, count - 1, m->seed};
    if (!bigger.slots) {
        return false;
    }
    for (size_t i = 0; m->slots && i <= m->mask; i++) {
        if (m->slots[i].used) {
            bigger.slots[probe(&bigger, m->slots[i].key)] = m->slots[i];
        }
    }
    mt_mem_free(m->slots);
    *m = bigger;
    return true;
}

bool mt_idmap_put(struct mt_idmap *m, uint64_t key, uint32_t value)
{
    if ((m->n + 1) * 2 > m->mask + 1 || !m->slots) {
        if (!idmap_grow(m)) {
            return false;
        }
    }
    struct mt_idmap_slot *s = &m->slots[probe(m, key)];
    m->n += !s->used;
    *s = (struct mt_idmap_slot){key, value, 1};
    return true;
}

bool mt_idmap_remove(struct mt_idmap *m, uint64_t key, uint32_t *value)
{
    if (m->n == 0) {
        return false;
    }
    size_t i = probe(m, key);
    if (!m->slots[i].used) {
        return false;
    }
    if (value) {
        *value = m->slots[i].value;
    }
    size_t hole = i;
    for (size_t j = (i + 1) & m->mask; m->slots[j].used; j = (j + 1) & m->mask) {
        size_t want = home(m, m->slots[j].key);
        if (((j - want) & m->mask) >= ((j - hole) & m->mask)) {
            m->slots[hole] = m->slots[j];
            hole = j;
        }
    }
    m->slots[hole].used = 0;
    m->n--;
    return true;
}

/* ---- string table ---- */

void mt_intern_init(struct mt_intern *t, struct mt_arena *arena, uint64_t seed)
{
    *t = (struct mt_intern){.arena = arena, .seed = seed};
}

void mt_intern_release(struct mt_intern *t)
{
    mt_vec_release(&t->strings);
    mt_mem_free(t->slots);
    *t = (struct mt_intern){.arena = t->arena, .seed = t->seed};
}

static size_t intern_probe(const struct mt_intern *t, struct mt_str s)
{
    size_t i = (size_t)mt_hash_bytes(s.p, s.n, t->seed) & t->mask;
    while (t->slots[i] && !mt_str_equal(t->strings.v[t->slots[i]], s)) {
        i = (i + 1) & t->mask;
    }
    return i;
}

static bool intern_grow(struct mt_intern *t)
{
    size_t count = t->slots ? (t->mask + 1) * 2 : 256;
    uint32_t *slots = mt_mem_zalloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    mt_mem_free(t->slots);
    t->slots = slots;
    t->mask = count - 1;
    for (size_t id = 1; id < t->strings.n; id++) {
        t->slots[intern_probe(t, t->strings.v[id])] = (uint32_t)id;
    }
    return true;
}

uint32_t mt_intern_put(struct mt_intern *t, const void *p, size_t n)
{
    if (t->strings.n == 0 && !mt_vec_push(&t->strings, MT_STR(""))) {
        return 0;
    }
    if (t->strings.n * 2 > t->mask && !intern_grow(t)) {
        return 0;
    }
    size_t i = intern_probe(t, (struct mt_str){p, n});
    if (t->slots[i]) {
        return t->slots[i];
    }
    if (t->strings.n > UINT32_MAX) {
        return 0;
    }
    struct mt_str copy = mt_arena_copy(t->arena, p, n);
    if (!copy.p || !mt_vec_push(&t->strings, copy)) {
        return 0;
    }
    t->slots[i] = (uint32_t)(t->strings.n - 1);
    return t->slots[i];
}

uint32_t mt_intern_find(const struct mt_intern *t, const void *p, size_t n)
{
    return t->slots ? t->slots[intern_probe(t, (struct mt_str){p, n})] : 0;
}
