/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of a watched process, and their moments: at the end, on a signal, by the clock, when
 * memory runs out. Only what must agree is copied under the lock; everything is written without it.
 */
#include "live/core/quiet_write.h"
#include "live/preload/preload_state.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/str.h"

#include "live/dump/capture_list.h"
#include "live/dump/crash.h"
#include "live/dump/dump_lock.h"
#include "live/preload/preload.h"
#include "live/preload/preload_device.h"

static struct mt_preload_state *const watch = &mt_preload_state;

void mt_preload_say(const char *text)
{
    char line[512];
    int n = snprintf(line, sizeof line, "memtool: %s\n", text);
    size_t length = (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    line[length - 1] = '\n'; /* also where it was cut */
    mt_quiet_write(STDERR_FILENO, &(struct iovec){line, length}, 1);
}

/* ---- snapshots ---- */

static bool name_of(enum mt_snapshot_why why, char *out, size_t size)
{
    char pattern[MT_RECORD_PATH_MAX];
    return mt_snapshot_names_next(&watch->names, watch->recorder->settings.path, why, pattern,
                                  sizeof pattern) &&
           mt_record_path(pattern, (long)getpid(), watch->rank, out, size);
}

void mt_preload_failed(const char *text)
{
    mt_capture_list_tell(watch->list, "failed", NULL);
    mt_preload_say(text);
}

static struct mt_own_device own_of(const struct mt_dump *d, int device)
{
    const struct mt_preload_account *a = &watch->account;
    uint64_t seen = mt_dump_segment_bytes(d, device);
    struct mt_own_device own = {.device = device, .seen = {true, seen}};
    if (!watch->live) { /* whose requests of the driver's are its own */
        own.seen_peak = (struct mt_own_bytes){true, a->peak[device]};
    }
    return own;
}

/* What goes beside the allocations, as far as it stands under the lock. */
static enum mt_status copy_own(const struct mt_dump *d, struct mt_own *own, struct mt_error *err)
{
    const struct mt_preload_account *a = &watch->account;
    *own = (struct mt_own){.mode = watch->live ? "cache" : "record",
                           .runtime_calls = watch->runtime_calls,
                           .driver_calls = watch->driver_calls,
                           .lookups = mt_preload_lookups()};
    for (int i = 0; i <= MT_RECORD_HOST; i++) {
        const struct mt_own_device device = own_of(d, i);
        if ((device.seen.bytes > 0 || a->peak[i] > 0) && !mt_vec_push(&own->devices, device)) {
            return mt_fail_nomem(err);
        }
    }
    return mt_preload_account_copy(a, &watch->recorder->stacks, own, err);
}

static enum mt_status copy_state(struct mt_dump *d, const struct mt_write_request *r,
                                 struct mt_error *err)
{
    struct mt_own own = {0};
    mt_quick_lock_take(watch->lock);
    enum mt_status status = watch->live
                                ? mt_live_copy(watch->live, d, err)
                                : mt_dump_add_recorder(d, watch->recorder, watch->n_devices, err);
    if (status == MT_OK) {
        status = mt_preload_table_dump(&watch->table, d, err);
    }
    if (status == MT_OK && watch->live) {
        mt_dump_sort(d);
    }
    if (status == MT_OK) {
        status = copy_own(d, &own, err);
    }
    mt_quick_lock_give(watch->lock);
    if (status == MT_OK) {
        mt_preload_device_ask(&own, r);
        mt_dump_take_own(d, &own);
    }
    mt_own_release(&own);
    return status;
}

/* With dump_lock. */
static enum mt_status write_snapshot(const struct mt_write_request *r, char *path,
                                     struct mt_error *err)
{
    if (!name_of(r->why, path, MT_RECORD_PATH_MAX)) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no usable name for a snapshot: %.150s",
                       watch->recorder->settings.path);
    }
    struct mt_dump *d = mt_dump_new();
    if (!d) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = copy_state(d, r, err);
    if (status == MT_OK) {
        status = mt_dump_write(d, &watch->names, r->why, path, err);
    }
    mt_dump_free(d);
    if (status == MT_OK && mt_snapshot_names_add(&watch->names, r->why)) {
        mt_capture_list_tell(watch->list, mt_snapshot_why_text(r->why), path);
    }
    return status;
}

/* What the writer calls. In mode cache a thread holds the lock while it waits for the driver. */
static enum mt_status dump(void *ctx, const struct mt_write_request *r, char *path,
                           struct mt_error *err)
{
    int cancel;
    (void)ctx;
    if (!mt_quick_lock_comes_free(watch->lock, MT_LIVE_PATIENCE_S)) {
        return mt_live_no_answer(err);
    }
    MT_TRY(mt_dump_lock_take(&watch->dump_lock, &cancel, err));
    mt_preload_own_begin();
    enum mt_status status = write_snapshot(r, path, err);
    mt_preload_own_end();
    mt_dump_lock_give(&watch->dump_lock, cancel);
    return status;
}

static void ask_for(enum mt_snapshot_why why)
{
    struct mt_error err;
    struct mt_write_request r = {.why = why};
    mt_preload_own_begin();
    mt_preload_device_here(&r);
    if (mt_writer_ask(&watch->writer, &r, NULL, &err) != MT_OK) {
        mt_preload_failed(err.text);
    }
    mt_preload_own_end();
}

void mt_preload_dump_oom(void)
{
    int64_t now = mt_snapshot_clock_ms();
    int64_t last = atomic_load(&watch->last_oom_ms);
    if ((last == 0 || now - last >= MT_SNAPSHOT_OOM_PAUSE_MS) &&
        atomic_compare_exchange_strong(&watch->last_oom_ms, &last, now)) {
        ask_for(MT_SNAPSHOT_OOM);
    }
}

/* ---- the moments ---- */

static void at_end(void)
{
    mt_writer_yield(&watch->writer);
    bool used = watch->live || watch->n_devices > 0 || watch->account.peak[MT_RECORD_HOST] > 0;
    bool ended = atomic_exchange(&watch->writer.ended, true);
    if (used && !watch->forked && !ended) {
        ask_for(MT_SNAPSHOT_EXIT);
    }
    if (!used) {
        mt_capture_list_tell(watch->list, "unused", NULL);
    }
}

static void on_signal(int number)
{
    mt_dumper_on_signal(&watch->dumper, number);
}

static enum mt_status dump_woken(void *ctx, struct mt_error *err)
{
    const struct mt_write_request r = {.why = atomic_load(&watch->dumper.ends_by) != 0
                                                  ? MT_SNAPSHOT_TERM
                                              : watch->dumper.by_clock ? MT_SNAPSHOT_CLOCK
                                                                       : MT_SNAPSHOT_SIGNAL};
    (void)ctx;
    return mt_writer_ask(&watch->writer, &r, NULL, err);
}

/* Not the lock of dumps: whoever has it may wait for ever, and the child makes it anew. */
static void before_fork(void)
{
    mt_quick_lock_take(watch->lock);
}

static void after_fork_parent(void)
{
    mt_quick_lock_give(watch->lock);
}

/* The child of a process that uses CUDA cannot use it. */
static void after_fork_child(void)
{
    watch->forked = true;
    if (watch->live) {
        mt_live_set_forked(watch->live);
    }
    mt_quick_lock_give(watch->lock);
    mt_dump_lock_init(&watch->dump_lock);
}

static void start_writer(const struct mt_record_settings *s)
{
    struct mt_error err;
    struct mt_writer *w = &watch->writer;
    w->write = dump;
    w->on_failure = mt_preload_failed;
    w->dump_lock = &watch->dump_lock;
    w->limit_s = s->limit_s;
    w->ended = !s->at_exit;
    if (mt_writer_start(w, &err) != MT_OK) {
        mt_preload_failed(err.text); /* who asks for a snapshot writes it */
    } else if (s->at_exit) {
        mt_crash_watch(w);
        at_quick_exit(at_end);
    }
}

static void start_dumper(const struct mt_record_settings *s)
{
    struct mt_error err;
    watch->dumper.dump = dump_woken;
    watch->dumper.every_s = s->every_s;
    watch->dumper.on_failure = mt_preload_failed;
    watch->writer.ends_by = &watch->dumper.ends_by;
    if (mt_dumper_start(&watch->dumper, &err) != MT_OK) {
        mt_preload_failed(err.text);
    } else if (s->signal) { /* the program's own handlers are left alone */
        (void)!mt_dumper_catch(s->signal, on_signal);
        (void)!mt_dumper_catch(SIGTERM, on_signal);
    }
}

void mt_preload_dump_start(const struct mt_record_settings *s)
{
    struct mt_error err;
    mt_capture_list_tell(watch->list, "cuda", NULL);
    mt_snapshot_names_begin(&watch->names, watch->since);
    if (!mt_record_rank_check(watch->rank, &err)) {
        mt_preload_say(err.text);
    }
    mt_dump_lock_init(&watch->dump_lock);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    atexit(at_end);
    start_writer(s);
    if (s->signal != 0 || s->every_s != 0) {
        start_dumper(s);
    }
}
