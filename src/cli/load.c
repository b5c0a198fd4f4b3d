/* SPDX-License-Identifier: MIT */
/* Reading a snapshot for a verb: limits, the progress line on a terminal, what was salvaged. */
#include <memtool/read.h>

#include "frame.h"
#include "progress.h"

static struct mt_read_options read_options(struct mt_cli *cli, const struct mt_common *common,
                                           struct mt_progress *progress)
{
    return (struct mt_read_options){
        .max_input = common->max_input,
        .max_depth = (uint32_t)common->max_depth,
        .max_events = common->max_events,
        .salvage = common->salvage,
        .hash_seed = cli->hash_seed,
        .progress = mt_progress_step,
        .progress_ctx = progress,
    };
}

int mt_cli_load(struct mt_cli *cli, const struct mt_common *common, const char *file,
                struct mt_snapshot *out)
{
    struct mt_error err;
    struct mt_progress progress;
    mt_progress_begin(&progress, cli, common, file);
    struct mt_read_options options = read_options(cli, common, &progress);
    enum mt_status status = mt_snapshot_read(file, &options, out, &err);
    mt_progress_end(&progress);
    if (status != MT_OK) {
        return mt_cli_fail(cli, file, &err);
    }
    if (out->source.salvaged) {
        mt_cli_note(cli, common, "%s: only partly readable: %s", file, out->source.damage);
        return 4;
    }
    return 0;
}
