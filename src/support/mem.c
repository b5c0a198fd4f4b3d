/* SPDX-License-Identifier: MIT */
/* malloc with checked products; for a thread that must do without it, pages of its own. */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#include "support/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/checked.h"

enum { CHUNK = 1 << 20 };
static const uint64_t own_mark = 0x6d656d746f6f6c21u; /* before every piece of careful memory */

/* Its user, and what is left of its last chunk. */
static struct {
    _Atomic bool on;
    pthread_t thread;
    unsigned char *p;
    size_t left;
} careful;

struct piece {
    uint64_t mark;
    uint64_t size;
};

static inline bool is_careful(void)
{
    return MT_UNLIKELY(atomic_load_explicit(&careful.on, memory_order_acquire)) &&
           pthread_equal(pthread_self(), careful.thread);
}

void mt_mem_careful(bool on)
{
    if (on) {
        careful.thread = pthread_self();
    }
    atomic_store(&careful.on, on);
}

/* Zeroed, as pages are. */
static void *careful_alloc(size_t bytes)
{
    size_t all = (bytes + sizeof(struct piece) + 15) & ~(size_t)15;
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    if (all > careful.left) {
        size_t chunk = all > CHUNK ? all : CHUNK;
        void *p = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            return NULL;
        }
        careful.p = p;
        careful.left = chunk;
    }
    struct piece *piece = (void *)careful.p;
    careful.p += all;
    careful.left -= all;
    *piece = (struct piece){own_mark, bytes};
    return piece + 1;
}

static void *careful_realloc(void *old, size_t bytes)
{
    const struct piece *piece = old ? (const struct piece *)old - 1 : NULL;
    if (piece && piece->mark != own_mark) {
        return NULL;
    }
    void *p = careful_alloc(bytes);
    if (p && piece) {
        memcpy(p, old, piece->size < bytes ? (size_t)piece->size : bytes);
    }
    return p;
}

void *mt_mem_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (mt_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return is_careful() ? careful_alloc(bytes) : malloc(bytes ? bytes : 1);
}

void *mt_mem_zalloc(size_t count, size_t size)
{
    size_t bytes;
    if (is_careful()) {
        return mt_mul_overflow(count, size, &bytes) ? NULL : careful_alloc(bytes);
    }
    return calloc(count ? count : 1, size ? size : 1);
}

void *mt_mem_realloc(void *p, size_t count, size_t size)
{
    size_t bytes;
    if (mt_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return is_careful() ? careful_realloc(p, bytes) : realloc(p, bytes ? bytes : 1);
}

void mt_mem_free(void *p)
{
    if (!is_careful()) {
        free(p);
    }
}
