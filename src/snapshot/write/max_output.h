/* SPDX-License-Identifier: MIT */
/* --max-output: how far a verb unfolds what a snapshot shares. */
#ifndef MEMTOOL_SNAPSHOT_WRITE_MAX_OUTPUT_H
#define MEMTOOL_SNAPSHOT_WRITE_MAX_OUTPUT_H

#include "snapshot/model/model.h"
#include "support/error.h"

/* The setting when the option is not given: by what was read. */
#define MT_MAX_OUTPUT_AUTO UINT64_MAX

/* Bytes that may be written of a snapshot, 0: no limit. `asked` is the setting. Unless asked
 * otherwise, 256 times what was read and at least 256 MiB: JSON repeats the stacks that a pickle
 * shares, and recordings grow 8 to 40 times. */
uint64_t mt_max_output(uint64_t asked, const struct mt_snapshot *s);

#endif
