/* SPDX-License-Identifier: MIT */
/*
 * What is recorded and when it is written: MEMTOOL_RECORD, in the grammar of PyTorch's settings
 * ("key:value,key:value").
 */
#ifndef MEMTOOL_LIVE_CORE_RECORD_SETTINGS_H
#define MEMTOOL_LIVE_CORE_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/error.h"
#include "support/str.h"

enum mt_record_stacks {
    MT_RECORD_STACKS_NONE,
    MT_RECORD_STACKS_AUTO, /* Python's in a Python process, C's otherwise */
    MT_RECORD_STACKS_PYTHON,
    MT_RECORD_STACKS_C,
    MT_RECORD_STACKS_ALL
};

enum { MT_RECORD_PATH_MAX = 1024 };

struct mt_record_settings {
    uint64_t max_entries;          /* of each device's ring; 0: none, only the state at the dump */
    enum mt_record_stacks stacks;  /* kinds of frames */
    uint32_t max_frames;           /* of a stack, 1 .. 128; the innermost are kept */
    bool free_stacks;              /* a free has a stack of its own ("context:all") */
    bool at_exit, on_oom;          /* dump then */
    int signal;                    /* dump on this signal; 0: none */
    uint32_t every_s;              /* dump every so many seconds; 0: never */
    uint32_t limit_s;              /* that a dump may keep anybody waiting */
    char path[MT_RECORD_PATH_MAX]; /* of dumps; with %-marks, see mt_record_path */
};

void mt_record_settings_default(struct mt_record_settings *s);

/*
 * Parses over *s. Errors: MT_USAGE, with the key, the value seen and what is allowed.
 *
 *   enabled:all|state       the trace too, or only what is alive at the dump
 *   max_entries:N           entries of the ring (default 1,000,000, 32 bytes each)
 *   context:all|alloc       stacks of allocations and frees, or of allocations only
 *   stacks:auto|python|c|all|none
 *   max_frames:N            1 .. 128 (default 64)
 *   dump:PATH               default memtool-%p.pickle; a comma in it is written %,
 *   on_oom:True|False       default True
 *   at_exit:True|False      default False
 *   signal:NAME|N           USR1, SIGUSR2, 12
 *   every:SECONDS           1 .. 1,000,000
 *   limit:SECONDS           1 .. 86,400, default 20: how long a dump may take
 */
enum mt_status mt_record_settings_parse(struct mt_record_settings *s, struct mt_str text,
                                        struct mt_error *err) MT_NODISCARD;

/* Whether RANK is a number of at most 9 digits, and what to tell if not. */
bool mt_record_rank_check(const char *rank, struct mt_error *err);

/* The path of a dump with its %-marks filled in: %p the process id, %r the rank, 0 where that is no
 * number (it must not lead into another folder), %% and %, a % and a comma. False when it does not
 * fit. */
bool mt_record_path(const char *pattern, long pid, const char *rank, char *out, size_t size)
    MT_NODISCARD;

#endif
