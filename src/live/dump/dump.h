/* SPDX-License-Identifier: MIT */
/*
 * Writing a snapshot of a living process. What is to be written is first copied under the lock (the
 * short part), then put into words and into the file without it. A file appears under its name only
 * when it is whole: it is written beside it and renamed.
 */
#ifndef MEMTOOL_LIVE_DUMP_DUMP_H
#define MEMTOOL_LIVE_DUMP_DUMP_H

#include "allocator/core/allocator.h"
#include "live/core/recorder.h"
#include "live/dump/dump_own.h"
#include "live/dump/snapshot_names.h"
#include "support/error.h"

struct mt_dump;

/* An empty copy. NULL when out of memory. Caller frees with mt_dump_free, which accepts NULL. */
struct mt_dump *mt_dump_new(void) MT_NODISCARD;
void mt_dump_free(struct mt_dump *d);

/* With the lock: copies a device's segments and blocks. Devices come in ascending order. Errors:
 * MT_NOMEM. */
enum mt_status mt_dump_add_device(struct mt_dump *d, int device, const struct mt_alloc *a,
                                  struct mt_error *err) MT_NODISCARD;

/* A segment of one block, where there is no allocator to walk; device MT_RECORD_HOST makes it one
 * of the host's, which come last. Order as above. Errors: MT_NOMEM. */
enum mt_status mt_dump_add_segment(struct mt_dump *d, int device,
                                   const struct mt_alloc_segment_view *segment,
                                   const struct mt_alloc_block_view *block, struct mt_error *err)
    MT_NODISCARD;

/* Puts the segments into the order of devices and addresses, where they came from two books. */
void mt_dump_sort(struct mt_dump *d);

/* With the lock: copies events, stacks, streams and marks. `n_devices` rings are written. Errors:
 * MT_NOMEM. */
enum mt_status mt_dump_add_recorder(struct mt_dump *d, const struct mt_recorder *r, int n_devices,
                                    struct mt_error *err) MT_NODISCARD;

/* What goes under memtool's own key; contents move, `own` is empty then. */
void mt_dump_take_own(struct mt_dump *d, struct mt_own *own);

/* With the lock: the sizes of a device's segments that were added. */
uint64_t mt_dump_segment_bytes(const struct mt_dump *d, int device);

/* The settings in force and the text that they were read from; borrowed until the dump is freed. */
void mt_dump_set_settings(struct mt_dump *d, const struct mt_alloc_settings *s, const char *conf);

/* Without the lock: writes the file. With `names` NULL it replaces an older one of that name. Else
 * `path`, MT_RECORD_PATH_MAX bytes, is the name wanted, `names` know whom it may replace, and the
 * name that it got is in `path` then. Errors: MT_OUTPUT, MT_NOMEM. */
enum mt_status mt_dump_write(struct mt_dump *d, struct mt_snapshot_names *names,
                             enum mt_snapshot_why why, char *path, struct mt_error *err)
    MT_NODISCARD;

#endif
