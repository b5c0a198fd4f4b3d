/* SPDX-License-Identifier: MIT */
/* What the name of a file asks for, and whether a verb can write it. */
#ifndef MEMTOOL_CLI_OUTPUT_SUFFIX_H
#define MEMTOOL_CLI_OUTPUT_SUFFIX_H

#include "cli/command.h"

/* 0, or 2 after saying that the verb writes no such file. A suffix that names no format, such as
 * .txt, is text. */
int mt_cli_check_suffix(struct mt_cli *cli, const struct mt_common *common);

#endif
