/* SPDX-License-Identifier: MIT */
/*
 * A pickle (protocol 4) written straight into a file, a value at a time. It holds a few kilobytes
 * and takes no memory, so that a process that is out of memory can still tell why.
 */
#ifndef MEMTOOL_LIVE_DUMP_PICKLE_OUT_H
#define MEMTOOL_LIVE_DUMP_PICKLE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

enum { MT_PICKLE_BUFFER = 1 << 16 };

struct mt_pickle_out {
    int fd;
    int error;     /* errno of the first write that failed, else 0; then nothing more is written */
    uint32_t memo; /* objects remembered so far: the next one's number */
    size_t n;
    unsigned char buffer[MT_PICKLE_BUFFER];
};

void mt_pickle_begin(struct mt_pickle_out *o, int fd);
/* Ends the pickle and writes out what is left; false when any write failed (see error). */
bool mt_pickle_end(struct mt_pickle_out *o);

void mt_pickle_uint(struct mt_pickle_out *o, uint64_t v);
void mt_pickle_int(struct mt_pickle_out *o, int64_t v);
void mt_pickle_bool(struct mt_pickle_out *o, bool v);
void mt_pickle_double(struct mt_pickle_out *o, double v);
void mt_pickle_str(struct mt_pickle_out *o, struct mt_str s);

/* Containers: open, items (key, value, key, value ... of a dict), close. An empty one may be opened
 * and closed. */
void mt_pickle_dict(struct mt_pickle_out *o);
void mt_pickle_dict_end(struct mt_pickle_out *o);
void mt_pickle_list(struct mt_pickle_out *o);
void mt_pickle_list_end(struct mt_pickle_out *o);
void mt_pickle_pair(struct mt_pickle_out *o); /* after two values: they become a tuple */

/* Remembers the value just written and returns its number; get writes it again by that number. */
uint32_t mt_pickle_remember(struct mt_pickle_out *o);
void mt_pickle_get(struct mt_pickle_out *o, uint32_t number);

#endif
