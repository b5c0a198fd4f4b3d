/* SPDX-License-Identifier: MIT */
/* Flame graphs for the verbs that answer by stack. */
#include "cli/output/flame_picture.h"

enum { SHARP = 2 }; /* pixels of a PNG per px */

const struct mt_plot_format *mt_flame_format(const struct mt_common *common)
{
    return common->output ? mt_plot_format_of(common->output) : NULL;
}

int mt_flame_check(struct mt_cli *cli, const struct mt_common *common, size_t n_files)
{
    if (n_files > 1 && mt_flame_format(common)) {
        return mt_cli_usage(cli, "-o %s: a flame graph holds one file; %zu were given",
                            common->output, n_files);
    }
    return 0;
}

enum mt_status mt_flame_write(const struct mt_report *r, const struct mt_plot_format *format,
                              const struct mt_flame_what *what, struct mt_error *err)
{
    struct mt_plot_style style = {.size = r->size, .all_frames = r->all_frames};
    struct mt_flame_panel panel = {.snapshot = what->snapshot,
                                   .tree = what->tree,
                                   .compare = what->compare,
                                   .title = what->title,
                                   .file = r->file,
                                   .before = what->before,
                                   .total = what->total};
    struct mt_scene *scene = mt_scene_new(&style);
    enum mt_status status = scene ? mt_plot_flame(scene, &panel, err) : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = format->paint(scene, SHARP, r->out, err);
    }
    mt_scene_free(scene);
    return status;
}

enum mt_status mt_flame_write_segments(const struct mt_report *r,
                                       const struct mt_plot_format *format,
                                       const struct mt_snapshot *s, struct mt_filtered *f,
                                       enum mt_flame_by by, struct mt_error *err)
{
    struct mt_flame tree;
    struct mt_flame_what what = {.snapshot = s,
                                 .tree = &tree,
                                 .title = by == MT_FLAME_SEGMENTS ? "Memory by segment and stack"
                                                                  : "Memory by stack",
                                 .total = "reserved at the end"};
    enum mt_status status = mt_flame_build(&tree, s, f, by, err);
    if (status == MT_OK) {
        status = mt_flame_write(r, format, &what, err);
    }
    mt_flame_release(&tree);
    return status;
}
