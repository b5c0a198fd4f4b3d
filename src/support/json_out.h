/* SPDX-License-Identifier: MIT */
/*
 * JSON, written as it comes: separators, escapes and numbers are made here and nowhere else.
 *
 *     struct mt_json_out json = {.indented = true};
 *     struct mt_out root = mt_out_object(mt_out_here(&json), NULL);
 *     struct mt_out list = mt_out_array(root, "blocks");
 *     for (size_t i = 0; i < n; i++) {
 *         struct mt_out block = mt_out_object(list, NULL);
 *         mt_out_u64(block, "size_bytes", blocks[i].size);
 *     }
 *     mt_out_u64(root, "total_bytes", total);
 *     mt_out_end(root);
 *
 * A struct mt_out is an object or array that is being written. A value that is put into it ends
 * what was begun inside it before: `total_bytes` above ends the last block and the list. What has
 * ended takes no more values. In an object each value has a key; in an array the key is NULL. A
 * lack of memory is remembered in `text.failed`, so that nothing here returns a status.
 */
#ifndef MEMTOOL_SUPPORT_JSON_OUT_H
#define MEMTOOL_SUPPORT_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

enum { MT_JSON_DEPTH = 2100 }; /* containers within one another */

/* The writer. All fields but the last three are set by its owner; zeros are a good start. */
struct mt_json_out {
    struct mt_buf text; /* what was not handed on yet; released by the owner */
    /* Takes text whenever there is enough of it, and at mt_json_flush. NULL: all stays in `text`.
     */
    void (*drain)(void *to, const void *p, size_t n);
    void *to;
    bool indented; /* one key per line, as cJSON_Print does; else no blanks */
    /* Numbers and text as Python's json.dumps has them: "1.0", infinities as 1e999, and bytes that
     * are no UTF-8 as lone surrogates (utf8.h). Else the number is "1", and they become U+FFFD. */
    bool python;
    bool keyed; /* a key was written, its value was not */
    unsigned depth;
    unsigned char level[MT_JSON_DEPTH];
};

/* Passed by value. */
struct mt_out {
    struct mt_json_out *json;
    unsigned depth;
};

/* Ends o and all that was begun inside it. */
void mt_out_end(struct mt_out o);
/* Hands all text to `drain`. */
void mt_json_flush(struct mt_json_out *json);

/* What was begun last and has not ended; between outermost values the text itself, which takes the
 * next of them without a key. */
static inline struct mt_out mt_out_here(struct mt_json_out *json)
{
    return (struct mt_out){json, json->depth};
}

struct mt_out mt_out_object(struct mt_out o, const char *key);
struct mt_out mt_out_array(struct mt_out o, const char *key);
/* An array with each item on a line of its own, so that grep and diff work on the output. */
struct mt_out mt_out_rows(struct mt_out o, const char *key);
/* An array without blanks, also where the writer indents. */
struct mt_out mt_out_tuple(struct mt_out o, const char *key);

/* The key of the value that follows with key NULL. A value that is put into an object
 * with key NULL where a key must come is that key, as Python has it: 1 becomes "1". */
void mt_out_key(struct mt_out o, struct mt_str key);
/* Whether o is an object that must get a key next. */
bool mt_out_wants_key(struct mt_out o);

void mt_out_u64(struct mt_out o, const char *key, uint64_t n);
void mt_out_i64(struct mt_out o, const char *key, int64_t n);
void mt_out_f64(struct mt_out o, const char *key, double x);
void mt_out_addr(struct mt_out o, const char *key, uint64_t addr); /* "0x7f.." */
void mt_out_str(struct mt_out o, const char *key, struct mt_str s);
void mt_out_text(struct mt_out o, const char *key, const char *text);      /* NULL: null */
void mt_out_buf(struct mt_out o, const char *key, const struct mt_buf *b); /* fails if b failed */
void mt_out_bool(struct mt_out o, const char *key, bool b);
void mt_out_null(struct mt_out o, const char *key);
/* The text of a number. */
void mt_out_number(struct mt_out o, const char *key, struct mt_str digits);

/* n, or null where it is not known. */
void mt_out_known(struct mt_out o, const char *key, bool known, uint64_t n);

#endif
