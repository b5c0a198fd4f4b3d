/* SPDX-License-Identifier: MIT */
/*
 * How the bands of a picture look and what they are called. In a picture of several files or
 * devices a stack has one colour, and so have stacks that are called the same: the eye compares
 * panels by both.
 */
#ifndef MEMTOOL_VERBS_PLOTS_TRACE_TRACE_LOOKS_H
#define MEMTOOL_VERBS_PLOTS_TRACE_TRACE_LOOKS_H

#include "verbs/plots/plots.h"
#include "verbs/plots/trace/trace_words.h"

struct mt_band_look {
    uint32_t color;
    size_t fill; /* the same in numbers from 0, for pictures without colour */
    struct mt_label label;
};

/*
 * The looks of n panels: MT_TRACE_BANDS a panel, those of panel i from i * MT_TRACE_BANDS. What a
 * panel's `look` shows too has its colours. NULL when out of memory; freed with
 * mt_trace_looks_free.
 */
struct mt_band_look *mt_trace_looks_new(const struct mt_plot_style *style,
                                        const struct mt_trace_panel *panels, size_t n) MT_NODISCARD;
void mt_trace_looks_free(struct mt_band_look *looks, size_t n);

#endif
