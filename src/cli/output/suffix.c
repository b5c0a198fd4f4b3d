/* SPDX-License-Identifier: MIT */
/* One table of all suffixes that name a format, and which verbs write them. */
#include "cli/output/suffix.h"

enum { NO_VERB = 0 };

static const struct {
    const char *suffix;
    unsigned verbs; /* flags of the verbs that write it */
} SUFFIXES[] = {
    {".csv", MT_COMMAND_TABLE},
    {".tsv", MT_COMMAND_TABLE},
    {".svg", MT_COMMAND_FLAME},
    {".png", MT_COMMAND_FLAME},
    {".pdf", MT_COMMAND_FLAME},
    {".html", MT_COMMAND_MARKUP},
    {".htm", MT_COMMAND_MARKUP},
    {".md", MT_COMMAND_MARKUP},
    {".pickle", MT_COMMAND_SNAPSHOT},
    {".pkl", MT_COMMAND_SNAPSHOT},
    {".gz", MT_COMMAND_SNAPSHOT},
    {".gif", NO_VERB},
    {".jpg", NO_VERB},
    {".jpeg", NO_VERB},
    {".webp", NO_VERB},
    {".eps", NO_VERB},
    {".ps", NO_VERB},
    {".zip", NO_VERB},
    {".xls", NO_VERB},
    {".xlsx", NO_VERB},
    {".parquet", NO_VERB},
    {".docx", NO_VERB},
};

/* A verb that writes snapshots prints its table, it does not write it. */
static bool writes(const struct mt_command *c, size_t i)
{
    unsigned flags = c->flags & MT_COMMAND_SNAPSHOT ? MT_COMMAND_SNAPSHOT : c->flags;
    return SUFFIXES[i].verbs & flags;
}

static int refuse(struct mt_cli *cli, const char *path, const char *suffix)
{
    struct mt_error err;
    struct mt_buf written = {0};
    unsigned flags = cli->command->flags;
    for (size_t i = 0; i < MT_COUNT(SUFFIXES); i++) {
        if (writes(cli->command, i)) {
            mt_buf_printf(&written, " %s", SUFFIXES[i].suffix);
        }
    }
    bool report = !(flags & (MT_COMMAND_NO_REPORT | MT_COMMAND_SNAPSHOT));
    mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "-o %.100s: %s does not write %s, it writes%s%s", path,
            cli->command->name, suffix, report ? " text, .json" : "", written.n ? written.p : "");
    if (mt_str_equal(mt_str_from(suffix), MT_STR(".html")) && report) {
        mt_hint(&err, "memtool trace_plot FILE -o %.100s writes a page", path);
    }
    mt_buf_release(&written);
    return mt_cli_fail(cli, NULL, &err);
}

int mt_cli_check_suffix(struct mt_cli *cli, const struct mt_common *common)
{
    struct mt_str name = mt_str_from(common->output ? common->output : "");
    unsigned flags = cli->command->flags;
    if (flags & MT_COMMAND_OWN_SUFFIXES || common->json || common->csv || common->tsv) {
        return 0;
    }
    for (size_t i = 0; i < MT_COUNT(SUFFIXES); i++) {
        if (mt_str_ends(name, mt_str_from(SUFFIXES[i].suffix)) && !writes(cli->command, i)) {
            return refuse(cli, common->output, SUFFIXES[i].suffix);
        }
    }
    return 0;
}
