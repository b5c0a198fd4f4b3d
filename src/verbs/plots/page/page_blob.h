/* SPDX-License-Identifier: MIT */
/* Columns on their way into the page: shuffled, deflated, in base64. */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_BLOB_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_BLOB_H

#include <stddef.h>
#include <stdio.h>

#include "support/error.h"

/*
 * Writes <script type="application/octet-stream" id="ID" data-width="WIDTH">...</script> with n
 * items of `width` bytes. The bytes are shuffled first (all lowest bytes, then all next ...):
 * columns of small numbers become a third of the size. Errors: MT_NOMEM, MT_OUTPUT.
 */
enum mt_status mt_page_blob(FILE *out, const char *id, const void *items, size_t n, size_t width,
                            struct mt_error *err) MT_NODISCARD;

/* The same; the id is `name` in the first file, and has the number of the file (1 ...) in others.
 */
enum mt_status mt_page_file_blob(FILE *out, const char *name, size_t file, const void *items,
                                 size_t n, size_t width, struct mt_error *err) MT_NODISCARD;

#endif
