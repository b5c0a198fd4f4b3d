/* SPDX-License-Identifier: MIT */
/*
 * Real devices: struct mt_device_ops over the CUDA driver, which is loaded at run time. A device
 * works in the driver's primary context, the one that the CUDA runtime and PyTorch use, and leaves
 * the calling thread's current context as it found it. While a stream is being captured into a
 * graph its calls run in the thread's relaxed capture mode: memory may be taken, the capture stays
 * whole.
 */
#ifndef MEMTOOL_ALLOCATOR_DEVICE_DEVICE_CUDA_H
#define MEMTOOL_ALLOCATOR_DEVICE_DEVICE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/device/device.h"
#include "support/error.h"

/* The driver, loaded and initialised. */
struct mt_cuda;

/* `path`: the driver's library for dlopen, NULL for libcuda.so.1. Errors: MT_DEVICE (no driver, one
 * too old, no device), MT_NOMEM. Caller frees with mt_cuda_close; the library itself stays loaded.
 */
enum mt_status mt_cuda_open(const char *path, struct mt_cuda **out, struct mt_error *err)
    MT_NODISCARD;
void mt_cuda_close(struct mt_cuda *c);

/* Devices that this process sees (CUDA_VISIBLE_DEVICES). */
int mt_cuda_device_count(const struct mt_cuda *c);

/* Whether `stream` is being captured into a graph, and the capture's id (unique in the process)
 * through *id. False for the default stream, which cannot be captured, and with a driver that
 * cannot tell. Thread-safe. */
bool mt_cuda_capturing(const struct mt_cuda *c, uint64_t stream, uint64_t *id);

/* Makes a device's primary context, if it is not there yet, and holds it until mt_cuda_let_go. The
 * driver may load libraries for it: with no lock that a library's constructor may wait for. False
 * when it does not start, or there is no such ordinal. */
bool mt_cuda_hold(const struct mt_cuda *c, int ordinal) MT_NODISCARD;
void mt_cuda_let_go(const struct mt_cuda *c, int ordinal);

struct mt_device_cuda;

/* Device `ordinal`, from 0. `c` must outlive it. Errors: MT_USAGE (no such ordinal), MT_DEVICE,
 * MT_NOMEM. Caller frees with mt_device_cuda_free. */
enum mt_status mt_device_cuda_new(struct mt_cuda *c, int ordinal, struct mt_device_cuda **out,
                                  struct mt_error *err) MT_NODISCARD;

/* Destroys the cached events and lets go of the context. Accepts NULL. */
void mt_device_cuda_free(struct mt_device_cuda *d);

/* Waits for all work of the device's context, or of one stream. The driver's result (a CUresult), 0
 * when it is done. Runs in the relaxed capture mode, as all calls of the device. */
int mt_device_cuda_sync(const struct mt_device_cuda *d) MT_NODISCARD;
int mt_device_cuda_sync_stream(const struct mt_device_cuda *d, uint64_t stream) MT_NODISCARD;

/* The calling thread's context: none, the device's primary one, or another. */
enum mt_cuda_current { MT_CUDA_CURRENT_NONE, MT_CUDA_CURRENT_OWN, MT_CUDA_CURRENT_OTHER };
enum mt_cuda_current mt_device_cuda_current(const struct mt_device_cuda *d);

/* Whether `stream` is valid and belongs to the device's primary context. */
bool mt_device_cuda_has_stream(const struct mt_device_cuda *d, uint64_t stream);

struct mt_device mt_device_cuda_device(struct mt_device_cuda *d);

#endif
