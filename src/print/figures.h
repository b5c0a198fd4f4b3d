/* SPDX-License-Identifier: MIT */
/* A list of figures: label, value, share, what it means, and with -v PyTorch's own key. */
#ifndef MEMTOOL_PRINT_FIGURES_H
#define MEMTOOL_PRINT_FIGURES_H

#include "print/report.h"

struct mt_figures {
    const struct mt_report *r;
    struct mt_table *table;
};

/* Errors: MT_NOMEM. */
enum mt_status mt_figures_begin(struct mt_figures *f, const struct mt_report *r,
                                struct mt_error *err) MT_NODISCARD;
/* `whole` 0: no share. `key` "": none. The rest is a printf-like note. */
void mt_figure_size(struct mt_figures *f, const char *label, uint64_t bytes, uint64_t whole,
                    const char *key, const char *note, ...) MT_PRINTF(6, 7);
void mt_figure_count(struct mt_figures *f, const char *label, uint64_t n, uint64_t whole,
                     const char *key, const char *note, ...) MT_PRINTF(6, 7);
void mt_figure_text(struct mt_figures *f, const char *label, struct mt_size_text value,
                    const char *key, const char *note, ...) MT_PRINTF(5, 6);
/* Prints and frees. Errors: MT_NOMEM. */
enum mt_status mt_figures_end(struct mt_figures *f, struct mt_error *err) MT_NODISCARD;

/* "12.3 %" of a ratio from 0 to 1. */
struct mt_size_text mt_percent_text(double ratio);

/* part / whole for a table: "12.3 %", in CSV 0.123000; 0 when whole is 0. */
struct mt_size_text mt_share_text(const struct mt_report *r, uint64_t part, uint64_t whole);

#endif
