/* SPDX-License-Identifier: MIT */
/* Segments in rows: groups of one pool and stream, packed into lines to scale. */
#ifndef MEMTOOL_VERBS_PLOTS_SEGMENTS_ROW_LAYOUT_H
#define MEMTOOL_VERBS_PLOTS_SEGMENTS_ROW_LAYOUT_H

#include "draw/plot.h"
#include "heap/walk/state.h"
#include "support/vec.h"

/* A part of a segment on one line; a segment wider than a line has several. */
struct mt_row_piece {
    uint32_t segment; /* index into the state */
    size_t line;      /* within the group */
    double x, w;      /* px from the left end of the line */
    uint64_t first;   /* bytes of the segment before this piece */
    uint64_t bytes;
    uint64_t gap; /* unmapped bytes in front of it, 0 = none shown */
    double gap_w; /* px */
};

struct mt_row_group {
    uint16_t stream;
    uint8_t kind; /* enum mt_pool_kind */
    struct mt_pool_id pool;
    uint32_t first, n; /* entries of mt_rows.order */
    struct mt_state_sum sum;
    unsigned zoom; /* a power of two */
    size_t first_piece, n_pieces;
    size_t lines;
};

struct mt_rows {
    MT_VEC(uint32_t) order; /* segments, by group, then by address */
    MT_VEC(struct mt_row_group) groups;
    MT_VEC(struct mt_row_piece) pieces;
    double bytes_per_px; /* at zoom 1 */
};

/* How to lay them out, in px (or columns of a terminal). */
struct mt_rows_style {
    double width;   /* of a line */
    size_t lines;   /* about so many in all */
    double spacing; /* between segments; those narrower than `narrow` stand 1 apart */
    double narrow;
    double gap; /* shown for the unmapped space between two runs of an expandable segment */
};

/* False when out of memory; release it anyway. */
bool mt_rows_lay_out(struct mt_rows *r, const struct mt_state *st,
                     const struct mt_rows_style *style);
void mt_rows_release(struct mt_rows *r);

#endif
