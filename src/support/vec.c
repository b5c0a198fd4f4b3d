/* SPDX-License-Identifier: MIT */
/* Growth of the arrays of vec.h. */
#define _DEFAULT_SOURCE /* madvise */
#include "support/vec.h"
#include "support/units.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_FROM_BYTES = (int)(4 * MT_MIB) };

bool mt_vec_grow(void *v, size_t *cap, size_t want, size_t size)
{
    void *old;
    memcpy(&old, v, sizeof old); /* the array's type is not known here */
    size_t n = *cap > SIZE_MAX / 2 ? want : *cap * 2;
    if (n < want) {
        n = want;
    }
    if (n < 8) {
        n = 8;
    }
    void *p = mt_mem_realloc(old, n, size);
    if (!p) {
        return false;
    }
    memcpy(v, &p, sizeof p);
    *cap = n;
    return true;
}

void mt_vec_expect_large(void *items, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t first = ((uintptr_t)items + 4095) & ~(uintptr_t)4095;
    if (bytes >= HUGE_FROM_BYTES) {
        madvise((void *)first, bytes - (first - (uintptr_t)items), MADV_HUGEPAGE);
    }
#else
    (void)items;
    (void)bytes;
#endif
}
