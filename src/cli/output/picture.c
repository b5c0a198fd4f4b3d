/* SPDX-License-Identifier: MIT */
/*
 * Pictures as files: the options, which format is meant, and the way to the disk. A picture for
 * standard output is made of characters when that is a terminal, or when --term asks for it; with
 * no -o at all it always is, so that the verb answers over ssh at once.
 */
#include "cli/output/picture.h"

#include <string.h>

#include "cli/frame.h"
#include "cli/options/options.h"

static const char *const THEMES[] = {"light", "dark", NULL};

#define AT(field) offsetof(struct mt_picture, field)

const struct mt_option MT_PICTURE_OPTIONS[] = {
    MT_OPT_TEXT(0, "format", AT(format), "NAME",
                "svg, png, pdf or html, whatever the suffix of the file says"),
    MT_OPT_INT(0, "width", AT(width), "PX", 300, 10000, "width of the picture in px",
               .common = true),
    MT_OPT_INT(0, "height", AT(height), "PX", 200, 10000,
               "height of the picture in px; more where the content needs it"),
    MT_OPT_NUMBER(0, "scale", AT(scale), "N", 0.25, 8, "pixels of a PNG per px (default 2)"),
    MT_OPT_CHOICE(0, "theme", AT(theme), THEMES, "dark text on white, or light text on black",
                  .common = true),
    MT_OPT_FLAG(0, "term", AT(term), "draw with characters on standard output, as without -o",
                .common = true),
    MT_OPT_FLAG(0, "ascii", AT(ascii), "draw with ASCII characters only"),
};
_Static_assert(MT_COUNT(MT_PICTURE_OPTIONS) == MT_PICTURE_OPTIONS_N, "picture.h states how many");

void mt_picture_group_init(void *picture)
{
    struct mt_picture *p = picture;
    p->scale = 2;
}

/* ".svg .png .pdf": what there is, for messages. */
static void list_formats(struct mt_buf *b, bool suffixes)
{
    for (const struct mt_plot_format *f = MT_PLOT_FORMATS; f->name; f++) {
        mt_buf_printf(b, "%s%s", b->n ? " " : "", suffixes ? f->suffix : f->name);
    }
    mt_buf_text(b, suffixes ? " .html" : " html");
}

static int unknown_format(struct mt_cli *cli, const char *what, const char *given, bool suffixes)
{
    struct mt_buf known = {0};
    const char *names[16];
    size_t n = 0;
    for (; n < MT_COUNT(names) && MT_PLOT_FORMATS[n].name; n++) {
        names[n] = MT_PLOT_FORMATS[n].name;
    }
    const char *near = suffixes ? NULL : mt_suggest(given, names, n);
    list_formats(&known, suffixes);
    int code =
        near ? mt_cli_usage(cli, "%s '%s' is not one of: %s — did you mean '%s'?", what, given,
                            known.p ? known.p : "", near)
             : mt_cli_usage(cli, "%s '%s' is not one of: %s%s", what, given, known.p ? known.p : "",
                            suffixes ? " (--format names another)" : "");
    mt_buf_release(&known);
    return code;
}

static bool is_json(const char *path)
{
    return mt_str_ends(mt_str_from(path), MT_STR(".json"));
}

int mt_picture_json_begin(struct mt_cli *cli, const struct mt_common *common, const char *file,
                          struct mt_report *r, struct mt_cli_output *o)
{
    struct mt_common where = *common;
    where.output = common->output && is_json(common->output) ? common->output : NULL;
    return mt_cli_report_begin(cli, &where, file, r, o);
}

int mt_picture_target(struct mt_cli *cli, const struct mt_common *common,
                      const struct mt_picture *p, struct mt_picture_target *out)
{
    const char *path = common->output;
    bool to_stdout = !path || strcmp(path, "-") == 0;
    *out = (struct mt_picture_target){.term = p->term};
    if (common->json && (to_stdout || is_json(path))) {
        out->term = false;
        return 0;
    }
    if (p->format) {
        out->format = mt_plot_format_named(p->format);
        return out->format ? 0 : unknown_format(cli, "--format:", p->format, false);
    }
    if (p->term || (to_stdout && (!path || cli->out_is_terminal))) {
        out->term = true;
        return 0;
    }
    if (to_stdout) {
        out->format = mt_plot_format_named("svg");
        return 0;
    }
    out->format = mt_plot_format_of(path);
    return out->format ? 0 : unknown_format(cli, "-o: the suffix of", path, true);
}

static struct mt_plot_style plot_style(struct mt_cli *cli, const struct mt_common *common,
                                       const struct mt_picture *p)
{
    struct mt_report r = mt_cli_report(cli, common, "");
    return (struct mt_plot_style){
        .width = (int)p->width,
        .height = (int)p->height,
        .theme = (enum mt_theme_name)p->theme,
        .size = r.size,
        .full_path = common->full_path,
        .all_frames = common->all_frames,
    };
}

int mt_picture_columns(const struct mt_cli *cli)
{
    enum { PIPED = 100, LEAST = 40 };
    return cli->width <= 0 ? PIPED : cli->width < LEAST ? LEAST : cli->width;
}

static struct mt_term_style term_style(struct mt_cli *cli, const struct mt_common *common,
                                       const struct mt_picture *p)
{
    enum { ROWS = 20, LEAST_ROWS = 8, BESIDES = 16 };
    struct mt_report r = mt_cli_report(cli, common, "");
    int rows = cli->height > BESIDES + LEAST_ROWS && cli->height < BESIDES + ROWS
                   ? cli->height - BESIDES
                   : ROWS;
    return (struct mt_term_style){
        .width = mt_picture_columns(cli),
        .height = rows,
        .charset = p->ascii ? MT_TERM_ASCII : MT_TERM_BLOCKS,
        .color = cli->out_color,
        .size = r.size,
    };
}

static void say_written(struct mt_cli *cli, const struct mt_common *common,
                        const struct mt_scene *scene)
{
    if (cli->err_is_terminal && common->output && strcmp(common->output, "-") != 0) {
        mt_cli_note(cli, common, "wrote %s, %d x %d px", common->output, mt_scene_width(scene),
                    mt_scene_height(scene));
    }
}

static enum mt_status write_scene(struct mt_cli *cli, const struct mt_common *common,
                                  const struct mt_picture *p, const struct mt_plot_format *format,
                                  struct mt_scene *scene, struct mt_error *err)
{
    struct mt_cli_output o = {0};
    MT_TRY(mt_cli_output_open(cli, common, common->output, &o, err));
    enum mt_status status = format->paint(scene, p->scale, o.stream, err);
    if (status != MT_OK) {
        mt_cli_output_abandon(&o);
        return status;
    }
    MT_TRY(mt_cli_output_commit(&o, err));
    say_written(cli, common, scene);
    return MT_OK;
}

static enum mt_status draw_scene(struct mt_cli *cli, const struct mt_common *common,
                                 const struct mt_picture *p, const struct mt_plot_format *format,
                                 const struct mt_picture_panels *x, struct mt_error *err)
{
    struct mt_plot_style style = plot_style(cli, common, p);
    struct mt_scene *scene = mt_scene_new(&style);
    enum mt_status status = scene ? x->scene(scene, x->panels, x->n, err) : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = write_scene(cli, common, p, format, scene, err);
    }
    mt_scene_free(scene);
    return status;
}

static enum mt_status write_text(struct mt_cli *cli, const struct mt_common *common,
                                 const struct mt_buf *text, struct mt_error *err)
{
    struct mt_cli_output o = {0};
    MT_TRY(mt_cli_output_open(cli, common, common->output, &o, err));
    fwrite(text->p, 1, text->n, o.stream);
    return mt_cli_output_commit(&o, err);
}

static enum mt_status draw_characters(struct mt_cli *cli, const struct mt_common *common,
                                      const struct mt_picture *p, const struct mt_picture_panels *x,
                                      struct mt_error *err)
{
    struct mt_buf text = {0};
    struct mt_plot_style style = plot_style(cli, common, p);
    struct mt_term_style term = term_style(cli, common, p);
    enum mt_status status = x->characters(x->panels, x->n, &style, &term, &text, err);
    if (status == MT_OK) {
        status = text.failed ? mt_fail_nomem(err) : write_text(cli, common, &text, err);
    }
    mt_buf_release(&text);
    return status;
}

int mt_picture_draw(struct mt_cli *cli, const struct mt_common *common, const struct mt_picture *p,
                    const struct mt_picture_target *target, const struct mt_picture_panels *panels)
{
    struct mt_error err;
    enum mt_status status = MT_OK;
    if (target->term) {
        status = draw_characters(cli, common, p, panels, &err);
    } else if (target->format) {
        status = draw_scene(cli, common, p, target->format, panels, &err);
    }
    return status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
}
