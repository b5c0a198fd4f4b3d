/* SPDX-License-Identifier: MIT */
/* Reading a snapshot for a verb: limits, the progress line on a terminal, what was salvaged. */
#include "cli/frame.h"
#include "cli/logged_input.h"
#include "cli/progress.h"
#include "heap/walk/cut_trace.h"
#include "snapshot/read/read.h"

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

bool mt_cli_note_damage(struct mt_cli *cli, const struct mt_common *common, const char *file,
                        const struct mt_snapshot *s)
{
    cli->lost = mt_source_lost(&s->source);
    if (cli->lost) {
        mt_cli_note(cli, common, "%s: only partly readable: %s%s", file, s->source.damage,
                    s->source.state_cut
                        ? "; segments are lost with it, so sums of segments are of a part"
                        : "");
    }
    return cli->lost != NULL;
}

/* Says how the reading ended; the exit code. */
static int loaded(struct mt_cli *cli, const struct mt_common *common, const char *file,
                  enum mt_status status, struct mt_snapshot *s, struct mt_error *err)
{
    if (status != MT_OK) {
        if (status == MT_FORMAT && mt_cli_is_logged(file)) {
            mt_cli_logged_error(cli, err);
        }
        return mt_cli_fail(cli, file, err);
    }
    if (mt_cli_check_told(cli, s, err) != MT_OK) {
        mt_snapshot_release(s);
        return mt_cli_fail(cli, file, err);
    }
    if (!(cli->command->flags & MT_COMMAND_DUMP) && mt_snapshot_follow_trace(s, err) != MT_OK) {
        mt_snapshot_release(s);
        return mt_cli_fail(cli, file, err);
    }
    return mt_cli_note_damage(cli, common, file, s) ? 4 : 0;
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
    return loaded(cli, common, file, status, out, &err);
}

int mt_cli_load_memory(struct mt_cli *cli, const struct mt_common *common, const char *file,
                       struct mt_str bytes, struct mt_snapshot *out)
{
    struct mt_error err;
    struct mt_read_options options = read_options(cli, common, NULL);
    options.progress = NULL;
    enum mt_status status = mt_snapshot_read_memory(bytes.p, bytes.n, 0, &options, out, &err);
    return loaded(cli, common, file, status, out, &err);
}
