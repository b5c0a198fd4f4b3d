/* SPDX-License-Identifier: MIT */
/* What the table of formats points to. `scale`: pixels per px of the scene. Errors: MT_NOMEM,
 * MT_OUTPUT. */
#ifndef MEMTOOL_DRAW_PAINT_PAINTERS_H
#define MEMTOOL_DRAW_PAINT_PAINTERS_H

#include "draw/plot.h"

enum mt_status mt_paint_svg(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_paint_png(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_paint_pdf(const struct mt_scene *s, double scale, FILE *out, struct mt_error *err)
    MT_NODISCARD;

#endif
