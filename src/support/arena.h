/* SPDX-License-Identifier: MIT */
/* A bump allocator: everything in it dies together. */
#ifndef MEMTOOL_SUPPORT_ARENA_H
#define MEMTOOL_SUPPORT_ARENA_H

#include <stddef.h>

#include "support/str.h"

struct mt_arena_chunk;

/* Empty when zeroed. */
struct mt_arena {
    struct mt_arena_chunk *chunks; /* newest first */
    size_t left;                   /* bytes free in the newest */
    unsigned char *at;
};

/* Frees everything; the arena is then empty and may be used again. */
void mt_arena_release(struct mt_arena *a);

/* `size` bytes aligned for any type, not cleared; NULL when out of memory. */
void *mt_arena_alloc(struct mt_arena *a, size_t size) MT_NODISCARD;

/* A copy of n bytes with a NUL behind them (not counted); .p is NULL when out of memory. */
struct mt_str mt_arena_copy(struct mt_arena *a, const void *p, size_t n);

#endif
