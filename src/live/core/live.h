/* SPDX-License-Identifier: MIT */
/*
 * The live allocator: the policy core over real devices, with a recorder that sees everything it
 * does. One `struct mt_live` serves all devices of a process, from any thread.
 *
 * Locks: `lock` guards all state and is held for the length of one request or free, the driver's
 * calls included; nothing that could call back (Python, the C++ library, the writing of a file)
 * runs under it. `dump_lock` is taken before it, and lets one dump at a time be written.
 */
#ifndef MEMTOOL_LIVE_CORE_LIVE_H
#define MEMTOOL_LIVE_CORE_LIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/core/allocator.h"
#include "allocator/device/device_cuda.h"
#include "live/core/quick_lock.h"
#include "live/core/recorder.h"
#include "live/dump/snapshot_names.h"
#include "support/error.h"

enum {
    MT_LIVE_TEXT_MAX = 2048,
    MT_LIVE_CONF_MAX = 1024,
    MT_LIVE_SCOPES_MAX = 32,
    MT_LIVE_PATIENCE_S = 5 /* with a driver that does not answer */
};

struct mt_live;

/* A routing to a private pool: a graph that is being captured, or a MemPool of one thread. */
struct mt_live_scope {
    bool used;
    bool capture;   /* until the stream's capture ends; else until told */
    bool automatic; /* begun because a stream was found capturing, not because somebody said so */
    int device;
    struct mt_alloc_pool_id id;
    pthread_t thread;    /* !capture: whose requests */
    uint64_t stream;     /* automatic: the stream */
    uint64_t capture_id; /* of the driver; 0: not seen yet */
    struct mt_live *live;
};

struct mt_live_device {
    struct mt_live *live;
    int ordinal;
    _Atomic bool held;           /* its context, from before the first request on */
    struct mt_device_cuda *cuda; /* NULL until first used */
    struct mt_alloc *alloc;
};

/* First what every request reads, close together. */
struct mt_live {
    struct mt_quick_lock lock;
    unsigned n_usable; /* devices: all of them, none in a forked process */
    int n_scopes;
    struct mt_recorder *recorder;
    struct mt_live_device devices[MT_RECORD_DEVICES_MAX];
    int n_devices;
    bool told_of_scopes; /* somebody tells when captures begin: no need to ask the driver */
    bool forked;         /* this is a child: the driver does not live here */
    pthread_mutex_t dump_lock;
    struct mt_writer *writer; /* of snapshots of refusals; NULL: who is refused writes them */
    struct mt_cuda *cuda;
    struct mt_alloc_settings settings;
    const char *list;                  /* where snapshots are told of; NULL: nowhere */
    struct mt_snapshot_names names;    /* with dump_lock, and these two: */
    int64_t last_oom_ms;               /* mt_snapshot_clock_ms */
    char last_oom[MT_RECORD_PATH_MAX]; /* the snapshot written then; "": none */
    char conf[MT_LIVE_CONF_MAX];       /* the text of the settings */
    char rank[32];
    struct mt_live_scope scopes[MT_LIVE_SCOPES_MAX];
};

struct mt_live_options {
    const char *library; /* of the driver, NULL: libcuda.so.1 */
    const char *conf;    /* MEMTOOL_ALLOC_CONF; NULL: none */
    const char *rank;    /* for %r; NULL: "0" */
};

/* Loads the driver. Errors: MT_DEVICE, MT_NOMEM; MT_USAGE for settings that PyTorch would refuse.
 * Takes the dynamic linker's lock: to be called with no lock that a library's constructor, which
 * has that one, may wait for. Caller frees with mt_live_free. */
enum mt_status mt_live_new(const struct mt_live_options *o, struct mt_live **out,
                           struct mt_error *err) MT_NODISCARD;

/* Gives all memory back. For tests: a process that ends leaves that to the driver. Accepts NULL. */
void mt_live_free(struct mt_live *live);

/* In the child of a fork: requests are refused, frees do nothing. */
static inline void mt_live_set_forked(struct mt_live *live)
{
    live->forked = true;
    live->n_usable = 0;
}

/* Why a request was refused, in words for people; empty when it was not. */
struct mt_live_refusal {
    bool out_of_memory;
    char text[MT_LIVE_TEXT_MAX];
};

/* A block of at least `size` bytes for work on `stream`; its address, or 0 (also for size 0). When
 * recording, an out of memory writes a snapshot if the settings say so. */
uint64_t mt_live_allocate(struct mt_live *live, uint64_t size, int device, uint64_t stream,
                          struct mt_live_refusal *refusal);

/* Frees a block. `device` is a hint where to look first, -1 without one. Errors: MT_NOT_FOUND for
 * an address that is not a block's start; MT_DEVICE. */
enum mt_status mt_live_release(struct mt_live *live, uint64_t addr, int device,
                               struct mt_error *err) MT_NODISCARD;

/* `stream` uses the block too. Errors: MT_NOT_FOUND, MT_NOMEM. */
enum mt_status mt_live_record_stream(struct mt_live *live, uint64_t addr, uint64_t stream,
                                     struct mt_error *err) MT_NODISCARD;

/* Bounds the memory of a device to a share of its total, 0 to 1. Errors: MT_USAGE, MT_DEVICE. */
enum mt_status mt_live_set_fraction(struct mt_live *live, double fraction, int device,
                                    struct mt_error *err) MT_NODISCARD;

/* torch.cuda.empty_cache() on every device. Errors: MT_DEVICE. */
enum mt_status mt_live_empty_cache(struct mt_live *live, struct mt_error *err) MT_NODISCARD;

/* The counters of a device; all zero when it was never used. Errors: MT_USAGE. */
enum mt_status mt_live_stats(struct mt_live *live, int device, struct mt_alloc_stats *out,
                             struct mt_error *err) MT_NODISCARD;

/* Proves the invariants of every device, for tests. Errors: MT_INTERNAL, MT_NOMEM. */
enum mt_status mt_live_check(struct mt_live *live, struct mt_error *err) MT_NODISCARD;

/* ---- recording ---- */

/* Begins, changes or (NULL) ends the recording. */
void mt_live_record(struct mt_live *live, const struct mt_record_settings *s);

/* Begins or ends a named range of the program on a device. */
void mt_live_mark(struct mt_live *live, int device, const char *name, bool end);

/* The same for the process's one allocator, if it is there and records; else false (shim.c). */
bool mt_shim_mark(const char *name, int device, bool end);

/* Writes a snapshot. `pattern` may hold %p and %r; NULL: that of the record settings. The name that
 * it got goes to `path` (may be NULL), `size` bytes. Errors: MT_OUTPUT, MT_NOMEM. */
enum mt_status mt_live_dump(struct mt_live *live, const char *pattern, char *path, size_t size,
                            struct mt_error *err) MT_NODISCARD;

/* The same for a moment that the record settings name, with a name that no snapshot of another
 * moment has (snapshot_names.h). Errors: as above; MT_DEVICE where the driver keeps another thread
 * waiting. */
enum mt_status mt_live_dump_for(struct mt_live *live, enum mt_snapshot_why why,
                                struct mt_error *err) MT_NODISCARD;
/* What a writer calls, with the allocator as `ctx`: the same, and for a refusal the snapshot of it,
 * or the name of one that was written a moment ago. */
struct mt_write_request;
enum mt_status mt_live_write(void *live, const struct mt_write_request *r, char *path,
                             struct mt_error *err) MT_NODISCARD;

/* The snapshot of a refusal, and a sentence behind its text that says where it is. */
void mt_live_dump_oom(struct mt_live *live, struct mt_live_refusal *refusal);

/* The error of that: MT_DEVICE. */
enum mt_status mt_live_no_answer(struct mt_error *err) MT_NODISCARD;

/* With the lock: everything that goes into a snapshot. Errors: MT_NOMEM. */
struct mt_dump;
enum mt_status mt_live_copy(struct mt_live *live, struct mt_dump *dump, struct mt_error *err)
    MT_NODISCARD;

/* ---- the short way ---- */

/* With the lock: a request served from the cache when nothing else is to be seen to, else 0. */
static inline uint64_t mt_live_serve_locked(struct mt_live *live, uint64_t size, int device,
                                            uint64_t stream, uint32_t stack)
{
    struct mt_alloc *a = (unsigned)device < live->n_usable ? live->devices[device].alloc : NULL;
    /* other streams may be captured, and scopes may have ended */
    bool plain = a && stream == 0 && live->n_scopes == 0;
    return MT_LIKELY(plain) ? mt_alloc_serve(a, size, stream, stack) : 0;
}

/* With the lock: a free that has nothing to wait for; false when it goes the whole way. */
static inline bool mt_live_give_locked(struct mt_live *live, uint64_t addr, int device,
                                       uint32_t stack)
{
    struct mt_alloc *a = (unsigned)device < live->n_usable ? live->devices[device].alloc : NULL;
    return MT_LIKELY(a != NULL) && mt_alloc_free_at(a, addr, stack);
}

/* The same two with the lock to be taken, and with the events and stacks while recording. */
uint64_t mt_live_serve_recorded(struct mt_live *live, uint64_t size, int device, uint64_t stream);
bool mt_live_give_recorded(struct mt_live *live, uint64_t addr, int device);

/* Nearly every request and free is done by these two. 0 or false, with nothing done, when
 * mt_live_allocate or mt_live_release is to be asked. */
static inline uint64_t mt_live_serve(struct mt_live *live, uint64_t size, int device,
                                     uint64_t stream)
{
    if (mt_recorder_on(live->recorder)) {
        return mt_live_serve_recorded(live, size, device, stream);
    }
    mt_quick_lock_take(&live->lock);
    uint64_t addr = mt_live_serve_locked(live, size, device, stream, 0);
    mt_quick_lock_give(&live->lock);
    return addr;
}

static inline bool mt_live_give(struct mt_live *live, uint64_t addr, int device)
{
    if (mt_recorder_on(live->recorder)) {
        return mt_live_give_recorded(live, addr, device);
    }
    mt_quick_lock_take(&live->lock);
    bool given = mt_live_give_locked(live, addr, device, 0);
    mt_quick_lock_give(&live->lock);
    return given;
}

/* ---- private pools (live_scopes.c) ---- */

/* From now on requests go to pool `id`: those on a stream that is being captured where id is a
 * graph's ({n, 0}), those of the calling thread where it is a MemPool's ({0, n}). Errors: MT_LIMIT
 * (too many at once), MT_DEVICE, MT_NOMEM. */
enum mt_status mt_live_scope_begin(struct mt_live *live, int device, struct mt_alloc_pool_id id,
                                   struct mt_error *err) MT_NODISCARD;
void mt_live_scope_end(struct mt_live *live, int device, struct mt_alloc_pool_id id);
/* The pool's owner is gone: what is free in it may be given back. */
void mt_live_pool_release(struct mt_live *live, int device, struct mt_alloc_pool_id id);

/* With the lock, before a request: begins a scope for a capture that nobody told of, ends those
 * whose capture is over. Errors: as mt_live_scope_begin. */
enum mt_status mt_live_scopes_update(struct mt_live *live, struct mt_live_device *d,
                                     uint64_t stream, struct mt_error *err) MT_NODISCARD;

/* With the lock: the device, made ready on first use. Errors: MT_USAGE, MT_DEVICE, MT_NOMEM. */
enum mt_status mt_live_device(struct mt_live *live, int ordinal, struct mt_live_device **out,
                              struct mt_error *err) MT_NODISCARD;

/* ---- refusals in words (oom_text.c) ---- */

/* PyTorch's sentences with the figures, so that logs read as ever, then what memtool makes of them.
 */
void mt_oom_text(const struct mt_alloc *a, int device, char *out, size_t size);

#endif
