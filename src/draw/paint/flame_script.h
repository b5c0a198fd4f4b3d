/* SPDX-License-Identifier: MIT */
/* The script that flame graphs in SVG carry: search and zoom. The picture is whole without it. */
#ifndef MEMTOOL_DRAW_PAINT_FLAME_SCRIPT_H
#define MEMTOOL_DRAW_PAINT_FLAME_SCRIPT_H

extern const char MT_FLAME_SCRIPT[];

#endif
