/* SPDX-License-Identifier: MIT */
/* Filling errors, and the two tables behind a status: exit code and text. */
#include "support/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))

enum mt_status mt_fail(struct mt_error *err, enum mt_status code, uint64_t offset,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = code;
    err->offset = offset;
    err->hint[0] = '\0';
    return code;
}

enum mt_status mt_hint(struct mt_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return err->code;
}

/* What stands in the buffer is tried again, which also tells of a failure long ago. */
const char *mt_stream_why(FILE *stream)
{
    int before = errno;
    errno = 0;
    int why = fflush(stream) != 0 && errno != 0 ? errno : before;
    return why != 0 ? strerror(why) : "some of the output was lost";
}

enum mt_status mt_error_prefix(struct mt_error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t at = n < 0 ? 0 : MIN((size_t)n, sizeof text - 1);
    size_t colon = MIN(2, sizeof text - 1 - at);
    memcpy(text + at, ": ", colon);
    at += colon;
    size_t rest = MIN(strlen(err->text), sizeof text - 1 - at);
    memcpy(text + at, err->text, rest);
    text[at + rest] = '\0';
    memcpy(err->text, text, sizeof text);
    return err->code;
}

enum mt_status mt_fail_nomem(struct mt_error *err)
{
    return mt_fail(err, MT_NOMEM, MT_NO_OFFSET, "out of memory");
}

int mt_status_exit_code(enum mt_status code)
{
    switch (code) {
#define X(name, value, exit_code, text)                                                            \
    case MT_##name: return exit_code;
        MT_STATUS_MAP(X)
#undef X
    }
    return 70;
}

const char *mt_status_text(enum mt_status code)
{
    switch (code) {
#define X(name, value, exit_code, text)                                                            \
    case MT_##name: return text;
        MT_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

void mt_bug(const char *file, int line, const char *what)
{
    fprintf(stderr,
            "memtool: internal error at %s:%d: %s\nhint: please report this, with the input if you "
            "can\n",
            file, line, what);
    abort();
}
