/* SPDX-License-Identifier: MIT */
/* Growth of the arrays of vec.h. */
#include <memtool/vec.h>

#include <stdint.h>
#include <string.h>

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
