/* SPDX-License-Identifier: MIT */
/*
 * memtool's own key of a snapshot, memtool-snapshot(5) WHAT MEMTOOL ADDS: dictionaries and lists
 * that may hold anything, since anybody can write a file. What is not as described is absent.
 */
#ifndef MEMTOOL_HEAP_SUMS_OWN_KEY_H
#define MEMTOOL_HEAP_SUMS_OWN_KEY_H

#include "snapshot/model/model.h"

/* The whole; NULL: the file has none. */
const struct mt_value *mt_own_key_find(const struct mt_snapshot *s);

/* A value of a dictionary (NULL: of none), or NULL. */
const struct mt_value *mt_own_key_get(const struct mt_snapshot *s, const struct mt_value *dict,
                                      const char *key);

/* A number that is not negative; false, with 0, when there is none. */
bool mt_own_key_bytes(const struct mt_snapshot *s, const struct mt_value *dict, const char *key,
                      uint64_t *out);

/* The first of *n values of a list; *n is 0 when there is none. */
const struct mt_value *mt_own_key_list(const struct mt_snapshot *s, const struct mt_value *dict,
                                       const char *key, uint32_t *n);

/* What was measured of a device, or NULL. */
const struct mt_value *mt_own_key_device(const struct mt_snapshot *s, int32_t device);

#endif
