/* SPDX-License-Identifier: MIT */
/* The bar of a triage. */
#ifndef MEMTOOL_VERBS_TRIAGE_TRIAGE_BAR_H
#define MEMTOOL_VERBS_TRIAGE_TRIAGE_BAR_H

#include "print/report.h"
#include "triage/triage.h"

/* What the figure "allocated" is of: tensors, or all that a program took. */
const char *mt_triage_live_words(const struct mt_incident *i);

/* Columns that a triage takes, never more than are read with ease. */
int mt_triage_width(const struct mt_report *r);

/* A figure behind its words, or below them where the terminal is narrow, without a newline. */
void mt_triage_figure(struct mt_buf *out, const struct mt_report *r, char mark, const char *words,
                      uint64_t bytes);

/* A part of the card: of the bar and its legend. */
struct mt_triage_part {
    char mark; /* as the manual lists them */
    const char *words;
    uint64_t bytes;
    bool known;
};
enum { MT_TRIAGE_PARTS = 6 };

/* What the card's memory was used for; the last may be what no figure explains. Returns how many
 * of `parts`, which holds MT_TRIAGE_PARTS. */
size_t mt_triage_parts(const struct mt_incident *i, struct mt_triage_part *parts);

/* Appends the bar and its legend; nothing where the card's size is not known. */
void mt_triage_bar(struct mt_buf *out, const struct mt_report *r, const struct mt_incident *i);

#endif
