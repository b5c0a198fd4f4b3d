/* SPDX-License-Identifier: MIT */
/* Private to cli/: what main.c is made of. */
#ifndef MEMTOOL_CLI_FRAME_H
#define MEMTOOL_CLI_FRAME_H

#include <regex.h>

#include "cli/command.h"
#include "torch/alloc_conf.h"

/* Streams, terminal, environment; before options are read. */
void mt_cli_init(struct mt_cli *cli);

/* Does what the words ask for, argv[0] left aside; returns the exit code. */
int mt_cli_dispatch(struct mt_cli *cli, int argc, char **argv);

/* What --color and NO_COLOR and their kin make of out_color and err_color. */
void mt_cli_set_color(struct mt_cli *cli, int choice);

/* Starts the pager when the verb wants one and `out` is a terminal. */
void mt_cli_pager_start(struct mt_cli *cli, const struct mt_common *common);

/* Closes `out` and waits for the pager. Returns `exit_code`, or 5 after saying so when not all of
 * the output could be written. */
int mt_cli_close(struct mt_cli *cli, int exit_code);

/* Memory beyond three quarters of the machine's (or container's) is an error like any other. */
void mt_cli_limit_memory(void);

/* The verb of this name ('-' and '_' are the same), or NULL. */
const struct mt_command *mt_command_find(const char *name);
/* Says that there is no such verb and which one is near; returns 2. */
int mt_cli_unknown_verb(struct mt_cli *cli, const char *name);

void mt_help_main(const struct mt_cli *cli, FILE *to, bool all);
void mt_help_command(const struct mt_cli *cli, const struct mt_command *command, bool all);

/* Compiles a pattern of --frame and its kin; *has tells that there is one, and that the former is
 * to be freed. Errors: MT_USAGE, MT_NOMEM. */
enum mt_status mt_regex_compile(regex_t *regex, bool *has, const char *text, struct mt_error *err)
    MT_NODISCARD;

/* Memory for cli/, where its end is the end of the program (exit 6). `p` may be NULL. */
void *mt_cli_realloc(void *p, size_t count, size_t size);
/* Prints "memtool: out of memory" and exits with 6. */
MT_NORETURN void mt_cli_die_nomem(void);

/* Says of a release beyond the newest known that it is read as that one. */
void mt_cli_note_release(struct mt_cli *cli, const struct mt_common *common,
                         mt_torch_release release);

/* Fails with MT_FORMAT where the verb needs more than the file tells. */
enum mt_status mt_cli_check_told(const struct mt_cli *cli, const struct mt_snapshot *s,
                                 struct mt_error *err) MT_NODISCARD;

/* The verbs that `memtool FILE...` stands for: triage of a log, info and peak of a snapshot,
 * compare of several, ranks of a folder. How many of verbs[] are to be run one after the other; 0
 * when args[0] is no file. */
size_t mt_cli_obvious_verbs(char *const *args, size_t n, const char *verbs[2]);

#endif
