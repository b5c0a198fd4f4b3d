/* SPDX-License-Identifier: MIT */
/* What every picture must keep. */
#ifndef MEMTOOL_TESTS_SCENE_CHECKS_H
#define MEMTOOL_TESTS_SCENE_CHECKS_H

#include "draw/scene.h"

/* No two texts overlap, none reaches out of the picture. */
void scene_check_texts(const struct mt_scene *s);

/* Whether some text of the scene is exactly this. */
bool scene_has_text(const struct mt_scene *s, const char *text);
/* Whether some text or tip contains this. */
bool scene_mentions(const struct mt_scene *s, const char *part);

/* The scene painted as SVG; caller frees with free(). */
char *scene_svg(const struct mt_scene *s);

#endif
