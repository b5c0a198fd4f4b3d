/* SPDX-License-Identifier: MIT */
/*
 * Errors are values: a function that can fail returns an mt_status and takes a `struct mt_error *`
 * last, which it fills only on failure and never requires to be initialised. The text is written
 * once, where the error arises; callers may put context in front. Only cli/ prints.
 */
#ifndef MEMTOOL_SUPPORT_ERROR_H
#define MEMTOOL_SUPPORT_ERROR_H

#include <stdint.h>
#include <stdio.h>

#include "support/compiler.h"

/* name, value (pinned, never reused), exit code of the program, text for people */
#define MT_STATUS_MAP(X)                                                                           \
    X(OK, 0, 0, "done")                                                                            \
    X(USAGE, 1, 2, "wrong usage")                                                                  \
    X(IO, 2, 3, "cannot read")                                                                     \
    X(FORMAT, 3, 3, "malformed input")                                                             \
    X(UNSUPPORTED, 4, 3, "unsupported input")                                                      \
    X(LIMIT, 5, 6, "a limit was reached")                                                          \
    X(NOMEM, 6, 6, "out of memory")                                                                \
    X(DEVICE, 7, 7, "the device failed")                                                           \
    X(DEVICE_OOM, 8, 7, "the device is out of memory")                                             \
    X(NOT_FOUND, 9, 3, "not found")                                                                \
    X(INTERNAL, 10, 70, "internal error")                                                          \
    X(OUTPUT, 11, 5, "cannot write")

enum mt_status {
#define X(name, value, exit_code, text) MT_##name = value,
    MT_STATUS_MAP(X)
#undef X
};

#define MT_NO_OFFSET UINT64_MAX

struct mt_error {
    enum mt_status code;
    uint64_t offset; /* byte in the (unpacked) input, or MT_NO_OFFSET */
    char text[240];  /* lower case, no full stop, without the file's name */
    char hint[160];  /* what to do about it; empty when there is nothing to say */
};

/* Fills *err with a printf-like text and returns `code`; the hint is emptied. */
enum mt_status mt_fail(struct mt_error *err, enum mt_status code, uint64_t offset,
                       const char *format, ...) MT_PRINTF(4, 5);

/* Sets the hint of an error that mt_fail has filled; returns err->code. */
enum mt_status mt_hint(struct mt_error *err, const char *format, ...) MT_PRINTF(2, 3);

/* Puts "text: " in front of an error's text; returns err->code. */
enum mt_status mt_error_prefix(struct mt_error *err, const char *format, ...) MT_PRINTF(2, 3);

/* MT_NOMEM with its standard text. */
enum mt_status mt_fail_nomem(struct mt_error *err);

/* Why a stream could not be written, for people; to be asked right after a write that failed, or
 * of a stream whose error flag is set. A static text of the C library's. */
const char *mt_stream_why(FILE *stream);

/* The program's exit code for a status; the table stands in MT_STATUS_MAP. */
int mt_status_exit_code(enum mt_status code);

/* A word or two for people, for example "malformed input". */
const char *mt_status_text(enum mt_status code);

/* Returns from the calling function when `call` fails. */
#define MT_TRY(call)                                                                               \
    do {                                                                                           \
        enum mt_status try_status_ = (call);                                                       \
        if (MT_UNLIKELY(try_status_ != MT_OK)) {                                                   \
            return try_status_;                                                                    \
        }                                                                                          \
    } while (0)

#endif
