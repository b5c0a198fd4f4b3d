/* SPDX-License-Identifier: MIT */
/* What stands over the curves of a timeline. */
#ifndef MEMTOOL_PLOT_TRACE_MARKS_H
#define MEMTOOL_PLOT_TRACE_MARKS_H

#include "chart.h"

/* What the line of the capacity is called. */
const char *mt_trace_capacity_name(const struct mt_trace_panel *p);

/* The room, px, that an OOM at the end of the trace has at the right of the curves. */
double mt_trace_margin(const struct mt_chart *c);

/* Draws them, with their labels. */
void mt_trace_marks(struct mt_chart *c);

#endif
