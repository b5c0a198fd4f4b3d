/* SPDX-License-Identifier: MIT */
/*
 * Long listings on a terminal go through a pager: MEMTOOL_PAGER, then PAGER, then less, which ends
 * by itself when all fits on the screen (-F). An empty variable or "cat" means none.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame.h"

static const char *pager_command(void)
{
    const char *own = getenv("MEMTOOL_PAGER");
    const char *text = own ? own : getenv("PAGER");
    if (!text) {
        text = "if command -v less >/dev/null 2>&1; then exec less -FIRX; else exec cat; fi";
    }
    return *text && strcmp(text, "cat") != 0 ? text : NULL;
}

static bool is_wanted(const struct mt_cli *cli, const struct mt_common *common)
{
    bool data = common->json || common->csv || common->tsv || common->output;
    return (cli->command->flags & MT_COMMAND_PAGER) && cli->out_is_terminal && !common->no_pager &&
           !data;
}

void mt_cli_pager_start(struct mt_cli *cli, const struct mt_common *common)
{
    int ends[2];
    const char *command = is_wanted(cli, common) ? pager_command() : NULL;
    if (!command || pipe(ends) != 0) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pid > 0) {
        dup2(ends[1], STDOUT_FILENO);
        cli->pager = pid;
    }
    close(ends[0]);
    close(ends[1]);
}
