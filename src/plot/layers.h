/* SPDX-License-Identifier: MIT */
/* One shape an allocation, as PyTorch's viewer draws it. */
#ifndef MEMTOOL_PLOT_LAYERS_H
#define MEMTOOL_PLOT_LAYERS_H

#include "chart.h"

/* The `most` largest allocations as shapes of their own, the rest as one band on top. */
void mt_layers_draw(struct mt_chart *c, size_t most);

#endif
