/* SPDX-License-Identifier: MIT */
/* One raw line of a log becomes clean text, an origin (which rank or process wrote it) and a
 * squeezed form to match in. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_LINES_H
#define MEMTOOL_TRIAGE_LOG_LOG_LINES_H

#include "support/str.h"

struct mt_log_line {
    uint64_t number;      /* from 1 */
    uint64_t origin;      /* hash of what names the writer in the prefix; 0: nothing does */
    int64_t rank;         /* -1: none in the prefix */
    bool may_be_labelled; /* set by the caller: "12: " at the beginning may be srun's label */
    bool labelled;        /* it was */
    struct mt_str clean;  /* without colours, tags and prefix; in `text` */
    struct mt_str
        squeezed; /* lower case, no blanks, no bytes beyond ASCII, no Markdown marks; in `tight` */
    struct mt_buf text, tight; /* reused from line to line */
};

/* Longest piece of a line that is looked at. Longer lines come in pieces of this size (the reader
 * sees to that), which are joined again like wrapped lines. */
#define MT_LOG_LINE_MAX 16384

/* Fills everything but `number` from raw bytes without the newline. On lack of memory the buffers'
 * `failed` is set. */
void mt_log_line_set(struct mt_log_line *line, struct mt_str raw);
void mt_log_line_release(struct mt_log_line *line);

/* Appends the line without colours, tags, escapes and the wrapping of a container's log. */
void mt_log_clean(struct mt_buf *out, struct mt_str raw);

/* Whether one of the words stands in the text. */
bool mt_log_has_any(struct mt_str text, const struct mt_str *words, size_t n);

/* The squeezed form alone, appended to out. */
void mt_log_squeeze(struct mt_buf *out, struct mt_str text);

#endif
