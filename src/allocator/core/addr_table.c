/* SPDX-License-Identifier: MIT */
/*
 * From an address to its block, for callers that free by address. The table holds 4-byte block
 * indexes and compares with the address in the block, whose cache line the free needs anyway; half
 * of the slots stay empty. Removal shifts the following run back, so that nothing is left behind.
 */
#include "allocator/core/alloc_core.h"

enum { FIRST_BITS = 10 };

bool mt_addr_table_grow(struct mt_alloc *a)
{
    struct addr_table *t = &a->by_addr, old = *t;
    unsigned bits = t->slots ? 64 - t->shift + 1 : FIRST_BITS;
    uint32_t *slots = bits < 32 ? mt_mem_zalloc((size_t)1 << bits, sizeof *slots) : NULL;
    if (!slots) {
        return false;
    }
    t->slots = slots;
    t->mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    t->shift = 64 - bits;
    for (size_t k = 0; old.slots && k <= old.mask; k++) {
        if (old.slots[k]) {
            addr_place(a, old.slots[k]);
        }
    }
    mt_mem_free(old.slots);
    return true;
}

void mt_addr_table_close(struct mt_alloc *a, uint32_t slot)
{
    struct addr_table *t = &a->by_addr;
    uint32_t hole = slot;
    for (uint32_t k = (hole + 1) & t->mask; t->slots[k]; k = (k + 1) & t->mask) {
        uint32_t want = addr_home(t, block_at(a, t->slots[k])->addr);
        if (((k - want) & t->mask) >= ((k - hole) & t->mask)) {
            t->slots[hole] = t->slots[k];
            hole = k;
        }
    }
    t->slots[hole] = 0;
    t->n--;
}

/* Restored blocks are not listed. */
void mt_addr_table_remove(struct mt_alloc *a, uint32_t i)
{
    struct addr_table *t = &a->by_addr;
    uint32_t at = t->n ? addr_home(t, block_at(a, i)->addr) : 0;
    while (t->n && t->slots[at] && t->slots[at] != i) {
        at = (at + 1) & t->mask;
    }
    if (t->n && t->slots[at] == i) {
        mt_addr_table_close(a, at);
    }
}

mt_alloc_block mt_alloc_find(const struct mt_alloc *a, uint64_t addr)
{
    const struct addr_table *t = &a->by_addr;
    return (mt_alloc_block){t->n ? t->slots[mt_addr_table_slot(a, addr)] : 0};
}
