/* SPDX-License-Identifier: MIT */
/* What the verbs that draw share: the options of a picture, and writing it in the asked format. */
#ifndef MEMTOOL_CLI_OUTPUT_PICTURE_H
#define MEMTOOL_CLI_OUTPUT_PICTURE_H

#include "cli/command.h"
#include "draw/plot.h"

struct mt_picture {
    const char *format;    /* --format */
    int64_t width, height; /* px; 0: chosen */
    double scale;
    int theme; /* enum mt_theme_name */
    bool term, ascii;
};
extern const struct mt_option MT_PICTURE_OPTIONS[];
enum { MT_PICTURE_OPTIONS_N = 7 };
void mt_picture_group_init(void *picture);
/* Their group, for a verb whose settings have them in the field `picture`. */
#define MT_PICTURE_GROUP(settings)                                                                 \
    {                                                                                              \
        .title = "Picture", .options = MT_PICTURE_OPTIONS, .n = MT_PICTURE_OPTIONS_N,              \
        .offset = offsetof(settings, picture), .init = mt_picture_group_init                       \
    }

/* Where the picture goes: characters on a terminal, or a format. With --json its numbers go to
 * standard output (or to -o FILE.json), and the picture is drawn too where -o names one. */
struct mt_picture_target {
    bool term;
    const struct mt_plot_format *format; /* NULL with term, and with JSON alone */
};

/* From -o, --format and --term. 0, or the exit code after saying what is wrong. */
int mt_picture_target(struct mt_cli *cli, const struct mt_common *common,
                      const struct mt_picture *p, struct mt_picture_target *out);

/* Opens where the JSON goes, and makes *r print there; mt_cli_report_end ends it. */
int mt_picture_json_begin(struct mt_cli *cli, const struct mt_common *common, const char *file,
                          struct mt_report *r, struct mt_cli_output *o);

/* How wide a picture of characters is, in columns. */
int mt_picture_columns(const struct mt_cli *cli);

/* The panels of a picture, one below the other, for either pen. */
struct mt_picture_panels {
    const void *panels; /* an array, for the two functions */
    size_t n;
    enum mt_status (*scene)(struct mt_scene *scene, const void *panels, size_t n,
                            struct mt_error *err);
    enum mt_status (*characters)(const void *panels, size_t n, const struct mt_plot_style *style,
                                 const struct mt_term_style *term, struct mt_buf *out,
                                 struct mt_error *err);
};

/* Draws them to where the target says, if anywhere. Returns the exit code. */
int mt_picture_draw(struct mt_cli *cli, const struct mt_common *common, const struct mt_picture *p,
                    const struct mt_picture_target *target, const struct mt_picture_panels *panels);

#endif
