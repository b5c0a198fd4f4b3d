/* SPDX-License-Identifier: MIT */
/* The file of check --history: what it allows, and the line that a run adds. */
#ifndef MEMTOOL_VERBS_CHECK_CHECK_HISTORY_H
#define MEMTOOL_VERBS_CHECK_CHECK_HISTORY_H

#include "cli/command.h"
#include "print/history.h"
#include "verbs/check/budget.h"

/* Reads the file, which may not exist yet, and sets b->knows_history and b->history_limit. 0, or
 * the exit code after saying what is wrong; 2 when --against-commit names none of its entries. */
int mt_check_history_limit(struct mt_cli *cli, const char *file, const struct mt_history_rule *rule,
                           struct mt_budget *b);

/* Appends the run. `commit` NULL: what GITHUB_SHA or CI_COMMIT_SHA says. 0, or 5 after saying why
 * it cannot be written. */
int mt_check_history_add(struct mt_cli *cli, const char *file, const char *commit,
                         const char *snapshot, const struct mt_budget_facts *facts);

#endif
