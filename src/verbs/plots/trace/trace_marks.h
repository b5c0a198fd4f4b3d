/* SPDX-License-Identifier: MIT */
/* What stands over the curves of a timeline. */
#ifndef MEMTOOL_VERBS_PLOTS_TRACE_TRACE_MARKS_H
#define MEMTOOL_VERBS_PLOTS_TRACE_TRACE_MARKS_H

#include "verbs/plots/chart.h"

/* Draws them, with their labels. */
void mt_trace_marks(struct mt_chart *c);

#endif
