/* SPDX-License-Identifier: MIT */
/* The trust facts of snapshots that a watched process wrote (capture --mode record and cache). */
#ifndef MEMTOOL_HEAP_SUMS_TRUST_WATCH_H
#define MEMTOOL_HEAP_SUMS_TRUST_WATCH_H

#include "heap/sums/trust.h"

/* Appends them; none for other files. Errors: MT_NOMEM. */
enum mt_status mt_trust_watch(struct mt_trust *trust, const struct mt_snapshot *s,
                              struct mt_error *err) MT_NODISCARD;

#endif
