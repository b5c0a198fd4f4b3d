/* SPDX-License-Identifier: MIT */
/*
 * What the preload's mode cache asks of the live allocator. It differs from what PyTorch asks in
 * three ways: the caller brings the stack; memory may be asked for no stream at all (cudaMalloc),
 * and may be freed from another stream than its own; and addresses come that may be anybody's. All
 * functions take the lock.
 */
#ifndef MEMTOOL_LIVE_CORE_LIVE_CACHE_H
#define MEMTOOL_LIVE_CORE_LIVE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/device/device_cuda.h"
#include "support/error.h"

struct mt_live;

/* Stands where no stream is meant: of memory that all streams may use at once, for it is only freed
 * when they all are done; so the default stream goes by its other name, cudaStreamLegacy. */
#define MT_CACHE_NO_STREAM ((uint64_t)0)
#define MT_CACHE_LEGACY_STREAM ((uint64_t)1)

/* The device, made ready on first use. Errors: as mt_live_device. */
enum mt_status mt_cache_device(struct mt_live *live, int device, struct mt_device_cuda **out,
                               struct mt_error *err) MT_NODISCARD;

/* Bytes for work on `stream`, on a device that is ready. Errors: MT_DEVICE_OOM (in the trace
 * already), MT_DEVICE, MT_NOMEM. */
enum mt_status mt_cache_allocate(struct mt_live *live, int device, uint64_t size, uint64_t stream,
                                 uint32_t stack, uint64_t *addr, struct mt_error *err) MT_NODISCARD;

/* Whose an address is. */
struct mt_cache_place {
    bool owned;      /* it lies in a segment of the cache */
    bool block;      /* a block in use begins there */
    int device;      /* owned: of the segment */
    uint64_t base;   /* !block: of the segment */
    uint64_t stream; /* block: its own */
};

/* Linear in segments where no block begins. False when out of memory. */
bool mt_cache_find(struct mt_live *live, uint64_t addr, struct mt_cache_place *out) MT_NODISCARD;

/* The segment of an address; false when there is none. Linear in segments. */
bool mt_cache_segment(struct mt_live *live, uint64_t addr, struct mt_cache_place *out) MT_NODISCARD;

/*
 * Frees a block. With MT_CACHE_NO_STREAM or the block's own stream it is free at once; else once
 * the work is done that `stream`, one of this device, has by now. Errors: MT_NOT_FOUND, when
 * another thread was faster; MT_NOMEM, MT_DEVICE: the event could not be recorded.
 */
enum mt_status mt_cache_free(struct mt_live *live, int device, uint64_t addr, uint64_t stream,
                             uint32_t stack, struct mt_error *err) MT_NODISCARD;

/* Bytes of a device that lie in the cache in segments that are wholly free. 0 when out of memory.
 */
uint64_t mt_cache_idle(struct mt_live *live, int device);

/* Gives what is idle back to the driver, on all devices, and waits for what is idle soon.
 * *released: bytes, also when it fails. Errors: MT_DEVICE. */
enum mt_status mt_cache_release_idle(struct mt_live *live, uint64_t *released, struct mt_error *err)
    MT_NODISCARD;

/* Frees and gives back all of a device, before its context is destroyed. */
void mt_cache_forget(struct mt_live *live, int device);

#endif
