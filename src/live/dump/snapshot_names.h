/* SPDX-License-Identifier: MIT */
/*
 * Names for the snapshots of one process, so that none overwrites another of a different moment:
 * the first has the name as it was given; later ones have the reason before the suffix, and a
 * number when the reason comes again: run.pickle, run.signal.pickle, run.signal.2.pickle,
 * run.exit.pickle. Of those that come by themselves (out of memory, by the clock) the newest is
 * kept, or a program that is refused every second would fill the disk.
 *
 * Nor does it overwrite that of another process, or what else came to have the name meanwhile: the
 * next free number stands before the suffix then, and in all later names of that process:
 * run.2.pickle, run.2.exit.pickle.
 */
#ifndef MEMTOOL_LIVE_DUMP_SNAPSHOT_NAMES_H
#define MEMTOOL_LIVE_DUMP_SNAPSHOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/dump/whole_file.h"
#include "support/compiler.h"

enum mt_snapshot_why {
    MT_SNAPSHOT_OOM,
    MT_SNAPSHOT_CLOCK,
    MT_SNAPSHOT_SIGNAL,
    MT_SNAPSHOT_TERM,
    MT_SNAPSHOT_EXIT,
    MT_SNAPSHOT_CRASH,
    MT_SNAPSHOT_WHY_COUNT
};

/* A refusal gets none within so many milliseconds of the last one's: a program that tries sizes
 * until one fits is not to spend its time on snapshots. */
enum { MT_SNAPSHOT_OOM_PAUSE_MS = 1000 };

/* Milliseconds of the steady clock, above 0. */
int64_t mt_snapshot_clock_ms(void);

/* Nothing written yet when zeroed, and no file is replaced. */
struct mt_snapshot_names {
    bool any;
    enum mt_snapshot_why first; /* whose snapshot has the bare name */
    unsigned written[MT_SNAPSHOT_WHY_COUNT];
    unsigned own;     /* the number in all names, from 2; less: none */
    int64_t since_ns; /* files that were there before may be replaced; of the Unix epoch */
    char newest[MT_SNAPSHOT_CLOCK + 1][MT_WHOLE_PATH_MAX]; /* of those of which one is kept */
};

/* Files that are there now may be replaced. `since` is what memtool capture sets
 * MEMTOOL_CAPTURE_SINCE to, nanoseconds of the Unix epoch: only files older than that may be, those
 * that its -f means, and 0 means none. NULL: not under capture. */
void mt_snapshot_names_begin(struct mt_snapshot_names *n, const char *since);

/* "oom", "clock", "signal", "term", "exit", "crash". */
const char *mt_snapshot_why_text(enum mt_snapshot_why why);

/* The pattern of the next snapshot's path, of that of all: `path` with what is to stand before its
 * suffix. False when it does not fit. */
bool mt_snapshot_names_next(const struct mt_snapshot_names *n, const char *path,
                            enum mt_snapshot_why why, char *out, size_t size) MT_NODISCARD;

/* Closes a whole file and gives it its name: `path`, of mt_snapshot_names_next and with its marks
 * filled in, or with a number where that is taken; what it got is in `path` then. For
 * mt_snapshot_names_add to follow. Returns 0 or an errno, and then nothing is left. */
int mt_snapshot_names_place(struct mt_snapshot_names *n, enum mt_snapshot_why why,
                            struct mt_whole_file *f, char *path, size_t size);

/* It was written. Returns whether its name is a new one, not that of an older one of its kind. */
bool mt_snapshot_names_add(struct mt_snapshot_names *n, enum mt_snapshot_why why);

#endif
