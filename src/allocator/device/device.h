/* SPDX-License-Identifier: MIT */
/*
 * The device as the allocator sees it: one const table of functions over a context. Addresses and
 * streams are numbers; nothing here is ever dereferenced. The simulated device, the driver of a
 * real GPU and the wrappers (fault, limit, record) all wear this face, and one conformance suite
 * runs over every one of them.
 *
 * Preconditions, kept by the allocator and relied upon by every device:
 *   - sizes are above zero and multiples of caps.granularity (2 MiB for mem_alloc, map, unmap);
 *   - mem_free gets exactly an (addr, size) that mem_alloc gave; va_free likewise, with nothing
 *     mapped in it any more;
 *   - map gets a range inside one reservation, of which nothing is mapped; unmap a range that is
 *     mapped as a whole; both begin and end at a multiple of `page` from the reservation's start;
 *   - a page is mapped and unmapped as a whole, in any grouping of neighbouring pages.
 * Every call may come from any thread, but the caller holds one lock around all calls of a context.
 *
 * Status codes: MT_OK; MT_DEVICE_OOM when the device has no room (the call then did nothing, and
 * the allocator releases caches and asks again); MT_DEVICE for any other failure (err says which;
 * the allocator passes it on); MT_NOMEM when the host has no memory.
 */
#ifndef MEMTOOL_ALLOCATOR_DEVICE_DEVICE_H
#define MEMTOOL_ALLOCATOR_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"

/* What a device can do; constant over its life. */
struct mt_device_caps {
    uint64_t
        granularity; /* bytes; every address that mem_alloc or va_reserve gives is a multiple */
    uint64_t total;  /* bytes of the device, as its properties report them */
    bool has_vmm;    /* va_reserve, va_free, map and unmap are there */
    bool has_events; /* the event functions are there; without them frees never wait */
};

struct mt_device_ops {
    const char *name;
    void (*caps)(void *ctx, struct mt_device_caps *caps);

    /* Bytes free and in total on the device, other processes counted (cudaMemGetInfo). */
    enum mt_status (*mem_info)(void *ctx, uint64_t *free_bytes, uint64_t *total,
                               struct mt_error *err);

    /* Whole segments (cudaMalloc, cudaFree). mem_free waits for the device where it must. */
    enum mt_status (*mem_alloc)(void *ctx, uint64_t size, uint64_t *addr, struct mt_error *err);
    enum mt_status (*mem_free)(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err);

    /* Expandable segments; NULL without caps.has_vmm. A reservation takes addresses only. map backs
     * a range with physical pages of `page` bytes each and opens it to the device and its peers:
     * all of it or, on failure, none. unmap gives them back after `stream` has finished. */
    enum mt_status (*va_reserve)(void *ctx, uint64_t size, uint64_t *addr, struct mt_error *err);
    enum mt_status (*va_free)(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err);
    enum mt_status (*map)(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                          struct mt_error *err);
    enum mt_status (*unmap)(void *ctx, uint64_t addr, uint64_t size, uint64_t page, uint64_t stream,
                            struct mt_error *err);

    /* Stream order; NULL without caps.has_events. event_record makes an event that is done when all
     * work now in `stream` is; the allocator gives each one back with event_free. event_sync waits
     * for it. */
    enum mt_status (*event_record)(void *ctx, uint64_t stream, uint64_t *event,
                                   struct mt_error *err);
    enum mt_status (*event_done)(void *ctx, uint64_t event, bool *done, struct mt_error *err);
    enum mt_status (*event_sync)(void *ctx, uint64_t event, struct mt_error *err);
    void (*event_free)(void *ctx, uint64_t event);
};

/* A device and its context, as it is handed around; both borrowed. */
struct mt_device {
    const struct mt_device_ops *ops;
    void *ctx;
};

/* ---- the simulated device: memory that is only numbers ---- */

struct mt_device_sim;

/* Where the simulated driver puts segments of more than 2 MiB: below the ones before, above them,
 * by turns, or (from MT_DEVICE_MIXED on, each its own way) now here, now there. A real one takes
 * gaps of the process's own addresses, which no recording tells. */
enum mt_device_order {
    MT_DEVICE_DOWN,
    MT_DEVICE_UP,
    MT_DEVICE_BOTH,
    MT_DEVICE_MIXED,
    MT_DEVICE_ORDERS = MT_DEVICE_MIXED + 5
};

struct mt_device_sim_options {
    enum mt_device_order order;
    uint64_t total;    /* bytes that the properties report */
    uint64_t capacity; /* bytes that can be had at once; 0: as many as `total` */
    uint64_t held;     /* bytes of them that are taken from the start */
    uint64_t above;    /* all new addresses lie above this one */
};

/*
 * New addresses look like the driver's: multiples of 2 MiB, small segments ascending, larger ones
 * descending in slots of 32 MiB or more, a freed range of the same size taken first, newest first.
 * Deterministic. Events are done as soon as they are asked about, unless mt_device_sim_hold says
 * otherwise. NULL when out of memory; caller frees with mt_device_sim_free.
 */
struct mt_device_sim *mt_device_sim_new(const struct mt_device_sim_options *o) MT_NODISCARD;
void mt_device_sim_free(struct mt_device_sim *d);
struct mt_device mt_device_sim_device(struct mt_device_sim *d);

/* While on, no event is done until it is waited for (or hold is off again). */
void mt_device_sim_hold(struct mt_device_sim *d, bool on);

/* Bytes now held by mem_alloc and map, and events not yet given back: what tests look at. */
uint64_t mt_device_sim_used(const struct mt_device_sim *d);
uint64_t mt_device_sim_events(const struct mt_device_sim *d);

/* ---- wrappers: each stands before another device and is one too ---- */

/* The calls that can fail or be logged; the order is that of the ops. */
#define MT_DEVICE_CALL_MAP(X)                                                                      \
    X(MEM_INFO, mem_info)                                                                          \
    X(MEM_ALLOC, mem_alloc)                                                                        \
    X(MEM_FREE, mem_free)                                                                          \
    X(VA_RESERVE, va_reserve)                                                                      \
    X(VA_FREE, va_free)                                                                            \
    X(MAP, map)                                                                                    \
    X(UNMAP, unmap)                                                                                \
    X(EVENT_RECORD, event_record)                                                                  \
    X(EVENT_DONE, event_done)                                                                      \
    X(EVENT_SYNC, event_sync)

enum mt_device_call {
#define X(name, word) MT_DEVICE_CALL_##name,
    MT_DEVICE_CALL_MAP(X)
#undef X
        MT_DEVICE_CALL_COUNT
};

/* Fails chosen calls with a chosen status. All fields may be changed between calls. */
struct mt_device_fault {
    struct mt_device inner;
    enum mt_device_call call; /* which calls count; MT_DEVICE_CALL_COUNT: all of them */
    uint64_t fail_at;         /* fail the nth counted call from 1; 0: none */
    bool and_after;           /* and every one behind it */
    enum mt_status status;    /* MT_DEVICE_OOM, MT_DEVICE or MT_NOMEM */
    uint64_t seen;            /* counted calls so far */
};
struct mt_device mt_device_fault_device(struct mt_device_fault *f);

/* Refuses with MT_DEVICE_OOM whatever would lift the bytes held above `limit`. */
struct mt_device_limit {
    struct mt_device inner;
    uint64_t limit; /* bytes */
    uint64_t used;
};
struct mt_device mt_device_limit_device(struct mt_device_limit *l);

/* Hands every call on, and then tells what was asked and what came of it. */
struct mt_device_record_entry {
    enum mt_device_call call;
    uint64_t addr; /* given or received; the event for event calls */
    uint64_t size; /* bytes; the stream for event_record */
    enum mt_status status;
};
struct mt_device_record {
    struct mt_device inner;
    void (*on_call)(void *ctx, const struct mt_device_record_entry *entry);
    void *on_call_ctx;
};
struct mt_device mt_device_record_device(struct mt_device_record *r);

#endif
