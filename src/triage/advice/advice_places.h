/* SPDX-License-Identifier: MIT */
/* The formulas of advice, in two tables: figures of the event and the log, and words. */
#ifndef MEMTOOL_TRIAGE_ADVICE_ADVICE_PLACES_H
#define MEMTOOL_TRIAGE_ADVICE_ADVICE_PLACES_H

#include "triage/advice/advice_when.h"

/* Appends what it stands for; false: a figure that it needs is not known. */
typedef bool mt_place_fn(const struct mt_advisor *a, struct mt_buf *out);

struct mt_place {
    struct mt_str name;
    mt_place_fn *put;
};

/* advice_words.c: tools, settings, a snapshot's lines, words for some cases only. */
extern const struct mt_place MT_WORD_PLACES[];
extern const size_t MT_WORD_PLACES_N;

/* advice_commands.c: in the words of the program and its device. */
extern const struct mt_place MT_COMMAND_PLACES[];
extern const size_t MT_COMMAND_PLACES_N;

#endif
