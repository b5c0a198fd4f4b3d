/* SPDX-License-Identifier: MIT */
/*
 * Growable arrays: `MT_VEC(T) name;` is {T *v; size_t n; size_t cap;}, empty when zeroed. They
 * double by realloc, which moves large arrays on Linux by remapping pages, not by copying.
 */
#ifndef MEMTOOL_SUPPORT_VEC_H
#define MEMTOOL_SUPPORT_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "support/mem.h"

#define MT_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *v;                                                                                      \
        size_t n;                                                                                  \
        size_t cap;                                                                                \
    }

/* Grows the array whose pointer lies at *v to hold `want` items of `size` bytes; false: no memory.
 */
bool mt_vec_grow(void *v, size_t *cap, size_t want, size_t size) MT_NODISCARD;

/* Room for `want` items in all; false when out of memory, the vector is then unchanged. */
#define mt_vec_reserve(vec, want)                                                                  \
    ((want) <= (vec)->cap || mt_vec_grow(&(vec)->v, &(vec)->cap, (want), sizeof *(vec)->v))

/* Appends a copy of `item`; false when out of memory. */
#define mt_vec_push(vec, item)                                                                     \
    (mt_vec_reserve((vec), (vec)->n + 1) ? ((vec)->v[(vec)->n++] = (item), true) : false)

/* Tells the system that an array of so many bytes, just reserved, will be filled: it may then give
 * pages of 2 MiB instead of 512 small ones. Advice only. */
void mt_vec_expect_large(void *items, size_t bytes);

/* Frees the items and makes the vector empty. */
#define mt_vec_release(vec) (mt_mem_free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#endif
