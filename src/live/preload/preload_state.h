/* SPDX-License-Identifier: MIT */
/*
 * What the preload knows, once for the whole process: watchers are called under the names of CUDA's
 * functions and get no argument of memtool's. For preload_watch.c, which owns it and writes down,
 * and preload_dump.c, which writes snapshots of it.
 */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_STATE_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "live/core/live.h"
#include "live/dump/dumper.h"
#include "live/dump/snapshot_names.h"
#include "live/dump/writer.h"
#include "live/preload/preload_account.h"
#include "live/preload/preload_table.h"

struct attempt;

struct mt_preload_state {
    _Atomic int mode;                  /* enum mode of preload_watch.c */
    _Atomic(struct attempt *) attempt; /* of preload_watch.c: the first thread's that got so far */
    _Atomic bool told;                 /* that the mode asked for is none, if so */
    pthread_once_t once;
    _Atomic bool begun;
    bool ready; /* the recorder is there; false: it could not be made, all goes straight through */
    bool forked;
    struct mt_quick_lock own_lock;
    struct mt_quick_lock
        *lock;                 /* of table, account, recorder, counts; that of `live` if there is */
    pthread_mutex_t dump_lock; /* taken before `lock` */
    struct mt_recorder *recorder;
    struct mt_live *live; /* mode cache: the allocator, whose recorder this is; else NULL */
    struct mt_preload_table table;
    struct mt_preload_account account;
    uint64_t runtime_calls, driver_calls;
    int n_devices;
    const char *list;  /* where snapshots are told of; NULL: nowhere */
    const char *since; /* of mt_snapshot_names_begin */
    const char *rank;
    struct mt_dumper dumper;
    struct mt_writer writer;
    struct mt_snapshot_names names; /* with dump_lock */
    _Atomic int64_t last_oom_ms;    /* mt_snapshot_clock_ms; 0: none yet */
};
extern struct mt_preload_state mt_preload_state;

/* "memtool: TEXT" on standard error. */
void mt_preload_say(const char *text);
/* The same, and memtool capture learns that it was said. */
void mt_preload_failed(const char *text);

/* Sees to snapshots at the moments that the settings name, and to fork. Once. */
void mt_preload_dump_start(const struct mt_record_settings *s);

/* The snapshot of a refusal, at most one a second: a program that tries sizes until one fits is not
 * to spend its time on them. */
void mt_preload_dump_oom(void);

#endif
