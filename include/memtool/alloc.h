/* SPDX-License-Identifier: MIT */
/*
 * libmemtool_alloc.so: CUDA memory from PyTorch's caching policy, with every request recorded.
 *
 * Two doors lead to one allocator:
 *   - C and C++ programs call the functions below;
 *   - PyTorch opens the library by itself, as a torch.cuda.memory.CUDAPluggableAllocator made of
 *     "memtool_malloc" and "memtool_free" (the script memtool_torch.py does it, hooks included).
 *
 * Thread-safe: every function may be called from any thread at any time. The CUDA driver is found
 * at run time; programs need no CUDA headers. Memory is taken in the driver's primary context,
 * which is the CUDA runtime's. After fork() the child has no CUDA: requests there are refused.
 *
 * Environment, read at the first request:
 *   MEMTOOL_ALLOC_CONF  settings of the policy, in the grammar of PYTORCH_CUDA_ALLOC_CONF
 *   MEMTOOL_RECORD      what is recorded and when it is written; recording is off without it. See
 *                       memtool_record
 *   RANK                for %r in the names of snapshots
 */
#ifndef MEMTOOL_ALLOC_H
#define MEMTOOL_ALLOC_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * At least `size` bytes of device memory for work on `stream` (a cudaStream_t or CUstream; NULL:
 * the default stream), aligned to 512 bytes. The memory may be used at once in that stream. NULL
 * for size 0 and when the request is refused; memtool_last_error() then says why. In a process that
 * has PyTorch's libc10 a refusal is thrown instead, as c10::Error, for PyTorch does not look at
 * NULL.
 */
void *memtool_malloc(ssize_t size, int device, void *stream);

/* Frees what memtool_malloc gave; NULL is accepted. The memory is reused by later requests on the
 * stream that it was asked for, in the order of that stream's work. `size` and `stream` are
 * ignored; they are there because PyTorch passes them. */
void memtool_free(void *ptr, ssize_t size, int device, void *stream);

/* The same pair for a torch.cuda.MemPool, which turns NULL into torch.OutOfMemoryError itself:
 * never throws. */
void *memtool_pool_malloc(ssize_t size, int device, void *stream);
void memtool_pool_free(void *ptr, ssize_t size, int device, void *stream);

/* `stream` uses the memory as well: after memtool_free it is not reused before the work queued
 * there by then is done. An unknown address is ignored. */
void memtool_record_stream(void *ptr, void *stream);

/* This process may hold no more than a share, 0 to 1, of the device's memory. */
void memtool_set_memory_fraction(double fraction, int device);

/* Gives the cached, unused memory of all devices back to the driver. */
void memtool_empty_cache(void);

/* Why the last call of this thread failed; "" when none has. Valid until the next call. */
const char *memtool_last_error(void);

/* ---- recording ---- */

/*
 * Begins to record, or goes on with other settings; NULL stops. Settings are key:value pairs with
 * commas between, "" for the defaults:
 *
 *   enabled:all|state       the trace too (default), or only what is alive at a dump
 *   max_entries:N           entries of each device's ring; default 1000000, 32 bytes each
 *   context:all|alloc       stacks of allocations and frees (default), or of allocations only
 *   stacks:auto|python|c|all|none   default auto: Python's in a Python process, else C's
 *   max_frames:N            innermost frames of a stack, 1 to 128; default 64
 *   dump:PATH               of snapshots; %p: process id, %r: rank, %, and %%: a comma, a %;
 *                           default memtool-%p.pickle
 *   on_oom:True|False       write a snapshot when memory runs out; default True
 *   at_exit:True|False      and when the process ends; default False
 *   signal:NAME             and on this signal (USR2), unless the program has a handler for it;
 *                           TERM, INT and QUIT then end the program, as ever
 *   every:SECONDS           and every so often
 *
 * Those that come by themselves do not overwrite each other: the first has the name as given, later
 * ones of another moment the reason before the suffix (run.exit.pickle). Of refusals, which get at
 * most one a second, and of those by the clock the newest is kept.
 *
 * `signal` and `every` are read from MEMTOOL_RECORD only. 0, or -1 with memtool_last_error().
 */
int memtool_record(const char *settings);

/* Writes a snapshot to `path` (%p and %r as above; NULL: the name from the settings), for memtool,
 * PyTorch's viewer and its command line. Without recording it holds segments and blocks only. The
 * file appears when it is whole. 0, or -1 with memtool_last_error(). */
int memtool_dump(const char *path);

/* Names what the program is doing, from begin to end, on a device: a training step, a request.
 * Shown as annotations; cut at 50 bytes. */
void memtool_annotate_begin(const char *name, int device);
void memtool_annotate_end(const char *name, int device);

/* ---- counters ---- */

/* A counter by PyTorch's name, such as "allocated_bytes.all.peak" or "num_ooms". 0, or -1 when
 * there is none. */
int memtool_stat(int device, const char *name, int64_t *value);

/* Calls `each` with every counter until it returns 0. */
void memtool_each_stat(int device, int (*each)(void *ctx, const char *name, int64_t value),
                       void *ctx);

/* ---- hooks of PyTorch's pluggable allocator ---- */

/* PyTorch's MempoolId_t, std::pair of two 64-bit numbers: passed alike by the C++ ABI. */
struct memtool_pool_id {
    uint64_t a, b;
};

/* For set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool: CUDA graphs and
 * MemPools get memory of their own. The filter (a std::function) is not called: a graph's requests
 * are known by their stream, which is being captured, a MemPool's by their thread. */
void memtool_begin_pool(signed char device, struct memtool_pool_id id, void *filter);
void memtool_end_pool(signed char device, struct memtool_pool_id id);
void memtool_release_pool(signed char device, struct memtool_pool_id id);

/* Says that the three hooks above are set: the driver need then not be asked at every request
 * whether its stream is being captured. */
void memtool_pools_announced(void);

#ifdef __cplusplus
}
#endif

#endif
