/* SPDX-License-Identifier: MIT */
/* Lists of figures, on top of a table without titles. */
#include "print/figures.h"

#include <stdarg.h>

struct mt_size_text mt_percent_text(double ratio)
{
    struct mt_size_text text;
    snprintf(text.s, sizeof text.s, "%.1f %%", 100.0 * ratio);
    return text;
}

struct mt_size_text mt_share_text(const struct mt_report *r, uint64_t part, uint64_t whole)
{
    double ratio = whole ? (double)part / (double)whole : 0.0;
    struct mt_size_text text = mt_percent_text(ratio);
    if (r->separator) {
        snprintf(text.s, sizeof text.s, "%.6f", ratio);
    }
    return text;
}

enum mt_status mt_figures_begin(struct mt_figures *f, const struct mt_report *r,
                                struct mt_error *err)
{
    *f = (struct mt_figures){r, mt_table_new()};
    if (!f->table) {
        return mt_fail_nomem(err);
    }
    mt_table_column(f->table, "", MT_LEFT);
    mt_table_column(f->table, "", MT_RIGHT);
    mt_table_column(f->table, "", MT_RIGHT);
    if (r->verbose) {
        mt_table_column(f->table, "", MT_LEFT);
    }
    mt_table_column(f->table, "", MT_LEFT);
    mt_table_wrap(f->table);
    return MT_OK;
}

MT_PRINTF(4, 0)
static void finish_row(struct mt_figures *f, const char *share, const char *key, const char *note,
                       va_list args)
{
    char text[256];
    mt_table_cell(f->table, "%s", share);
    if (f->r->verbose) {
        mt_table_cell_color(f->table, MT_COLOR_DIM, "%s", key);
    }
    vsnprintf(text, sizeof text, note, args);
    mt_table_cell(f->table, "%s", text);
}

static struct mt_size_text share_text(uint64_t part, uint64_t whole)
{
    return whole ? mt_percent_text((double)part / (double)whole) : (struct mt_size_text){""};
}

void mt_figure_size(struct mt_figures *f, const char *label, uint64_t bytes, uint64_t whole,
                    const char *key, const char *note, ...)
{
    va_list args;
    va_start(args, note);
    mt_table_cell(f->table, "%s", label);
    mt_table_size(f->table, bytes);
    finish_row(f, share_text(bytes, whole).s, key, note, args);
    va_end(args);
}

void mt_figure_count(struct mt_figures *f, const char *label, uint64_t n, uint64_t whole,
                     const char *key, const char *note, ...)
{
    va_list args;
    va_start(args, note);
    mt_table_cell(f->table, "%s", label);
    mt_table_count(f->table, n);
    finish_row(f, share_text(n, whole).s, key, note, args);
    va_end(args);
}

void mt_figure_text(struct mt_figures *f, const char *label, struct mt_size_text value,
                    const char *key, const char *note, ...)
{
    va_list args;
    va_start(args, note);
    mt_table_cell(f->table, "%s", label);
    mt_table_cell(f->table, "%s", value.s);
    finish_row(f, "", key, note, args);
    va_end(args);
}

enum mt_status mt_figures_end(struct mt_figures *f, struct mt_error *err)
{
    enum mt_status status = mt_table_print(f->table, f->r, 2, err);
    mt_table_free(f->table);
    return status;
}
