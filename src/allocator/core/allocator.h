/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's caching allocator for CUDA memory, over a device interface: the same requests and frees
 * give the same device calls, addresses and counters as c10/cuda/CUDACachingAllocator.cpp of the
 * release asked for (1.13 to 2.13, measured against 2.11).
 *
 * One `struct mt_alloc` serves one device. It knows no CUDA type, keeps no clock, takes no lock and
 * has no global state: the caller brings the device, an observer that sees every event, and one
 * lock around all calls. It takes host memory through mt_mem_* only when its own tables grow, never
 * on the way of a request that the cache serves.
 *
 * Cost: allocate and free are O(log n) in the number of free blocks; release and garbage collection
 * are linear in them.
 */
#ifndef MEMTOOL_ALLOCATOR_CORE_ALLOCATOR_H
#define MEMTOOL_ALLOCATOR_CORE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/device/device.h"
#include "support/error.h"
#include "torch/alloc_conf.h"

struct mt_alloc;

/* PyTorch's MempoolId: {0, 0} the default pools, {n, 0} a graph capture, {0, n} a MemPool. */
struct mt_alloc_pool_id {
    int64_t a, b;
};

/* A block that is in use, from allocate to the completion of its free. 0 is none. */
typedef struct {
    uint32_t i;
} mt_alloc_block;

/* ---- counters: PyTorch's memory_stats() ---- */

/* in PyTorch's order: id, name */
#define MT_ALLOC_STAT_MAP(X)                                                                       \
    X(ALLOCATION, "allocation")                                                                    \
    X(SEGMENT, "segment")                                                                          \
    X(ACTIVE, "active")                                                                            \
    X(INACTIVE_SPLIT, "inactive_split")                                                            \
    X(ALLOCATED_BYTES, "allocated_bytes")                                                          \
    X(RESERVED_BYTES, "reserved_bytes")                                                            \
    X(ACTIVE_BYTES, "active_bytes")                                                                \
    X(INACTIVE_SPLIT_BYTES, "inactive_split_bytes")                                                \
    X(REQUESTED_BYTES, "requested_bytes")

enum mt_alloc_stat_id {
#define X(id, name) MT_STAT_##id,
    MT_ALLOC_STAT_MAP(X)
#undef X
        MT_STAT_COUNT
};

enum mt_alloc_stat_slot { MT_SLOT_ALL, MT_SLOT_SMALL, MT_SLOT_LARGE, MT_SLOT_COUNT };

/* `allocated` and `freed` only grow. */
struct mt_alloc_stat {
    int64_t current, peak, allocated, freed;
};

struct mt_alloc_stats {
    struct mt_alloc_stat stat[MT_STAT_COUNT][MT_SLOT_COUNT];
    struct mt_alloc_stat oversize_allocations, oversize_segments;
    uint64_t num_alloc_retries, num_ooms, num_sync_all_streams;
    uint64_t num_device_alloc, num_device_free;
    uint64_t num_oom_rejections; /* 2.12: refused by throw_on_cudamalloc_oom */
    /* memtool's own: */
    uint64_t searches, hits;      /* requests, and those that the cache served */
    uint64_t splits, merges;      /* blocks cut in two; neighbours swallowed */
    uint64_t garbage_collections; /* that freed something */
    uint64_t releases;            /* request that released cached memory before it was answered */
};

/* Calls `each` with PyTorch's flat names, "allocated_bytes.all.peak" first, until it returns false;
 * returns whether it ran to the end. */
bool mt_alloc_stats_each(const struct mt_alloc_stats *s,
                         bool (*each)(void *ctx, const char *name, int64_t value), void *ctx);

/* ---- events: what PyTorch writes into its trace ---- */

enum mt_alloc_event_kind {
    MT_ALLOC_EVENT_ALLOC,
    MT_ALLOC_EVENT_FREE_REQUESTED,
    MT_ALLOC_EVENT_FREE_COMPLETED,
    MT_ALLOC_EVENT_SEGMENT_ALLOC,
    MT_ALLOC_EVENT_SEGMENT_FREE,
    MT_ALLOC_EVENT_SEGMENT_MAP,
    MT_ALLOC_EVENT_SEGMENT_UNMAP,
    MT_ALLOC_EVENT_OOM
};

struct mt_alloc_event {
    enum mt_alloc_event_kind kind;
    uint64_t addr;        /* OOM: bytes that the device had free */
    uint64_t size;        /* ALLOC, FREE_*: bytes asked for; OOM: rounded; else of the range */
    uint64_t stream;      /* of the block or segment */
    uint32_t stack;       /* ALLOC, OOM, SEGMENT_ALLOC, SEGMENT_MAP: of the call that is running;
                             FREE_REQUESTED: of mt_alloc_free, or the allocation's when that is 0;
                             FREE_COMPLETED: the allocation's; SEGMENT_FREE, SEGMENT_UNMAP: of the
                             call that is running, or the segment's when that is 0 */
    mt_alloc_block block; /* ALLOC, FREE_*: the block */
};

/* Sees every event in order, while the allocator is in the middle of its work: it must not call
 * back into it. */
struct mt_alloc_observer {
    void (*on_event)(void *ctx, const struct mt_alloc_event *e); /* NULL: nobody looks */
    void *ctx;
};

/* ---- life ---- */

struct mt_alloc_options {
    struct mt_alloc_settings settings;
    mt_torch_release release; /* whose policy; 0: 2.11 */
    struct mt_device device;
    struct mt_alloc_observer observer;
    bool has_allowed;  /* a per-process limit is set (memory fraction) */
    uint64_t allowed;  /* bytes */
    bool find_by_addr; /* keep the table for mt_alloc_find; costs two hash operations a pair */
    /* Blocks, and eight times pools, that walks over all of them may still look at, counted down; a
     * walk beyond it ends with MT_LIMIT. NULL: any number. For input that may ask for a walk with
     * each event. */
    uint64_t *walks;
};

/* Errors: MT_NOMEM; MT_UNSUPPORTED for expandable segments on a device without them. Caller frees
 * with mt_alloc_delete. */
enum mt_status mt_alloc_new(const struct mt_alloc_options *o, struct mt_alloc **out,
                            struct mt_error *err) MT_NODISCARD;

/* Gives every segment back to the device, blocks in use or not, without events. Accepts NULL. */
void mt_alloc_delete(struct mt_alloc *a);

/* New settings from now on, as torch.cuda.memory._set_allocator_settings makes them. */
void mt_alloc_set_settings(struct mt_alloc *a, const struct mt_alloc_settings *s);

/* Another observer from now on; one whose on_event is NULL for none, which saves its cost. */
void mt_alloc_set_observer(struct mt_alloc *a, struct mt_alloc_observer observer);

/* The per-process limit in bytes (floor(fraction * total) in PyTorch); `on` false: none. */
void mt_alloc_set_allowed(struct mt_alloc *a, bool on, uint64_t allowed);

/* ---- requests ---- */

struct mt_alloc_request {
    uint64_t size;   /* bytes, above 0 */
    uint64_t stream; /* handle */
    uint32_t stack;  /* the caller's id of the call stack, handed back in events; 0 = none */
    bool has_pool;   /* go to `pool` whatever is being captured */
    struct mt_alloc_pool_id pool;
};

/*
 * Serves a request. *addr and *block are set on MT_OK only (either may be NULL).
 * Errors: MT_DEVICE_OOM when everything that could be released was and it still did not fit (the
 * OOM event was sent; mt_alloc_last_oom has the figures), MT_DEVICE, MT_NOMEM; MT_USAGE for size 0.
 */
enum mt_status mt_alloc_allocate(struct mt_alloc *a, const struct mt_alloc_request *r,
                                 uint64_t *addr, mt_alloc_block *block, struct mt_error *err)
    MT_NODISCARD;

/* mt_alloc_allocate for the default pools where the cache serves the request at once: the address,
 * or 0 with nothing done, and then mt_alloc_allocate is to be asked. Needs find_by_addr. */
uint64_t mt_alloc_serve(struct mt_alloc *a, uint64_t size, uint64_t stream, uint32_t stack)
    MT_NODISCARD;

/* The figures of the last refusal, for the message. */
struct mt_alloc_oom {
    uint64_t requested;  /* bytes asked for */
    uint64_t rounded;    /* bytes after rounding */
    uint64_t alloc_size; /* bytes that were asked of the device */
    bool has_allowed;
    uint64_t allowed, device_free, device_total;
    bool by_limit; /* refused by the per-process limit: the device was not asked */
};
const struct mt_alloc_oom *mt_alloc_last_oom(const struct mt_alloc *a);

/* Frees a block: at once, or, when other streams used it, once they are done. `stack`: the caller's
 * id, 0 = none. Errors: MT_DEVICE, MT_NOMEM from recording events (the block then is freed by the
 * next call that processes events). */
enum mt_status mt_alloc_free(struct mt_alloc *a, mt_alloc_block block, uint32_t stack,
                             struct mt_error *err) MT_NODISCARD;

/* The two halves of a free by hand, for replays that know when it completed: between them the block
 * is pending. */
void mt_alloc_free_request(struct mt_alloc *a, mt_alloc_block block, uint32_t stack);
void mt_alloc_free_complete(struct mt_alloc *a, mt_alloc_block block);

/* `stream` also uses the block: its free waits for the work then queued there. Nothing to do when
 * it is the block's own stream. Errors: MT_NOMEM. */
enum mt_status mt_alloc_record_stream(struct mt_alloc *a, mt_alloc_block block, uint64_t stream,
                                      struct mt_error *err) MT_NODISCARD;

/* Completes the frees whose events are done, as every request does first. */
enum mt_status mt_alloc_process_events(struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;

/* torch.cuda.empty_cache(). Errors: MT_DEVICE. */
enum mt_status mt_alloc_empty_cache(struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;

/* The block in use that begins at `addr`; 0 when there is none. Needs find_by_addr. */
mt_alloc_block mt_alloc_find(const struct mt_alloc *a, uint64_t addr);

/* mt_alloc_find and mt_alloc_free in one, where the free has nothing to wait for. False, and
 * nothing done, where no block begins, or where other streams used it. Needs find_by_addr. */
bool mt_alloc_free_at(struct mt_alloc *a, uint64_t addr, uint32_t stack) MT_NODISCARD;

struct mt_alloc_block_info {
    uint64_t addr, size, requested, stream;
    uint32_t stack;
    bool pending;
    struct mt_alloc_pool_id pool;
};
void mt_alloc_block_get(const struct mt_alloc *a, mt_alloc_block block,
                        struct mt_alloc_block_info *out);

/* Whether garbage collection would find something: a whole cudaMalloc segment that lies free in the
 * default large pool. Linear in free large blocks. */
bool mt_alloc_has_idle_segment(const struct mt_alloc *a);

/* Whether the cache alone would serve this request now; changes nothing. */
bool mt_alloc_would_hit(const struct mt_alloc *a, const struct mt_alloc_request *r);

/* ---- private pools ---- */

/*
 * From here on requests whose stream passes `filter` (NULL: all) go to pool `id`, made when new
 * (one more user when known). `capture`: a graph capture, during which no events are processed, the
 * caches are not released and frees that wait for streams are kept back. Several may be open; up to
 * 2.11 the oldest that accepts the stream wins, later the newest. Errors: MT_NOMEM.
 */
enum mt_status mt_alloc_pool_begin(struct mt_alloc *a, struct mt_alloc_pool_id id, bool capture,
                                   bool (*filter)(void *ctx, uint64_t stream), void *filter_ctx,
                                   struct mt_error *err) MT_NODISCARD;
/* Ends the routing to `id`. Nothing happens when there was none. */
void mt_alloc_pool_end(struct mt_alloc *a, struct mt_alloc_pool_id id);
/* Gives the free segments of this pool back to the device, where nobody uses it any more: what
 * torch.cuda.MemPool does when it is destroyed. `alone`: it counts as a call that waits for the
 * streams; else it is part of one. Errors: MT_DEVICE. */
enum mt_status mt_alloc_pool_empty(struct mt_alloc *a, struct mt_alloc_pool_id id, bool alone,
                                   struct mt_error *err) MT_NODISCARD;
/* One user less; without any, the pool's free segments go with the next release. */
void mt_alloc_pool_release(struct mt_alloc *a, struct mt_alloc_pool_id id);

/* ---- looking ---- */

struct mt_alloc_stats mt_alloc_stats(const struct mt_alloc *a);
/* One of them, which is cheaper. */
struct mt_alloc_stat mt_alloc_stat(const struct mt_alloc *a, enum mt_alloc_stat_id id,
                                   enum mt_alloc_stat_slot slot);
void mt_alloc_reset_peak(struct mt_alloc *a);
void mt_alloc_reset_accumulated(struct mt_alloc *a);
const struct mt_alloc_settings *mt_alloc_settings(const struct mt_alloc *a);
uint64_t mt_alloc_total_allocated(const struct mt_alloc *a); /* bytes held from the device */
uint64_t mt_alloc_largest_free(const struct mt_alloc *a);    /* bytes; linear in segments */

enum mt_alloc_block_state { MT_ALLOC_FREE, MT_ALLOC_IN_USE, MT_ALLOC_PENDING };

struct mt_alloc_segment_view {
    uint64_t addr, size, stream;
    uint64_t allocated, active, requested; /* bytes */
    struct mt_alloc_pool_id pool;
    bool small, expandable;
    uint32_t stack; /* of the request that made it */
    size_t n_blocks;
};
struct mt_alloc_block_view {
    uint64_t addr, size, requested; /* requested of a free block is that of its last use */
    uint32_t stack;                 /* 0 for a free block */
    enum mt_alloc_block_state state;
};
/* Called for a segment, then for each of its blocks in address order. */
struct mt_alloc_visitor {
    bool (*segment)(void *ctx, const struct mt_alloc_segment_view *s);
    bool (*block)(void *ctx, const struct mt_alloc_block_view *b);
    void *ctx;
};
/* All segments by address, as a snapshot lists them (each mapped run of an expandable segment is
 * one). Stops when a callback returns false. Errors: MT_NOMEM (nothing was visited). */
enum mt_status mt_alloc_walk(const struct mt_alloc *a, const struct mt_alloc_visitor *v,
                             struct mt_error *err) MT_NODISCARD;

/* ---- starting in the middle ---- */

struct mt_alloc_restore_block {
    uint64_t size, requested;
    uint32_t stack;
    bool mapped; /* false: a hole of an expandable segment */
    enum mt_alloc_block_state state;
};
struct mt_alloc_restore_segment {
    uint64_t addr, size, stream; /* an expandable one: its whole reservation */
    struct mt_alloc_pool_id pool;
    bool small, expandable;
    uint32_t stack;
    const struct mt_alloc_restore_block *blocks; /* they tile it, in address order */
    size_t n_blocks;
};
/*
 * Puts a segment in place without asking the device and without events, as if it had always been
 * there: current and peak counters count it. blocks_out (n_blocks long, may be NULL) receives the
 * handles of blocks in use or pending, 0 for the others. Errors: MT_NOMEM; MT_FORMAT when the
 * blocks do not tile it or two free ones touch.
 */
enum mt_status mt_alloc_restore(struct mt_alloc *a, const struct mt_alloc_restore_segment *s,
                                mt_alloc_block *blocks_out, struct mt_error *err) MT_NODISCARD;

/* ---- proof ---- */

/*
 * Walks everything and proves the invariants: blocks tile their segment; no two free neighbours
 * touch; every free block stands in its tree, in order, and no other does; the counters equal a
 * recount. Errors: MT_INTERNAL, with what is wrong; MT_NOMEM. Linear; for tests and fuzzing.
 */
enum mt_status mt_alloc_check(const struct mt_alloc *a, struct mt_error *err) MT_NODISCARD;

#endif
