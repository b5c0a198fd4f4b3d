/* SPDX-License-Identifier: MIT */
/* trace_plot and segment_plot with -o x.html: the interactive page instead of a picture. */
#include <string.h>

#include "verbs/plots/page/page_output.h"

bool mt_picture_is_page(const struct mt_common *common, const struct mt_picture *p)
{
    if (p->format) {
        return strcmp(p->format, "html") == 0;
    }
    return common->output && !p->term && mt_str_ends(mt_str_from(common->output), MT_STR(".html"));
}

static int refuse(struct mt_cli *cli, const struct mt_page_refusal *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].given) {
            return mt_cli_usage(cli, "%s does not apply to a page, which shows all of a file",
                                list[i].option);
        }
    }
    return 0;
}

int mt_page_check_options(struct mt_cli *cli, const struct mt_common *common,
                          const struct mt_picture *p, const struct mt_page_refusal *list, size_t n)
{
    const struct mt_page_refusal shared[] = {
        {"--width", p->width != 0},
        {"--height", p->height != 0},
        {"--scale", p->scale != 2},
        {"--ascii", p->ascii},
        {"-n", common->limit >= 0},
        {"--unit", common->unit != cli->unit},
        {"--exact", common->exact},
        {"--json", common->json},
        {"--stack", common->stack_lines >= 0},
    };
    int code = refuse(cli, list, n);
    return code ? code : refuse(cli, shared, MT_COUNT(shared));
}

static enum mt_status write_page(struct mt_cli *cli, const struct mt_common *common,
                                 const struct mt_snapshot *s, const struct mt_page_options *o,
                                 struct mt_error *err)
{
    struct mt_cli_output out = {0};
    MT_TRY(mt_cli_output_open(cli, common, common->output, &out, err));
    enum mt_status status = mt_page_write(s, o, out.stream, err);
    if (status != MT_OK) {
        mt_cli_output_abandon(&out);
        return status;
    }
    return mt_cli_output_commit(&out, err);
}

int mt_page_output(struct mt_cli *cli, const struct mt_common *common, char **files, size_t n_files,
                   struct mt_page_options *o)
{
    struct mt_snapshot s;
    struct mt_error err;
    if (n_files != 1) {
        return mt_cli_usage(cli, "-o: a page shows one file, and there are %zu", n_files);
    }
    int loaded = mt_cli_load(cli, common, files[0], &s);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    o->file = files[0];
    o->size = (struct mt_size_format){.unit = MT_UNIT_AUTO}; /* as the viewer counts */
    o->all_frames = common->all_frames;
    enum mt_status status = write_page(cli, common, &s, o, &err);
    mt_snapshot_release(&s);
    if (status != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    if (cli->err_is_terminal && common->output && strcmp(common->output, "-") != 0) {
        mt_cli_note(cli, common, "wrote %s; open it in a browser, no network is needed",
                    common->output);
    }
    return loaded;
}
