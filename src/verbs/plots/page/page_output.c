/* SPDX-License-Identifier: MIT */
/* trace_plot and segment_plot with -o x.html: the interactive page instead of a picture. */
#include <string.h>

#include "snapshot/model/settings.h"
#include "support/mem.h"

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

struct output {
    struct mt_cli *cli;
    const struct mt_common *common;
    struct mt_cli_output out;
    struct mt_page_place place;
    bool salvaged;
};

/* Settings are read as the release of a file reads them. */
static enum mt_status parse_whatifs(struct mt_page_options *o, const struct mt_texts *confs,
                                    const struct mt_snapshot *s, struct mt_page_whatif *list,
                                    struct mt_error *err)
{
    o->whatif_release = mt_settings_release(s, MT_TORCH_MEMTOOL);
    o->whatifs = list;
    o->n_whatifs = confs ? confs->n : 0;
    for (size_t i = 0; i < o->n_whatifs; i++) {
        struct mt_conf parsed;
        mt_conf_parse(mt_str_from(confs->v[i]), o->whatif_release, &parsed);
        if (parsed.unfamiliar[0] || !parsed.valid || parsed.settings.backend == MT_BACKEND_ASYNC) {
            return mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                           "--conf '%s' cannot be replayed; memtool conf says why", confs->v[i]);
        }
        list[i] = (struct mt_page_whatif){confs->v[i], parsed.settings};
    }
    return MT_OK;
}

static int add_file(struct output *w, const char *file, struct mt_page_options *o,
                    const struct mt_texts *confs, struct mt_error *err)
{
    struct mt_snapshot s;
    int loaded = mt_cli_load(w->cli, w->common, file, &s);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    w->salvaged |= loaded == 4;
    o->file = file;
    struct mt_page_whatif *list = mt_mem_zalloc(1 + (confs ? confs->n : 0), sizeof *list);
    enum mt_status status = list ? parse_whatifs(o, confs, &s, list, err) : mt_fail_nomem(err);
    if (status == MT_OK) {
        status = mt_page_add(w->out.stream, &w->place, &s, o, err);
    }
    mt_mem_free(list);
    mt_snapshot_release(&s);
    return status == MT_OK ? 0 : mt_cli_fail(w->cli, w->place.files > 1 ? file : NULL, err);
}

/* "a.pickle and 3 more" */
static enum mt_status begin(struct output *w, char **files, size_t n, struct mt_error *err)
{
    struct mt_buf title = {0};
    mt_buf_str(&title, mt_str_basename(mt_str_from(files[0])));
    if (n > 1) {
        mt_buf_printf(&title, " and %zu more", n - 1);
    }
    enum mt_status status =
        title.failed ? mt_fail_nomem(err) : mt_page_begin(w->out.stream, title.p, err);
    mt_buf_release(&title);
    return status;
}

static int write_files(struct output *w, char **files, size_t n, struct mt_page_options *o,
                       const struct mt_texts *confs)
{
    struct mt_error err;
    int code = 0;
    if (begin(w, files, n, &err) != MT_OK) {
        return mt_cli_fail(w->cli, NULL, &err);
    }
    for (size_t i = 0; i < n && code == 0; i++) {
        code = add_file(w, files[i], o, confs, &err);
    }
    if (code == 0 && mt_page_end(w->out.stream, &err) != MT_OK) {
        code = mt_cli_fail(w->cli, NULL, &err);
    }
    return code;
}

int mt_page_output(struct mt_cli *cli, const struct mt_common *common, char **files, size_t n_files,
                   struct mt_page_options *o, const struct mt_texts *confs)
{
    struct output w = {.cli = cli, .common = common};
    struct mt_error err;
    o->size = (struct mt_size_format){.unit = MT_UNIT_AUTO}; /* as the viewer counts */
    o->all_frames = common->all_frames;
    if (mt_cli_output_open(cli, common, common->output, &w.out, &err) != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    int code = write_files(&w, files, n_files, o, confs);
    if (code != 0) {
        mt_cli_output_abandon(&w.out);
        return code;
    }
    if (mt_cli_output_commit(&w.out, &err) != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    if (cli->err_is_terminal && common->output && strcmp(common->output, "-") != 0) {
        mt_cli_note(cli, common, "wrote %s; open it in a browser, no network is needed",
                    common->output);
    }
    return w.salvaged ? 4 : 0;
}
