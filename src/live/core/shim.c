/* SPDX-License-Identifier: MIT */
/*
 * The doors of libmemtool_alloc.so: memtool/alloc.h for C, the same functions for PyTorch's
 * pluggable allocator. These interfaces carry no context, so this file holds the one allocator of
 * the process, made at the first call; it is the only file of memtool with a global.
 *
 * Nothing is torn down when the process ends: PyTorch frees tensors until the very end, the driver
 * takes its memory back by itself.
 */
#include <memtool/alloc.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/compiler.h"
#include "support/mem.h"
#include "support/str.h"

#include "live/core/environment.h"
#include "live/core/quiet_write.h"
#include "live/dump/crash.h"
#include "live/dump/dump_lock.h"
#include "live/dump/dumper.h"
#include "live/core/live.h"
#include "live/dump/writer.h"

#define DOOR __attribute__((visibility("default")))

/* An allocator that a thread made, or why it could not. */
struct attempt {
    struct mt_live *live;
    struct mt_error err;
};

static struct {
    _Atomic(struct attempt *) attempt; /* the first thread's that got so far */
    pthread_once_t once;
    _Atomic(struct mt_live *) ready; /* `live`, once it can be used */
    struct mt_live *live;            /* NULL: it could not be made, and `failure` says why */
    char failure[MT_LIVE_TEXT_MAX];
    struct mt_record_settings settings; /* as the process began */
    struct mt_dumper dumper;
    struct mt_writer writer;
    pthread_once_t writer_once, crash_once;
} shim = {.once = PTHREAD_ONCE_INIT,
          .writer = {.ended = true},
          .writer_once = PTHREAD_ONCE_INIT,
          .crash_once = PTHREAD_ONCE_INIT};

static _Thread_local char last_error[MT_LIVE_TEXT_MAX];

/* The library has no other way to be heard by a person. One call, so that lines do not mix. */
static void say(const char *text)
{
    const struct iovec line[] = {{(char *)(uintptr_t) "memtool: ", 9},
                                 {(char *)(uintptr_t)text, strlen(text)},
                                 {(char *)(uintptr_t) "\n", 1}};
    mt_quiet_write(STDERR_FILENO, line, MT_COUNT(line));
}

static void remember(const char *text)
{
    snprintf(last_error, sizeof last_error, "%s", text);
}

/* ---- the ends of a process ---- */

/* Not the lock of dumps: whoever has it may wait for ever, and the child makes it anew. */
static void before_fork(void)
{
    mt_quick_lock_take(&shim.live->lock);
}

static void after_fork_parent(void)
{
    mt_quick_lock_give(&shim.live->lock);
}

/* The child has the tables but no driver; its end is not the program's end. The lock of dumps knows
 * its owner by a number that the child's thread no longer has. */
static void after_fork_child(void)
{
    mt_live_set_forked(shim.live);
    mt_recorder_set(shim.live->recorder, NULL);
    shim.live->writer = NULL;
    mt_quick_lock_give(&shim.live->lock);
    mt_dump_lock_init(&shim.live->dump_lock);
}

static void ask_for(enum mt_snapshot_why why)
{
    struct mt_error err;
    const struct mt_write_request r = {.why = why};
    if (mt_writer_ask(&shim.writer, &r, NULL, &err) != MT_OK) {
        say(err.text);
    }
}

static void at_exit(void)
{
    mt_writer_yield(&shim.writer);
    if (!atomic_exchange(&shim.writer.ended, true)) {
        ask_for(MT_SNAPSHOT_EXIT);
    }
}

static void on_signal(int number)
{
    mt_dumper_on_signal(&shim.dumper, number);
}

/* ---- beginning ---- */

static enum mt_status dump_live(void *ctx, struct mt_error *err)
{
    const struct mt_write_request r = {.why = atomic_load(&shim.dumper.ends_by) != 0
                                                  ? MT_SNAPSHOT_TERM
                                              : shim.dumper.by_clock ? MT_SNAPSHOT_CLOCK
                                                                     : MT_SNAPSHOT_SIGNAL};
    (void)ctx;
    return mt_writer_ask(&shim.writer, &r, NULL, err);
}

static void watch_crashes(void)
{
    mt_crash_watch(&shim.writer);
}

static void start_writer(void)
{
    struct mt_error err;
    if (mt_writer_start(&shim.writer, &err) != MT_OK) {
        say(err.text); /* who asks for a snapshot writes it */
    }
}

/* NULL: recording ends. */
static void record(const struct mt_record_settings *s)
{
    mt_live_record(shim.live, s);
    atomic_store(&shim.writer.ended, !s || !s->at_exit);
    if (s) {
        atomic_store(&shim.writer.limit_s, s->limit_s);
        pthread_once(&shim.writer_once, start_writer);
    }
    if (s && s->at_exit) {
        pthread_once(&shim.crash_once, watch_crashes);
    }
}

static enum mt_status start_triggers(const struct mt_record_settings *s, struct mt_error *err)
{
    if (s->signal == 0 && s->every_s == 0) {
        return MT_OK;
    }
    shim.dumper.dump = dump_live;
    shim.dumper.every_s = s->every_s;
    shim.dumper.on_failure = say;
    shim.writer.ends_by = &shim.dumper.ends_by;
    MT_TRY(mt_dumper_start(&shim.dumper, err));
    if (s->signal && !mt_dumper_catch(s->signal, on_signal)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                       "no snapshot on signal %d: the program has its own handler, or ignores it",
                       s->signal);
    }
    return MT_OK;
}

static enum mt_status read_settings(struct mt_record_settings *s, const char *text,
                                    struct mt_error *err)
{
    mt_record_settings_default(s);
    MT_TRY(mt_record_settings_parse(s, mt_str_from(text), err));
    return mt_recorder_check(s, err);
}

static void start_recording(const char *text)
{
    struct mt_record_settings *s = &shim.settings; /* not on the stack of the first request */
    struct mt_error err;
    if (read_settings(s, text, &err) != MT_OK) {
        mt_error_prefix(&err, "MEMTOOL_RECORD is ignored");
        say(err.text);
        return;
    }
    record(s);
    if (start_triggers(s, &err) != MT_OK) {
        say(err.text);
    }
}

static void name_snapshots(void)
{
    const char *rank = mt_live_env("RANK");
    struct mt_error err;
    shim.live->list = mt_live_env("MEMTOOL_CAPTURE_LIST");
    mt_snapshot_names_begin(&shim.live->names, mt_live_env("MEMTOOL_CAPTURE_SINCE"));
    if (rank && !mt_record_rank_check(rank, &err)) {
        say(err.text);
    }
}

/* Without a lock, for the driver's library is loaded here: a thread that loads another one, whose
 * constructor asks for memory, would wait for that lock and be waited for by the loader. Several
 * threads may make one, the first one's is kept. */
static void attempt(void)
{
    const struct mt_live_options o = {.library = mt_live_env("MEMTOOL_CUDA_LIBRARY"),
                                      .conf = mt_live_env("MEMTOOL_ALLOC_CONF"),
                                      .rank = mt_live_env("RANK")};
    struct attempt *none = NULL, *own = mt_mem_zalloc(1, sizeof *own);
    if (own && mt_live_new(&o, &own->live, &own->err) != MT_OK) {
        own->live = NULL;
    }
    if (own && !atomic_compare_exchange_strong(&shim.attempt, &none, own)) {
        mt_live_free(own->live);
        mt_mem_free(own);
    }
}

static void begin(void)
{
    const struct attempt *first = atomic_load(&shim.attempt);
    shim.live = first ? first->live : NULL;
    if (!shim.live) {
        snprintf(shim.failure, sizeof shim.failure, "%s%s", first ? first->err.text : "no memory",
                 first && first->err.code == MT_USAGE ? " (in MEMTOOL_ALLOC_CONF)" : "");
        return;
    }
    shim.writer.write = mt_live_write;
    shim.writer.ctx = shim.live;
    shim.writer.on_failure = say;
    shim.writer.dump_lock = &shim.live->dump_lock;
    shim.live->writer = &shim.writer;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    atexit(at_exit);
    name_snapshots();
    const char *record = mt_live_env("MEMTOOL_RECORD");
    if (record) {
        start_recording(record);
    }
}

/* The allocator, or NULL before the first call and where it could not be made. */
static inline struct mt_live *ready(void)
{
    return atomic_load_explicit(&shim.ready, memory_order_acquire);
}

static struct mt_live *make(void)
{
    if (!atomic_load(&shim.attempt)) {
        attempt();
    }
    pthread_once(&shim.once, begin);
    atomic_store_explicit(&shim.ready, shim.live, memory_order_release);
    if (!shim.live) {
        remember(shim.failure);
    }
    return shim.live;
}

/* The allocator, or NULL with the reason remembered. */
static struct mt_live *instance(void)
{
    struct mt_live *live = ready();
    return MT_LIKELY(live != NULL) ? live : make();
}

/* ---- refusing ---- */

/*
 * Throws a c10::Error with the remembered text, by c10's own function: PyTorch does not look at the
 * pointer that it gets, so that NULL would crash far from here. Returns where there is no c10. The
 * library is only looked at, not loaded; this file is compiled with -fexceptions, so that the throw
 * can pass through it.
 */
static void throw_if_torch(void)
{
    void (*check_fail)(const char *function, const char *file, uint32_t line, const char *text);
    void *c10 = dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD);
    void *function = c10 ? dlsym(c10, "_ZN3c106detail14torchCheckFailEPKcS2_jS2_") : NULL;
    if (function) {
        memcpy(&check_fail, &function, sizeof function);
        check_fail("memtool_malloc", "libmemtool_alloc.so", 0, last_error);
    }
}

static void *allocate(ssize_t size, int device, void *stream)
{
    struct mt_live *live = instance();
    struct mt_live_refusal refusal;
    if (MT_UNLIKELY(!live || size <= 0)) {
        if (size < 0) {
            remember("a negative size was asked for");
        }
        return NULL;
    }
    uint64_t addr = mt_live_allocate(live, (uint64_t)size, device, (uintptr_t)stream, &refusal);
    if (MT_UNLIKELY(addr == 0)) {
        remember(refusal.text);
    }
    return (void *)(uintptr_t)addr;
}

/* What failed where nothing can be returned. */
static void report(enum mt_status status, const struct mt_error *err)
{
    if (status != MT_OK) {
        remember(err->text);
    }
}

static void release(void *ptr, int device)
{
    struct mt_error err;
    struct mt_live *live = ptr ? instance() : NULL;
    if (live) {
        report(mt_live_release(live, (uintptr_t)ptr, device, &err), &err);
    }
}

/* ---- memory ---- */

static void *allocate_or_throw(ssize_t size, int device, void *stream)
{
    void *ptr = allocate(size, device, stream);
    if (!ptr && size != 0) {
        throw_if_torch();
    }
    return ptr;
}

MT_HOT DOOR void *memtool_malloc(ssize_t size, int device, void *stream)
{
    struct mt_live *live = ready();
    uint64_t addr = 0;
    if (MT_LIKELY(live != NULL)) { /* of a size below 0 it makes one that is refused */
        addr = mt_live_serve(live, (uint64_t)size, device, (uintptr_t)stream);
    }
    return MT_LIKELY(addr != 0) ? (void *)(uintptr_t)addr : allocate_or_throw(size, device, stream);
}

MT_HOT DOOR void memtool_free(void *ptr, ssize_t size, int device, void *stream)
{
    struct mt_live *live = ready();
    (void)size;
    (void)stream;
    if (MT_UNLIKELY(!live || !mt_live_give(live, (uintptr_t)ptr, device))) {
        release(ptr, device);
    }
}

DOOR void *memtool_pool_malloc(ssize_t size, int device, void *stream)
{
    return allocate(size, device, stream);
}

DOOR void memtool_pool_free(void *ptr, ssize_t size, int device, void *stream)
{
    (void)size;
    (void)stream;
    release(ptr, device);
}

DOOR void memtool_record_stream(void *ptr, void *stream)
{
    struct mt_error err;
    struct mt_live *live = ptr ? instance() : NULL;
    if (live) {
        report(mt_live_record_stream(live, (uintptr_t)ptr, (uintptr_t)stream, &err), &err);
    }
}

DOOR void memtool_set_memory_fraction(double fraction, int device)
{
    struct mt_error err;
    struct mt_live *live = instance();
    if (live) {
        report(mt_live_set_fraction(live, fraction, device, &err), &err);
    }
}

DOOR void memtool_empty_cache(void)
{
    struct mt_error err;
    struct mt_live *live = instance();
    if (live) {
        report(mt_live_empty_cache(live, &err), &err);
    }
}

DOOR const char *memtool_last_error(void)
{
    return last_error;
}

/* ---- recording ---- */

DOOR int memtool_record(const char *settings)
{
    struct mt_record_settings s;
    struct mt_error err;
    struct mt_live *live = instance();
    if (!live) {
        return -1;
    }
    if (settings && read_settings(&s, settings, &err) != MT_OK) {
        remember(err.text);
        return -1;
    }
    record(settings ? &s : NULL);
    return 0;
}

DOOR int memtool_dump(const char *path)
{
    struct mt_error err;
    struct mt_live *live = instance();
    if (!live) {
        return -1;
    }
    enum mt_status status = mt_live_dump(live, path, NULL, 0, &err);
    report(status, &err);
    return status == MT_OK ? 0 : -1;
}

DOOR void memtool_annotate_begin(const char *name, int device)
{
    struct mt_live *live = name ? instance() : NULL;
    if (live) {
        mt_live_mark(live, device, name, false);
    }
}

DOOR void memtool_annotate_end(const char *name, int device)
{
    struct mt_live *live = name ? instance() : NULL;
    if (live) {
        mt_live_mark(live, device, name, true);
    }
}

bool mt_shim_mark(const char *name, int device, bool end)
{
    struct mt_live *live = ready();
    if (!live || !mt_recorder_on(live->recorder)) {
        return false; /* naming things is no reason to begin */
    }
    mt_live_mark(live, device, name, end);
    return true;
}

/* ---- counters ---- */

struct each {
    int (*each)(void *ctx, const char *name, int64_t value);
    void *ctx;
};

static bool call_each(void *ctx, const char *name, int64_t value)
{
    const struct each *e = ctx;
    return e->each(e->ctx, name, value) != 0;
}

DOOR void memtool_each_stat(int device, int (*each)(void *ctx, const char *name, int64_t value),
                            void *ctx)
{
    struct mt_alloc_stats stats;
    struct mt_error err;
    struct each e = {each, ctx};
    struct mt_live *live = each ? instance() : NULL;
    if (live && mt_live_stats(live, device, &stats, &err) == MT_OK) {
        (void)mt_alloc_stats_each(&stats, call_each, &e);
    }
}

struct wanted {
    const char *name;
    int64_t *value;
    bool found;
};

static int take_wanted(void *ctx, const char *name, int64_t value)
{
    struct wanted *w = ctx;
    if (strcmp(name, w->name) != 0) {
        return 1;
    }
    *w->value = value;
    w->found = true;
    return 0;
}

DOOR int memtool_stat(int device, const char *name, int64_t *value)
{
    struct wanted w = {name, value, false};
    if (name && value) {
        memtool_each_stat(device, take_wanted, &w);
    }
    if (!w.found) {
        remember("there is no such counter or device");
    }
    return w.found ? 0 : -1;
}

/* ---- pools ---- */

static struct mt_alloc_pool_id pool_id(struct memtool_pool_id id)
{
    return (struct mt_alloc_pool_id){(int64_t)id.a, (int64_t)id.b};
}

DOOR void memtool_begin_pool(signed char device, struct memtool_pool_id id, void *filter)
{
    struct mt_error err;
    struct mt_live *live = instance();
    (void)filter;
    if (live && mt_live_scope_begin(live, device, pool_id(id), &err) != MT_OK) {
        remember(err.text);
        throw_if_torch();
    }
}

DOOR void memtool_end_pool(signed char device, struct memtool_pool_id id)
{
    struct mt_live *live = instance();
    if (live) {
        mt_live_scope_end(live, device, pool_id(id));
    }
}

DOOR void memtool_release_pool(signed char device, struct memtool_pool_id id)
{
    struct mt_live *live = instance();
    if (live) {
        mt_live_pool_release(live, device, pool_id(id));
    }
}

DOOR void memtool_pools_announced(void)
{
    struct mt_live *live = instance();
    if (live) {
        mt_quick_lock_take(&live->lock);
        live->told_of_scopes = true;
        mt_quick_lock_give(&live->lock);
    }
}
