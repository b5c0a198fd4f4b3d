/* SPDX-License-Identifier: MIT */
/* malloc with checked products. */
#include <memtool/mem.h>

#include <stdlib.h>

#include <memtool/checked.h>

void *mt_mem_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (mt_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return malloc(bytes ? bytes : 1);
}

void *mt_mem_zalloc(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *mt_mem_realloc(void *p, size_t count, size_t size)
{
    size_t bytes;
    if (mt_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    return realloc(p, bytes ? bytes : 1);
}

void mt_mem_free(void *p)
{
    free(p);
}
