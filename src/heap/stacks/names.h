/* SPDX-License-Identifier: MIT */
/*
 * Names for what lives in a trace, as PyTorch's viewer gives them in `trace`: a, b ... z, a1, b1
 * ... for allocations, but without s; s0, s1 ... for segments. A name is free again when its owner
 * is gone, so that a long trace stays readable.
 */
#ifndef MEMTOOL_HEAP_STACKS_NAMES_H
#define MEMTOOL_HEAP_STACKS_NAMES_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/vec.h"

#define MT_NO_NAME UINT32_MAX

struct mt_name_text {
    char s[24];
};
/* "a", "z", "a1" for 0, 24, 25; never an s. */
struct mt_name_text mt_alloc_name_text(uint32_t name);

/* The names of allocations by address. Empty when zeroed. */
struct mt_alloc_names {
    struct mt_idmap by_addr;
    MT_VEC(uint32_t) spare; /* given back, the last first */
    uint32_t next;
};
/* Gives the address a name (its old one is forgotten); MT_NO_NAME when out of memory. */
uint32_t mt_alloc_names_add(struct mt_alloc_names *n, uint64_t addr);
/* The name of an address, or MT_NO_NAME. */
uint32_t mt_alloc_names_find(const struct mt_alloc_names *n, uint64_t addr);
/* Gives the name back; false when out of memory. */
bool mt_alloc_names_remove(struct mt_alloc_names *n, uint64_t addr) MT_NODISCARD;
void mt_alloc_names_release(struct mt_alloc_names *n);

/* The segments that were reserved in the trace so far, by address. */
struct mt_named_segment {
    uint64_t addr, size;
    uint32_t name;
    bool mapped; /* of an expandable segment */
};
struct mt_segment_names {
    MT_VEC(struct mt_named_segment) live; /* by address */
    MT_VEC(uint32_t) spare;
    uint32_t next;
};
/* Empty when zeroed. MT_NO_NAME when out of memory. */
uint32_t mt_segment_names_add(struct mt_segment_names *n, uint64_t addr, uint64_t size);
/* The same for newly mapped pages: those behind the end of mapped ones take their name. */
uint32_t mt_segment_names_map(struct mt_segment_names *n, uint64_t addr, uint64_t size);
/* The segment that holds an address, or NULL; valid until the next change. O(log n). */
const struct mt_named_segment *mt_segment_names_find(const struct mt_segment_names *n,
                                                     uint64_t addr);
/* Takes [addr, addr + size) away: whole segments are forgotten, those that stick out are cut.
 * Returns the name of the first one, MT_NO_NAME when none was there; *failed on lack of memory. */
uint32_t mt_segment_names_remove(struct mt_segment_names *n, uint64_t addr, uint64_t size,
                                 bool *failed);
void mt_segment_names_release(struct mt_segment_names *n);

/* Names those that were there before the first event of a device: its final segments, with the
 * trace undone. False when out of memory. O(events). */
bool mt_segment_names_start(struct mt_segment_names *n, const struct mt_snapshot *s, int32_t device)
    MT_NODISCARD;

#endif
