/* SPDX-License-Identifier: MIT */
/* How to print and where to, from the options that all verbs share. */
#include "cli/frame.h"

enum {
    PIPED_ROWS = 20,   /* rows of a table when there is no screen to fill */
    SCREEN_MARGIN = 12 /* lines of a screen that headings and totals take */
};

static size_t default_limit(const struct mt_cli *cli)
{
    if (cli->height == 0) {
        return PIPED_ROWS;
    }
    return cli->height > 2 * SCREEN_MARGIN ? (size_t)(cli->height - SCREEN_MARGIN) : SCREEN_MARGIN;
}

struct mt_report mt_cli_report(struct mt_cli *cli, const struct mt_common *common, const char *file)
{
    return (struct mt_report){
        .out = cli->out,
        .json = common->json,
        .separator = common->csv   ? ','
                     : common->tsv ? '\t'
                                   : '\0',
        .color = cli->out_color,
        .size = {(enum mt_unit)common->unit, common->exact},
        .limit = common->limit >= 0 ? (size_t)common->limit : default_limit(cli),
        .width = cli->width,
        .verbose = common->verbose,
        .full_path = common->full_path,
        .all_frames = common->all_frames,
        .stack_lines = common->stack_lines >= 0 ? (int)common->stack_lines : 1,
        .file = file,
        .lost = &cli->lost,
    };
}

/* A name says how its file is to be written, unless an option does. */
static void choose_format(struct mt_report *r, const char *output)
{
    struct mt_str name = mt_str_from(output ? output : "");
    if (r->json || r->separator) {
        return;
    }
    r->json = mt_str_ends(name, MT_STR(".json")) || mt_str_ends(name, MT_STR(".ndjson"));
    r->separator = mt_str_ends(name, MT_STR(".csv"))   ? ','
                   : mt_str_ends(name, MT_STR(".tsv")) ? '\t'
                                                       : '\0';
}

int mt_cli_report_begin(struct mt_cli *cli, const struct mt_common *common, const char *file,
                        struct mt_report *r, struct mt_cli_output *o)
{
    struct mt_error err;
    *r = mt_cli_report(cli, common, file);
    if (mt_cli_output_open(cli, common, common->output, o, &err) != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    r->out = o->stream;
    if (o->path) {
        choose_format(r, o->path);
        r->color = common->color == 1;
        r->width = 0;
    }
    return 0;
}

int mt_cli_report_end(struct mt_cli *cli, struct mt_cli_output *o, int exit_code)
{
    struct mt_error err;
    if (exit_code > 1 && exit_code != 4) {
        mt_cli_output_abandon(o);
        return exit_code;
    }
    return mt_cli_output_commit(o, &err) == MT_OK ? exit_code : mt_cli_fail(cli, NULL, &err);
}
