/* SPDX-License-Identifier: MIT */
/*
 * A value while a file is being read: one 64-bit word, 4 bits of tag and 60 of payload. Half the
 * size of a struct with a kind, which matters because pickles keep every object in their memo.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_WORD_H
#define MEMTOOL_SNAPSHOT_SCHEMA_WORD_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t mt_word;

enum mt_tag {
    MT_TAG_INT,   /* the integer itself, -2^59 .. 2^59 - 1 */
    MT_TAG_WIDE,  /* a wider integer that fits 64 bits: index << 1 | negative */
    MT_TAG_RAW,   /* string id << 1 | is_bytes: bytes, or the digits of an integer beyond 64 bits */
    MT_TAG_FLOAT, /* index */
    MT_TAG_STR,   /* string id */
    MT_TAG_STACK, /* stack id: a list of frames that a record has taken */
    MT_TAG_CONST, /* enum mt_const */
    MT_TAG_FRESH_DICT, /* still empty; memo index + 1, or 0 */
    MT_TAG_FRESH_LIST, /* the same */
    MT_TAG_CONTAINER,  /* index of a list, tuple or dictionary */
    MT_TAG_EVENT,      /* records: index or id in the builder */
    MT_TAG_SEGMENT,
    MT_TAG_BLOCK,
    MT_TAG_HISTORY,
    MT_TAG_ANNOTATION,
    MT_TAG_FRAME
};

/* IDENTITY: torch.jit._pickle.restore_type_tag, the one function that pickles may name */
enum mt_const { MT_CONST_NONE, MT_CONST_FALSE, MT_CONST_TRUE, MT_CONST_IDENTITY };

#define MT_WORD_INT_MAX ((INT64_C(1) << 59) - 1)

static inline mt_word mt_word_make(enum mt_tag tag, uint64_t payload)
{
    return payload << 4 | (uint64_t)tag;
}

static inline enum mt_tag mt_word_tag(mt_word w)
{
    return (enum mt_tag)(w & 15);
}

static inline uint64_t mt_word_payload(mt_word w)
{
    return w >> 4;
}

/* Of a MT_TAG_INT: the shift keeps the sign on every compiler that memtool is built with. */
static inline int64_t mt_word_int(mt_word w)
{
    return (int64_t)w >> 4;
}

static inline mt_word mt_word_from_int(int64_t i)
{
    return mt_word_make(MT_TAG_INT, (uint64_t)i);
}

#endif
