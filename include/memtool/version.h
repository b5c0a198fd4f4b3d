/* SPDX-License-Identifier: MIT */
/* The one place that states memtool's version. */
#ifndef MEMTOOL_VERSION_H
#define MEMTOOL_VERSION_H

#define MT_VERSION "0.1.0"

#endif
