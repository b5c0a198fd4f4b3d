/* SPDX-License-Identifier: MIT */
/*
 * What the verbs do with a snapshot, for fuzz targets: everything is called, nothing is compared
 * but what must hold of any snapshot. `choice` chooses filters, moments and settings.
 */
#ifndef MEMTOOL_TESTS_VERBS_H
#define MEMTOOL_TESTS_VERBS_H

#include "snapshot/model/model.h"

void verbs_analyse(const struct mt_snapshot *s, unsigned choice); /* peak, leaks, frag, summary */
void verbs_report(const struct mt_snapshot *s, unsigned choice);  /* info, stats, trace, segments */
void verbs_write(const struct mt_snapshot *s, unsigned choice);   /* convert, exports, ranks */
void verbs_draw(const struct mt_snapshot *s, unsigned choice);    /* plots, page, memory */
void verbs_simulate(const struct mt_snapshot *s, unsigned choice); /* simulate, also with -o */

/* The command lines of all verbs, over the bytes of a snapshot. One in VERBS_PARTS of them, the
 * first that `choice` says, so that a run stays short; 0 to VERBS_PARTS - 1 together are all. */
enum { VERBS_PARTS = 16 };
void verbs_call(const void *bytes, size_t n, unsigned choice);
/* The same of a file that need not be a snapshot. */
void verbs_call_file(const void *bytes, size_t n, unsigned choice);

#endif
