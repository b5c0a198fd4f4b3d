/* SPDX-License-Identifier: MIT */
/*
 * What the watchers see, written down: the table of what is held, events and stacks in a recorder,
 * and the snapshots - at the end, on a signal, when memory runs out. The watchers are called by
 * programs that know nothing of memtool, so what they need hangs off one variable here.
 *
 * Python frames are caught only where the thread holds the GIL: the caller may hold locks of its
 * own (PyTorch's allocator does), and waiting for the GIL under them could stop the program.
 */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memtool/compiler.h>
#include <memtool/str.h>

#include "dumper.h"
#include "live.h"
#include "preload.h"
#include "preload_account.h"
#include "preload_device.h"
#include "preload_table.h"
#include "snapshot_names.h"

enum mode { UNKNOWN, OFF, RECORD, CACHE };
enum { OUT_OF_MEMORY = 2, OOM_PAUSE_S = 1 };

static struct {
    _Atomic int mode;
    pthread_once_t once;
    _Atomic bool begun;
    bool ready; /* the recorder is there; false: it could not be made, all goes straight through */
    bool forked;
    struct mt_quick_lock own_lock;
    struct mt_quick_lock
        *lock; /* of table, account, recorder, n_devices; that of `live` when there is one */
    pthread_mutex_t dump_lock;
    struct mt_recorder *recorder;
    struct mt_live *live; /* mode cache: the allocator, whose recorder this is; else NULL */
    struct mt_preload_table table;
    struct mt_preload_account account;
    uint64_t runtime_calls, driver_calls;
    int n_devices;
    int (*holds_gil)(void); /* NULL: no Python */
    const char *list;       /* where snapshots are told of; NULL: nowhere */
    const char *rank;
    struct mt_dumper dumper;
    _Atomic bool told_to_end;
    struct mt_snapshot_names names; /* with dump_lock */
    time_t last_oom_s;              /* with dump_lock */
} watch = {
    .once = PTHREAD_ONCE_INIT, .lock = &watch.own_lock, .dump_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    int own;      /* memtool's own work */
    bool watched; /* inside a watched call */
} thread;

bool mt_preload_on(void)
{
    int mode = atomic_load_explicit(&watch.mode, memory_order_relaxed);
    if (MT_UNLIKELY(mode == UNKNOWN)) {
        const char *text = getenv("MEMTOOL_PRELOAD");
        mode = text && strcmp(text, "record") == 0  ? RECORD
               : text && strcmp(text, "cache") == 0 ? CACHE
                                                    : OFF;
        atomic_store_explicit(&watch.mode, mode, memory_order_relaxed);
    }
    return mode != OFF;
}

bool mt_preload_own(void)
{
    return thread.own > 0;
}

void mt_preload_own_begin(void)
{
    thread.own++;
}

void mt_preload_own_end(void)
{
    thread.own--;
}

static void say(const char *text)
{
    char line[512];
    int n = snprintf(line, sizeof line, "memtool: %s\n", text);
    ssize_t written = write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line);
    (void)written;
}

/* ---- snapshots ---- */

static bool name_of(enum mt_snapshot_why why, char *out, size_t size)
{
    char pattern[MT_RECORD_PATH_MAX];
    return mt_snapshot_names_next(&watch.names, watch.recorder->settings.path, why, pattern,
                                  sizeof pattern) &&
           mt_record_path(pattern, (long)getpid(), watch.rank, out, size);
}

/* One write, so that lines of several processes do not mix. */
static void tell(const char *why, const char *path)
{
    char line[MT_RECORD_PATH_MAX + 32];
    int fd = watch.list ? open(watch.list, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        int n = snprintf(line, sizeof line, "%s\t%s\n", why, path);
        ssize_t written = write(fd, line, (size_t)n);
        (void)written;
        close(fd);
    }
}

static struct mt_own_device own_of(const struct mt_dump *d, int device)
{
    const struct mt_preload_account *a = &watch.account;
    uint64_t seen = mt_dump_segment_bytes(d, device);
    struct mt_own_device own = {.device = device, .seen = {true, seen}};
    if (!watch.live) { /* whose requests of the driver's are its own */
        own.seen_peak = (struct mt_own_bytes){true, a->peak[device]};
    }
    return own;
}

/* What goes beside the allocations, as far as it stands under the lock. */
static enum mt_status copy_own(const struct mt_dump *d, struct mt_own *own, struct mt_error *err)
{
    const struct mt_preload_account *a = &watch.account;
    *own = (struct mt_own){.mode = watch.live ? "cache" : "record",
                           .runtime_calls = watch.runtime_calls,
                           .driver_calls = watch.driver_calls,
                           .lookups = mt_preload_lookups()};
    for (int i = 0; i <= MT_RECORD_HOST; i++) {
        const struct mt_own_device device = own_of(d, i);
        if ((device.seen.bytes > 0 || a->peak[i] > 0) && !mt_vec_push(&own->devices, device)) {
            return mt_fail_nomem(err);
        }
    }
    return mt_preload_account_copy(a, &watch.recorder->stacks, own, err);
}

static enum mt_status copy_state(struct mt_dump *d, struct mt_error *err)
{
    struct mt_own own = {0};
    mt_quick_lock_take(watch.lock);
    enum mt_status status = watch.live
                                ? mt_live_copy(watch.live, d, err)
                                : mt_dump_add_recorder(d, watch.recorder, watch.n_devices, err);
    if (status == MT_OK) {
        status = mt_preload_table_dump(&watch.table, d, err);
    }
    if (status == MT_OK && watch.live) {
        mt_dump_sort(d);
    }
    if (status == MT_OK) {
        status = copy_own(d, &own, err);
    }
    mt_quick_lock_give(watch.lock);
    if (status == MT_OK) {
        mt_preload_device_ask(&own);
        mt_dump_take_own(d, &own);
    }
    mt_own_release(&own);
    return status;
}

/* With dump_lock. */
static enum mt_status write_snapshot(enum mt_snapshot_why why, struct mt_error *err)
{
    char path[MT_RECORD_PATH_MAX];
    if (!name_of(why, path, sizeof path)) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no usable name for a snapshot: %.150s",
                       watch.recorder->settings.path);
    }
    struct mt_dump *d = mt_dump_new();
    if (!d) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = copy_state(d, err);
    if (status == MT_OK) {
        status = mt_dump_write(d, path, err);
    }
    mt_dump_free(d);
    if (status == MT_OK && mt_snapshot_names_add(&watch.names, why)) {
        tell(mt_snapshot_why_text(why), path);
    }
    return status;
}

static enum mt_status dump(enum mt_snapshot_why why, struct mt_error *err)
{
    thread.own++;
    pthread_mutex_lock(&watch.dump_lock);
    enum mt_status status = write_snapshot(why, err);
    pthread_mutex_unlock(&watch.dump_lock);
    thread.own--;
    return status;
}

/* A program that tries sizes until one fits is not to spend its time on snapshots. */
static void dump_oom(void)
{
    struct mt_error err;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&watch.dump_lock);
    bool due = watch.last_oom_s == 0 || now.tv_sec - watch.last_oom_s >= OOM_PAUSE_S;
    if (due && write_snapshot(MT_SNAPSHOT_OOM, &err) != MT_OK) {
        say(err.text);
    }
    watch.last_oom_s = now.tv_sec;
    pthread_mutex_unlock(&watch.dump_lock);
}

/* ---- the moments ---- */

static void at_end(void)
{
    struct mt_error err;
    bool used = watch.live || watch.n_devices > 0 || watch.account.peak[MT_RECORD_HOST] > 0;
    if (used && !watch.forked && watch.recorder->settings.at_exit &&
        dump(MT_SNAPSHOT_EXIT, &err) != MT_OK) {
        say(err.text);
    }
}

static void on_signal(int number)
{
    int saved = errno;
    if (number == SIGTERM) {
        atomic_store(&watch.told_to_end, true);
    }
    mt_dumper_wake(&watch.dumper);
    errno = saved;
}

static enum mt_status dump_woken(void *ctx, struct mt_error *err)
{
    bool end = atomic_load(&watch.told_to_end);
    enum mt_status status = dump(end                     ? MT_SNAPSHOT_TERM
                                 : watch.dumper.by_clock ? MT_SNAPSHOT_CLOCK
                                                         : MT_SNAPSHOT_SIGNAL,
                                 err);
    (void)ctx;
    if (end) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(SIGTERM, &action, NULL);
        kill(getpid(), SIGTERM);
    }
    return status;
}

/* The program's own handlers are left alone. */
static void catch_signal(int number)
{
    struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL) {
        sigaction(number, &action, NULL);
    }
}

static void start_triggers(const struct mt_record_settings *s)
{
    struct mt_error err;
    atexit(at_end);
    watch.dumper.dump = dump_woken;
    watch.dumper.every_s = s->every_s;
    watch.dumper.on_failure = say;
    if (s->signal == 0 && s->every_s == 0) {
        return;
    }
    if (mt_dumper_start(&watch.dumper, &err) != MT_OK) {
        say(err.text);
        return;
    }
    if (s->signal) {
        catch_signal(s->signal);
        catch_signal(SIGTERM);
    }
}

static void before_fork(void)
{
    pthread_mutex_lock(&watch.dump_lock);
    mt_quick_lock_take(watch.lock);
}

static void after_fork_parent(void)
{
    mt_quick_lock_give(watch.lock);
    pthread_mutex_unlock(&watch.dump_lock);
}

/* The child of a process that uses CUDA cannot use it. */
static void after_fork_child(void)
{
    watch.forked = true;
    if (watch.live) {
        mt_live_set_forked(watch.live);
    }
    after_fork_parent();
}

/* ---- beginning, at the first allocation ---- */

static void read_settings(struct mt_record_settings *s)
{
    struct mt_error err;
    const char *text = getenv("MEMTOOL_RECORD");
    mt_record_settings_default(s);
    s->at_exit = true;
    if (text && mt_record_settings_parse(s, mt_str_from(text), &err) != MT_OK) {
        mt_error_prefix(&err, "MEMTOOL_RECORD is ignored");
        say(err.text);
        mt_record_settings_default(s);
        s->at_exit = true;
    }
    if (s->stacks == MT_RECORD_STACKS_AUTO) {
        s->stacks = MT_RECORD_STACKS_ALL; /* C's name the library that called */
    }
}

/* The recorder: in mode cache that of the allocator, so that one lock and one order of events serve
 * what it does and what passes it by. */
static enum mt_status make_recorder(const struct mt_record_settings *s, struct mt_error *err)
{
    const struct mt_live_options o = {.conf = getenv("MEMTOOL_ALLOC_CONF"), .rank = watch.rank};
    if (atomic_load(&watch.mode) != CACHE) {
        MT_TRY(mt_recorder_new(&watch.recorder, err));
        mt_recorder_set(watch.recorder, s);
        return MT_OK;
    }
    MT_TRY(mt_live_new(&o, &watch.live, err));
    mt_live_record(watch.live, s);
    watch.recorder = watch.live->recorder;
    watch.lock = &watch.live->lock;
    return MT_OK;
}

static void begin(void)
{
    struct mt_error err;
    struct mt_record_settings s;
    const char *rank = getenv("RANK");
    read_settings(&s);
    watch.list = getenv("MEMTOOL_CAPTURE_LIST");
    watch.rank = rank ? rank : "0";
    if (make_recorder(&s, &err) != MT_OK) {
        mt_error_prefix(&err, "nothing is recorded");
        say(err.text);
        return;
    }
    void *check = watch.recorder->python.found ? dlsym(RTLD_DEFAULT, "PyGILState_Check") : NULL;
    memcpy(&watch.holds_gil, &check, sizeof check);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    start_triggers(&s);
    watch.ready = true;
}

/* Begins where that was not done yet; whether there is something to record with. */
static bool begun(void)
{
    if (MT_UNLIKELY(!atomic_load_explicit(&watch.begun, memory_order_acquire))) {
        thread.own++;
        pthread_once(&watch.once, begin);
        thread.own--;
        atomic_store_explicit(&watch.begun, true, memory_order_release);
    }
    return watch.ready && !watch.forked;
}

bool mt_preload_enter(void)
{
    if (!mt_preload_on() || thread.own > 0 || thread.watched) {
        return false;
    }
    thread.watched = begun();
    return thread.watched;
}

struct mt_live *mt_preload_live(void)
{
    if (!mt_preload_on() || atomic_load_explicit(&watch.mode, memory_order_relaxed) != CACHE) {
        return NULL;
    }
    if (thread.own > 0 && !atomic_load_explicit(&watch.begun, memory_order_acquire)) {
        return NULL; /* the beginning itself */
    }
    return begun() ? watch.live : NULL;
}

void mt_preload_leave(void)
{
    thread.watched = false;
}

void mt_preload_look(void)
{
    if (mt_preload_on() && thread.own == 0) {
        thread.own++;
        mt_preload_device_look(0);
        thread.own--;
    }
}

bool mt_preload_mark(const char *name, bool end)
{
    if (!mt_preload_on() || !begun()) {
        return false;
    }
    int device = mt_preload_device();
    mt_quick_lock_take(watch.lock);
    mt_recorder_tick(watch.recorder);
    mt_recorder_mark(watch.recorder, device, name, end);
    mt_quick_lock_give(watch.lock);
    return true;
}

/* ---- stacks ---- */

/* Of this thread; 0 for none. Takes the lock by itself, twice when the stack is new. */
static uint32_t stack_here(bool is_free)
{
    struct mt_recorder *r = watch.recorder;
    struct mt_raw_stack raw;
    uint32_t how = atomic_load_explicit(&r->how, memory_order_relaxed);
    mt_raw_stack_reset(&raw);
    if (how == 0 || (is_free && !(how & MT_HOW_FREES))) {
        return 0;
    }
    if (!watch.holds_gil || watch.holds_gil() != 1) {
        how &= ~(uint32_t)MT_HOW_PYTHON;
    }
    mt_recorder_capture_how(r, how, &raw);
    mt_quick_lock_take(watch.lock);
    uint32_t id = mt_recorder_find_stack(r, &raw);
    mt_quick_lock_give(watch.lock);
    if (id != 0 || raw.n == 0) {
        return id;
    }
    struct mt_stack_text *text = mt_recorder_describe(r, &raw);
    if (text && raw.n > 0) {
        mt_quick_lock_take(watch.lock);
        id = mt_recorder_add_stack(r, &raw, text);
        mt_quick_lock_give(watch.lock);
    }
    mt_stack_text_free(text);
    return id;
}

uint32_t mt_preload_stack(bool is_free)
{
    thread.own++;
    uint32_t id = stack_here(is_free);
    thread.own--;
    return id;
}

/* ---- the code of kernels ---- */

bool mt_preload_seen(int device, uint64_t *bytes)
{
    bool counts = begun() && !watch.live && device < MT_RECORD_DEVICES_MAX;
    if (counts) {
        mt_quick_lock_take(watch.lock);
        *bytes = watch.account.current[device];
        mt_quick_lock_give(watch.lock);
    }
    return counts;
}

void mt_preload_code(int device, int64_t bytes)
{
    uint32_t stack = stack_here(false);
    mt_quick_lock_take(watch.lock);
    mt_preload_account_code(&watch.account, &watch.recorder->stacks, device, bytes, stack);
    mt_quick_lock_give(watch.lock);
}

/* ---- events ---- */

static void note_gone(const struct mt_preload_held *h, uint32_t stack)
{
    static const enum mt_record_action actions[] = {
        MT_RECORD_FREE_REQUESTED, MT_RECORD_FREE_COMPLETED, MT_RECORD_SEGMENT_FREE};
    struct mt_recorder *r = watch.recorder;
    mt_preload_account_sub(&watch.account, &r->stacks, h->device, h->size, h->stack);
    mt_recorder_tick(r);
    for (size_t i = 0; i < MT_COUNT(actions); i++) {
        mt_recorder_event(r, h->device, actions[i], h->addr, h->size, h->stream, stack);
    }
}

static void note_held(const struct mt_preload_held *h)
{
    struct mt_recorder *r = watch.recorder;
    struct mt_preload_held old;
    if (h->device >= watch.n_devices && h->device < MT_RECORD_DEVICES_MAX) {
        watch.n_devices = h->device + 1;
    }
    if (mt_preload_table_take(&watch.table, h->addr, &old)) {
        note_gone(&old, 0); /* its end was not seen */
    }
    mt_recorder_tick(r);
    if (!mt_preload_table_put(&watch.table, h)) {
        return; /* no memory: what is not in the table is not in the trace either */
    }
    mt_preload_account_add(&watch.account, &r->stacks, h->device, h->size, h->stack);
    mt_recorder_event(r, h->device, MT_RECORD_SEGMENT_ALLOC, h->addr, h->size, h->stream, h->stack);
    mt_recorder_event(r, h->device, MT_RECORD_ALLOC, h->addr, h->size, h->stream, h->stack);
}

static void note_oom(int device, uint64_t size, uint64_t stream)
{
    uint32_t stack = stack_here(false);
    uint64_t left = 0, total;
    if (!mt_preload_device_free(&left, &total)) {
        left = 0;
    }
    mt_quick_lock_take(watch.lock);
    if (device >= watch.n_devices && device < MT_RECORD_DEVICES_MAX) {
        watch.n_devices = device + 1;
    }
    mt_recorder_tick(watch.recorder);
    mt_recorder_event(watch.recorder, device, MT_RECORD_OOM, left, size, stream, stack);
    mt_quick_lock_give(watch.lock);
    mt_preload_refused();
}

void mt_preload_refused(void)
{
    thread.own++;
    if (watch.recorder->settings.on_oom) {
        dump_oom();
    }
    thread.own--;
}

void mt_preload_allocated(const struct mt_preload_request *r)
{
    bool refused = r->result == OUT_OF_MEMORY;
    if ((r->result != 0 && !refused) || (refused && r->device == MT_RECORD_HOST)) {
        return; /* an out of memory is the device's; many programs do without pinned memory */
    }
    thread.own++;
    int device = r->device >= 0 ? r->device : mt_preload_device();
    if (device != MT_RECORD_HOST && r->result == 0) {
        mt_preload_device_look(r->device < 0 ? r->size : 0);
    }
    if (refused) {
        note_oom(device, r->size, r->stream);
    } else if (r->addr != 0) {
        const struct mt_preload_held h = {r->addr, r->size, r->stream, device, stack_here(false)};
        mt_quick_lock_take(watch.lock);
        *(r->by_driver ? &watch.driver_calls : &watch.runtime_calls) += 1;
        note_held(&h);
        mt_quick_lock_give(watch.lock);
    }
    thread.own--;
}

void mt_preload_take(uint64_t addr, struct mt_preload_taken *out)
{
    struct mt_preload_held h;
    thread.own++;
    uint32_t stack = stack_here(true);
    mt_quick_lock_take(watch.lock);
    *out = (struct mt_preload_taken){.known = mt_preload_table_take(&watch.table, addr, &h)};
    if (out->known) {
        note_gone(&h, stack);
        *out = (struct mt_preload_taken){true, h.device, addr, h.size, h.stream, h.stack};
    }
    mt_quick_lock_give(watch.lock);
    thread.own--;
}

void mt_preload_freed(const struct mt_preload_taken *t, int result)
{
    if (!t->known || result == 0) {
        return;
    }
    const struct mt_preload_held h = {t->addr, t->size, t->stream, t->device, t->stack};
    mt_quick_lock_take(watch.lock);
    note_held(&h);
    mt_quick_lock_give(watch.lock);
}

void mt_preload_device_ends(int device)
{
    struct mt_preload_held h;
    uint32_t stack = mt_preload_stack(true);
    mt_quick_lock_take(watch.lock);
    for (size_t i = 0; i < watch.table.held.n; i++) {
        uint64_t addr = watch.table.held.v[i].addr;
        if (addr != 0 && addr < MT_PRELOAD_PAGES && watch.table.held.v[i].device == device &&
            mt_preload_table_take(&watch.table, addr, &h)) {
            note_gone(&h, stack);
        }
    }
    mt_quick_lock_give(watch.lock);
}

/* ---- physical memory ---- */

void mt_preload_page_created(const struct mt_preload_request *wanted, uint64_t handle)
{
    struct mt_preload_request r = *wanted;
    if (r.result == 0) {
        mt_quick_lock_take(watch.lock);
        r.addr = mt_preload_table_page(&watch.table, handle, r.size);
        mt_quick_lock_give(watch.lock);
    }
    mt_preload_allocated(&r);
}

void mt_preload_page_retained(uint64_t handle)
{
    mt_quick_lock_take(watch.lock);
    mt_preload_table_retain(&watch.table, handle);
    mt_quick_lock_give(watch.lock);
}

/* A page that nothing holds any more. */
static void end_page(uint64_t addr)
{
    struct mt_preload_taken taken;
    if (addr != 0) {
        mt_preload_take(addr, &taken);
    }
}

void mt_preload_page_released(uint64_t handle)
{
    mt_quick_lock_take(watch.lock);
    uint64_t addr = mt_preload_table_release(&watch.table, handle);
    mt_quick_lock_give(watch.lock);
    end_page(addr);
}

void mt_preload_page_mapped(uint64_t addr, uint64_t handle)
{
    mt_quick_lock_take(watch.lock);
    mt_preload_table_map(&watch.table, addr, handle);
    mt_quick_lock_give(watch.lock);
}

void mt_preload_page_unmapped(uint64_t addr, uint64_t size)
{
    uint64_t gone = 0;
    for (bool more = true; more;) {
        mt_quick_lock_take(watch.lock);
        more = mt_preload_table_unmap(&watch.table, addr, size, &gone);
        mt_quick_lock_give(watch.lock);
        end_page(more ? gone : 0);
    }
}
