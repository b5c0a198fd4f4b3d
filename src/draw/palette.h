/* SPDX-License-Identifier: MIT */
/*
 * Colours. A stack keeps its hue from run to run and from file to file, because the hue comes from
 * what the stack says, not from its id. Neighbours differ in lightness as well, so that a picture
 * is readable in grey and by the colour-blind. Red is for trouble only.
 */
#ifndef MEMTOOL_DRAW_PALETTE_H
#define MEMTOOL_DRAW_PALETTE_H

#include "draw/plot.h"
#include "snapshot/model/model.h"

#define MT_HUES 10

struct mt_theme {
    uint32_t background;
    uint32_t panel; /* the ground of a chart */
    uint32_t text, muted, faint;
    uint32_t grid, frame;
    uint32_t older, others; /* bands that are no stack */
    uint32_t free, empty;   /* holes between blocks; segments without any */
    uint32_t gap;           /* unmapped space */
    uint32_t line;          /* the reserved line, outlines */
    uint32_t trouble, good;
    uint32_t rounding; /* lost to it: a red that is not trouble's */
    uint32_t deep[MT_HUES], pale[MT_HUES];
};
const struct mt_theme *mt_theme_get(enum mt_theme_name name);

/* Hash of the names in a stack: the same in every file and run. */
uint64_t mt_stack_hue_hash(const struct mt_snapshot *s, uint32_t stack);

/*
 * Hues for n stacks, most important first: each gets the hue of its hash, or the nearest one that
 * is not taken while some are free.
 */
void mt_palette_hues(const struct mt_snapshot *s, const uint32_t *stacks, size_t n, uint8_t *hues);

/* The colour of a hue; neighbours in a picture take turns with `pale`. */
uint32_t mt_palette_color(const struct mt_theme *t, uint8_t hue, bool pale);

/* Black or white, whichever is easier to read on the colour. */
uint32_t mt_palette_ink(uint32_t background);

#endif
