/* SPDX-License-Identifier: MIT */
/* The steps of a device for the page: the table that `memtool steps` prints, and the phases as
 * strips. */
#ifndef MEMTOOL_VERBS_PLOTS_PAGE_PAGE_STEPS_H
#define MEMTOOL_VERBS_PLOTS_PAGE_PAGE_STEPS_H

#include "heap/walk/replay.h"
#include "snapshot/write/sink.h"
#include "support/error.h"
#include "support/units.h"

/* Writes an object, or null where the trace has no steps. Of more than a thousand steps the first
 * thousand. Errors: MT_NOMEM. */
enum mt_status mt_page_steps_write(struct mt_sink *sink, const struct mt_replay *r,
                                   struct mt_size_format size, struct mt_error *err) MT_NODISCARD;

#endif
