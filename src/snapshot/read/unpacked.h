/* SPDX-License-Identifier: MIT */
/* Reading text that is packed with gzip, up to four times, in bounded memory. */
#ifndef MEMTOOL_SNAPSHOT_READ_UNPACKED_H
#define MEMTOOL_SNAPSHOT_READ_UNPACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "support/error.h"

struct mt_unpacked;

/* Whether the bytes begin as gzip does. */
bool mt_is_gzip(const void *p, size_t n);

/* Unpacks the n bytes at `begun` (borrowed while it is read) and then what is left of `rest`
 * (borrowed, may be NULL). Caller frees with mt_unpacked_free. NULL: *err is MT_NOMEM. */
struct mt_unpacked *mt_unpacked_new(const void *begun, size_t n, FILE *rest, struct mt_error *err)
    MT_NODISCARD;
void mt_unpacked_free(struct mt_unpacked *u);

/* Up to n bytes (n > 0) into p; *got = 0 is the end. Errors: MT_IO, MT_FORMAT (damaged, or it ends
 * early; what came before was handed out), MT_LIMIT (a bomb), MT_NOMEM. */
enum mt_status mt_unpacked_read(struct mt_unpacked *u, void *p, size_t n, size_t *got,
                                struct mt_error *err) MT_NODISCARD;

/* The first bytes of what the n bytes at p unpack to, as many as they give and `room` holds; *total
 * is 0 where that is nothing, or damaged from the start. Errors: MT_NOMEM. */
enum mt_status mt_unpacked_head(const void *p, size_t n, void *out, size_t room, size_t *total,
                                struct mt_error *err) MT_NODISCARD;

#endif
