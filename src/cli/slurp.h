/* SPDX-License-Identifier: MIT */
/* Reading a whole text into memory: logs, rules, results, what comes through a pipe. */
#ifndef MEMTOOL_CLI_SLURP_H
#define MEMTOOL_CLI_SLURP_H

#include "cli/command.h"
#include "support/units.h"

/* The most that any text may have, in bytes: 1 GiB. What is larger is no log of a training job. */
#define MT_SLURP_MOST MT_GIB

/* Whether the file can be read but once: standard input ("-"), a pipe, a process's output. */
bool mt_cli_reads_once(const char *file);

/* Appends all that is left of `from` to *b. Errors: MT_IO, MT_LIMIT (more than `most` bytes in *b),
 * MT_NOMEM. */
enum mt_status mt_cli_slurp(FILE *from, uint64_t most, struct mt_buf *b, struct mt_error *err)
    MT_NODISCARD;

/* The same of a file by its name, "-" is standard input. Errors: also MT_IO when it cannot be
 * opened. */
enum mt_status mt_cli_slurp_file(const char *file, uint64_t most, struct mt_buf *b,
                                 struct mt_error *err) MT_NODISCARD;

#endif
