/* SPDX-License-Identifier: MIT */
/* Chunks of 64 KiB; what is larger gets a chunk of its own, linked behind the current one. */
#include "support/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "support/mem.h"

enum { CHUNK_BYTES = 64 * 1024 };

struct mt_arena_chunk {
    struct mt_arena_chunk *next;
    alignas(max_align_t) unsigned char data[];
};

void mt_arena_release(struct mt_arena *a)
{
    while (a->chunks) {
        struct mt_arena_chunk *next = a->chunks->next;
        mt_mem_free(a->chunks);
        a->chunks = next;
    }
    *a = (struct mt_arena){0};
}

static struct mt_arena_chunk *new_chunk(size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(struct mt_arena_chunk)) {
        return NULL;
    }
    return mt_mem_alloc(1, sizeof(struct mt_arena_chunk) + bytes);
}

static void *alloc_large(struct mt_arena *a, size_t size)
{
    struct mt_arena_chunk *c = new_chunk(size);
    if (!c) {
        return NULL;
    }
    if (a->chunks) {
        c->next = a->chunks->next;
        a->chunks->next = c;
    } else {
        c->next = NULL;
        a->chunks = c;
    }
    return c->data;
}

void *mt_arena_alloc(struct mt_arena *a, size_t size)
{
    if (size > SIZE_MAX - alignof(max_align_t)) {
        return NULL;
    }
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (size > CHUNK_BYTES / 4) {
        return alloc_large(a, size);
    }
    if (size > a->left) {
        struct mt_arena_chunk *c = new_chunk(CHUNK_BYTES);
        if (!c) {
            return NULL;
        }
        c->next = a->chunks;
        a->chunks = c;
        a->at = c->data;
        a->left = CHUNK_BYTES;
    }
    void *p = a->at;
    a->at += size;
    a->left -= size;
    return p;
}

struct mt_str mt_arena_copy(struct mt_arena *a, const void *p, size_t n)
{
    char *copy = n < SIZE_MAX ? mt_arena_alloc(a, n + 1) : NULL;
    if (!copy) {
        return (struct mt_str){0};
    }
    if (n) {
        memcpy(copy, p, n);
    }
    copy[n] = '\0';
    return (struct mt_str){copy, n};
}
