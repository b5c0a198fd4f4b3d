/* SPDX-License-Identifier: MIT */
/* Ranges that a program names before its first CUDA call. */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_EARLY_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_EARLY_H

#include <stdbool.h>

#include "live/core/recorder.h"

/* At most so many beginnings and ends are kept; a range that finds no room for both is not told. */
enum { MT_EARLY_MAX = 256 };

/* Whether it is early still; then *kept: the range's beginning or end is kept. */
bool mt_preload_early(const char *name, bool end, bool *kept);

/* From now on it is not: what was kept goes into the recorder, with its times. Accepts NULL. */
void mt_preload_early_over(struct mt_recorder *r);

#endif
