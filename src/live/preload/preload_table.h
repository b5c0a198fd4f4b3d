/* SPDX-License-Identifier: MIT */
/* What a watched process holds: allocations by address, physical pages by handle. The caller brings
 * the lock. */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_TABLE_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "live/dump/dump.h"
#include "support/compiler.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/vec.h"

struct mt_preload_held {
    uint64_t addr; /* 0: an empty slot */
    uint64_t size;
    uint64_t stream;
    int32_t device;
    uint32_t stack;
};

struct mt_preload_page {
    uint64_t addr; /* under which it stands among the allocations */
    uint64_t handle;
    uint32_t handles, mappings; /* what holds it */
};

struct mt_preload_mapping {
    uint64_t addr; /* 0: an empty slot */
    uint32_t page;
};

/* Empty when zeroed. */
struct mt_preload_table {
    MT_VEC(struct mt_preload_held) held;
    MT_VEC(uint32_t) empty; /* slots of `held` */
    struct mt_idmap by_addr;
    MT_VEC(struct mt_preload_page) pages; /* slots are never used again: there are few */
    MT_VEC(struct mt_preload_mapping) mappings;
    struct mt_idmap by_handle;
    uint64_t next_page; /* bytes above MT_PRELOAD_PAGES */
};

/* False when out of memory. An allocation that stood at that address is replaced: its free was not
 * seen. */
bool mt_preload_table_put(struct mt_preload_table *t, const struct mt_preload_held *h) MT_NODISCARD;

/* Takes an allocation out; false when there is none at that address. */
bool mt_preload_table_take(struct mt_preload_table *t, uint64_t addr, struct mt_preload_held *out);

/* A new page, with one handle: gives the address under which it stands, 0 when out of memory. */
uint64_t mt_preload_table_page(struct mt_preload_table *t, uint64_t handle, uint64_t size);

/* One handle or mapping more or less; the last one gone gives the page's address, else 0. */
void mt_preload_table_retain(struct mt_preload_table *t, uint64_t handle);
uint64_t mt_preload_table_release(struct mt_preload_table *t, uint64_t handle);
void mt_preload_table_map(struct mt_preload_table *t, uint64_t addr, uint64_t handle);
/* Of the mappings that begin in [addr, addr + size): call it until it gives false; *gone is the
 * address of a page that ended with its mapping, or 0. */
bool mt_preload_table_unmap(struct mt_preload_table *t, uint64_t addr, uint64_t size,
                            uint64_t *gone);

/* Everything that is held, as segments of one block each, by device and address. Errors: MT_NOMEM.
 */
enum mt_status mt_preload_table_dump(const struct mt_preload_table *t, struct mt_dump *d,
                                     struct mt_error *err) MT_NODISCARD;

#endif
