/* SPDX-License-Identifier: MIT */
/*
 * The only door to malloc. Everything returns NULL when memory is out; the caller turns that into
 * MT_NOMEM. Tests make the nth call fail by wrapping malloc and realloc at link time.
 */
#ifndef MEMTOOL_SUPPORT_MEM_H
#define MEMTOOL_SUPPORT_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "support/compiler.h"

/* count * size bytes, not cleared; NULL when out of memory or when the product overflows. A product
 * of zero gives a pointer that may be freed. Caller frees with mt_mem_free. */
void *mt_mem_alloc(size_t count, size_t size) MT_NODISCARD;

/* The same, cleared. */
void *mt_mem_zalloc(size_t count, size_t size) MT_NODISCARD;

/* Resizes to count * size bytes; on NULL the old block is untouched. */
void *mt_mem_realloc(void *p, size_t count, size_t size) MT_NODISCARD;

/* Accepts NULL. */
void mt_mem_free(void *p);

/* From here on the calling thread gets its memory from pages of its own, without malloc, whose lock
 * may be held or whose heap damaged, in a process that is about to end; until it says false. What
 * it has got is not given back; memory from before is not resized. One thread at a time. */
void mt_mem_careful(bool on);

#endif
