/* SPDX-License-Identifier: MIT */
/* The formats of pictures, once: a new one is a line here and a function that paints. */
#include <string.h>

#include "draw/paint/painters.h"

const struct mt_plot_format MT_PLOT_FORMATS[] = {
    {"svg", ".svg", mt_paint_svg},
    {"png", ".png", mt_paint_png},
    {"pdf", ".pdf", mt_paint_pdf},
    {NULL, NULL, NULL},
};

const struct mt_plot_format *mt_plot_format_named(const char *name)
{
    for (const struct mt_plot_format *f = MT_PLOT_FORMATS; f->name; f++) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

const struct mt_plot_format *mt_plot_format_of(const char *path)
{
    for (const struct mt_plot_format *f = MT_PLOT_FORMATS; f->name; f++) {
        if (mt_str_ends(mt_str_from(path), mt_str_from(f->suffix))) {
            return f;
        }
    }
    return NULL;
}
