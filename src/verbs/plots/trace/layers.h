/* SPDX-License-Identifier: MIT */
/* One shape an allocation, as PyTorch's viewer draws it. */
#ifndef MEMTOOL_VERBS_PLOTS_TRACE_LAYERS_H
#define MEMTOOL_VERBS_PLOTS_TRACE_LAYERS_H

#include "verbs/plots/chart.h"

/* The colour of each stack that has a band in the legend. */
struct mt_layer_colors {
    const uint32_t *stacks, *colors;
    size_t n;
};

/* The `most` largest allocations as shapes of their own, older ones below, and the rest as one band
 * on top. Fewer, when their shapes would have too many corners to be shown. */
void mt_layers_draw(struct mt_chart *c, size_t most, const struct mt_layer_colors *colors);

#endif
