/* SPDX-License-Identifier: MIT */
/*
 * What the driver says of a device as a whole: free and total at the first look, when its context
 * is there and nothing else, and again for a snapshot. Thread-safe; takes no lock of the recorder.
 */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_DEVICE_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "live/dump/dump_own.h"
#include "live/dump/writer.h"

/* Of the calling thread's context; 0 when it has none. */
int mt_preload_device(void);

/* Free bytes of the calling thread's device, also while a stream is captured. False when the driver
 * does not say. */
bool mt_preload_device_free(uint64_t *free_bytes, uint64_t *total);

/* The first look at the calling thread's device, if it was not looked at yet; `behind` bytes were
 * taken by the call that leads here and count as free still. */
void mt_preload_device_look(uint64_t behind);

/* Memory of the driver's pools is in use: the default one of the calling thread's device, or
 * `pool`, which belongs to `device`. NULL ends nothing. */
void mt_preload_pool_used(void);
void mt_preload_pool_created(void *pool, int device);
void mt_preload_pool_destroyed(void *pool);

/* The calling thread's context, for the request; none when the driver does not answer in a moment.
 */
void mt_preload_device_here(struct mt_write_request *r);

/* Asks about the devices in own->devices, in a thread of its own and for a moment only: a
 * driver that is stuck must not hold up a snapshot. Fills in what is known. Not with a lock. A
 * careful request asks nothing, and fills in what was seen at the first look. */
void mt_preload_device_ask(struct mt_own *own, const struct mt_write_request *r);

/* Free bytes of a device by NVML, `bus` naming it as the driver does ("0000:1a:00.0"); `total` is
 * the driver's, to tell a part of a card from the whole. False: there is no NVML, or it speaks of
 * something else (preload_nvml.c). */
bool mt_preload_nvml_free(const char *bus, uint64_t total, uint64_t *free_bytes);

#endif
