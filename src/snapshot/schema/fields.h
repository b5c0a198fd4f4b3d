/* SPDX-License-Identifier: MIT */
/*
 * The value of one key as the type that its field has. `key` is its name, for messages. Each fails
 * with MT_FORMAT when the value has another type or is out of range. A number such as 512.0 is an
 * integer.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_FIELDS_H
#define MEMTOOL_SNAPSHOT_SCHEMA_FIELDS_H

#include "snapshot/schema/machine.h"

/* "size: expected an integer, found a list". */
enum mt_status mt_field_wrong_type(struct mt_machine *m, const char *key, const char *expected,
                                   mt_word w);

/* A count of bytes. */
enum mt_status mt_field_size(struct mt_machine *m, const char *key, mt_word w, uint64_t *out)
    MT_NODISCARD;

/* An address or handle: the C++ writer makes those above 2^63 negative, which *negative tells. */
enum mt_status mt_field_addr(struct mt_machine *m, const char *key, mt_word w, uint64_t *out,
                             bool *negative) MT_NODISCARD;

enum mt_status mt_field_i64(struct mt_machine *m, const char *key, mt_word w, int64_t min,
                            int64_t max, int64_t *out) MT_NODISCARD;
enum mt_status mt_field_i32(struct mt_machine *m, const char *key, mt_word w, int32_t *out)
    MT_NODISCARD;

/* *id is the string's. */
enum mt_status mt_field_str(struct mt_machine *m, const char *key, mt_word w, uint32_t *id)
    MT_NODISCARD;

/* true, false, 1 or 0. */
enum mt_status mt_field_bool(struct mt_machine *m, const char *key, mt_word w, bool *out)
    MT_NODISCARD;

/* The value of "frames": a list of them becomes a stack. Errors: MT_NOMEM too. */
enum mt_status mt_field_stack(struct mt_machine *m, mt_word w, uint32_t *stack) MT_NODISCARD;

/* The value of "stream": its index among the snapshot's. Errors: MT_LIMIT too. */
enum mt_status mt_field_stream(struct mt_machine *m, mt_word w, uint16_t *out) MT_NODISCARD;

enum mt_status mt_field_pair(struct mt_machine *m, const char *key, mt_word w,
                             struct mt_pool_id *pair) MT_NODISCARD;

/* A list of records of one kind, [*first, *first + *n); `expected` names it. */
enum mt_status mt_field_range(struct mt_machine *m, const char *key, mt_word w, enum mt_tag record,
                              const char *expected, uint32_t *first, uint32_t *n) MT_NODISCARD;

/* Puts the value of `key`, the enum of the record's keys, into its field of *into. */
typedef enum mt_status mt_field_put(struct mt_machine *m, void *into, int key, mt_word w);

/* How the pairs of one record are put, and what became of them. */
struct mt_fields {
    enum mt_record record;
    mt_field_put *put;
    void *into;
    uint32_t *extra;  /* head of the list of what has no field, or is odd there; 0: none */
    uint32_t present; /* bits 1 << key of the values that were put */
    uint32_t odd;     /* of those that the key cannot hold: kept in *extra, and counted */
};

/* Puts each of n pairs. A value that its field cannot hold is an error where sizes or addresses are
 * made of it (keys.h), and is else kept as it is. Errors: those of `put`, MT_NOMEM. */
enum mt_status mt_fields_put(struct mt_machine *m, struct mt_fields *f, const mt_word *pairs,
                             size_t n) MT_NODISCARD;
/* Keeps in *extra what was put already, of a key that shares its field with another. */
enum mt_status mt_fields_take_back(struct mt_machine *m, struct mt_fields *f, int key,
                                   const mt_word *pair) MT_NODISCARD;

#endif
