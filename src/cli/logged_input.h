/* SPDX-License-Identifier: MIT */
/* Files of figures that a program printed: memory_stats(), memory_summary(), lines of trainers. */
#ifndef MEMTOOL_CLI_LOGGED_INPUT_H
#define MEMTOOL_CLI_LOGGED_INPUT_H

#include "heap/sums/logged.h"
#include "snapshot/model/model.h"

#include "cli/command.h"

/* Finds the tables of a file whose bytes *text holds already, or, where it is empty, reads it into
 * it. gzip is taken off. Errors: MT_IO, MT_LIMIT (over 1 GiB), MT_FORMAT, MT_NOMEM. */
enum mt_status mt_cli_logged_read(const char *file, struct mt_buf *text, struct mt_logged *out,
                                  struct mt_error *err) MT_NODISCARD;

/* Whether such figures stand in its first 16 MiB, and it is no snapshot. Of a pipe nothing is read:
 * false. */
bool mt_cli_is_logged(const char *file);

/* The verbs that answer for such a file. */
#define MT_LOGGED_VERBS "info, stats, summary, check, triage, leaks"

/* The error of a verb that needs more than such figures: MT_FORMAT. */
void mt_cli_logged_error(const struct mt_cli *cli, struct mt_error *err);

/* The error of a call that filters such figures: MT_NOT_FOUND. */
enum mt_status mt_cli_logged_unfiltered(struct mt_error *err) MT_NODISCARD;

/* The verbs that answer for a file that tells requests and frees, but is no snapshot. */
const char *mt_cli_told_verbs(enum mt_told told);

#endif
