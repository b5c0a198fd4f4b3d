/* SPDX-License-Identifier: MIT */
/* The fast way for the dictionaries of which a trace consists. */
#ifndef MEMTOOL_SNAPSHOT_READ_PICKLE_EVENTS_H
#define MEMTOOL_SNAPSHOT_READ_PICKLE_EVENTS_H

#include "snapshot/schema/machine.h"

/* Bytes that must lie in the window behind the dictionary's first for a try to make sense. */
enum { MT_EVENT_MIN_BYTES = 256 };

/*
 * Reads the trace event whose EMPTY_DICT opcode is at p, when it is written as the usual writers
 * do; at least MT_EVENT_MIN_BYTES follow before `end`. Returns the byte behind its SETITEMS, with
 * the event's word in *word for the stack; or NULL, and nothing has changed: read it opcode by
 * opcode.
 */
const uint8_t *mt_pickle_event(struct mt_machine *m, const uint8_t *p, const uint8_t *end,
                               mt_word *word);

#endif
