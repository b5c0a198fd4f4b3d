/* SPDX-License-Identifier: MIT */
/*
 * memtool [common options] VERB [options] FILE...
 *
 * One call of memtool: finds the verb, lets the option tables fill its settings, and runs it. The
 * verbs stand in cmd_<name>.c, their list in commands.c, options in options.c, help in help.c.
 */
#include <string.h>

#include <memtool/version.h>
#include "cli/output/suffix.h"
#include "cli/frame.h"
#include "cli/options/options.h"
#include "support/mem.h"

/* Common options may stand before the verb: finds the verb and moves it in front of them, so that
 * args[0] is the verb (or NULL when there is none) and the rest its arguments. Returns an exit
 * code. */
static int find_verb(struct mt_cli *cli, int argc, char **argv, char **args,
                     struct mt_common *common)
{
    struct mt_option_set set = mt_option_set_make(NULL, common);
    int first = 1;
    int code = mt_options_parse(cli, &set, argc, argv, true, &first);
    mt_option_set_release(&set);
    int n = 0;
    args[n++] = first < argc ? argv[first] : NULL;
    for (int i = 1; i < argc; i++) {
        bool separator = i == first - 1 && strcmp(argv[i], "--") == 0;
        if (i != first && !separator) {
            args[n++] = argv[i];
        }
    }
    args[n] = NULL;
    return code;
}

static int check_files(struct mt_cli *cli, const struct mt_command *c, int n)
{
    if (n < c->min_files) {
        return mt_cli_missing(cli, c, n);
    }
    if (c->max_files >= 0 && n > c->max_files) {
        return mt_cli_usage(cli, "%s: too many arguments: memtool %s %s", c->name, c->name,
                            c->usage);
    }
    return 0;
}

static int print_version(struct mt_cli *cli)
{
    fprintf(cli->out, "memtool %s\n", MT_VERSION);
    return 0;
}

/* What the common options ask for instead of the verb's work, or the work. */
static int run_parsed(struct mt_cli *cli, const struct mt_command *c, void *settings, int n,
                      char **files)
{
    const struct mt_common *common = settings;
    mt_cli_set_color(cli, common->color);
    if (common->help_short || common->help_all) {
        mt_help_command(cli, c, common->help_all);
        return 0;
    }
    if (common->version) {
        return print_version(cli);
    }
    int code = check_files(cli, c, n);
    code = code ? code : mt_cli_check_suffix(cli, common);
    if (code) {
        return code;
    }
    mt_cli_pager_start(cli, common);
    if (!(c->flags & MT_COMMAND_STARTS)) {
        mt_cli_limit_memory();
    }
    return c->run(cli, settings, files, (size_t)n);
}

static int run_command(struct mt_cli *cli, const struct mt_command *c, int argc, char **args)
{
    void *settings = mt_settings_new(cli, c);
    struct mt_option_set set = mt_option_set_make(c, settings);
    int first = 1;
    cli->command = c;
    int code = mt_options_parse(cli, &set, argc, args, c->flags & MT_COMMAND_STARTS, &first);
    code = code ? code : mt_cli_check_program(cli, c, args, first);
    if (code == 0) {
        code = run_parsed(cli, c, settings, argc - first, args + first);
    }
    mt_option_set_free_values(&set);
    mt_option_set_release(&set);
    mt_settings_free(c, settings);
    return code;
}

static int run_without_verb(struct mt_cli *cli, const struct mt_common *common)
{
    mt_cli_set_color(cli, common->color);
    if (common->version) {
        return print_version(cli);
    }
    bool asked = common->help_short || common->help_all;
    mt_help_main(cli, asked ? cli->out : cli->err, common->help_all);
    return asked ? 0 : mt_status_exit_code(MT_USAGE);
}

/* "memtool help VERB" is "memtool VERB --help". */
static int run_help(struct mt_cli *cli, const char *verb)
{
    const struct mt_command *c = verb ? mt_command_find(verb) : NULL;
    if (verb && !c) {
        return mt_cli_unknown_verb(cli, verb);
    }
    if (c) {
        mt_help_command(cli, c, true);
    } else {
        mt_help_main(cli, cli->out, true);
    }
    return 0;
}

/* A file where the verb stands: says which verbs that is taken for, and runs them. */
static int run_obvious(struct mt_cli *cli, const struct mt_common *common, size_t n, char **args)
{
    const char *verbs[2];
    size_t n_verbs = mt_cli_obvious_verbs(args, n, verbs);
    if (!n_verbs) {
        return mt_cli_unknown_verb(cli, args[0]);
    }
    int worst = 0;
    mt_cli_note(cli, common, "no verb given: this is memtool %s%s%s", verbs[0],
                n_verbs > 1 ? ", then memtool " : "", n_verbs > 1 ? verbs[1] : "");
    char **all = mt_cli_realloc(NULL, n + 2, sizeof *all);
    for (size_t i = 0; i < n_verbs && worst == 0; i++) {
        const struct mt_command *c = mt_command_find(verbs[i]);
        all[0] = args[0]; /* the verb; getopt looks behind it */
        for (size_t k = 0; k <= n; k++) {
            all[k + 1] = args[k];
        }
        if (i) {
            fputc('\n', cli->out);
        }
        worst = run_command(cli, c, (int)n + 1, all);
    }
    mt_mem_free(all);
    return worst;
}

int mt_cli_dispatch(struct mt_cli *cli, int argc, char **argv)
{
    char **args = mt_cli_realloc(NULL, (size_t)argc + 2, sizeof *args);
    struct mt_common common = {0};
    int code = find_verb(cli, argc, argv, args, &common);
    int n = 0;
    while (args[0] && args[n]) {
        n++;
    }
    const struct mt_command *c = n ? mt_command_find(args[0]) : NULL;
    if (code == 0) {
        code = c                              ? run_command(cli, c, n, args)
               : n == 0                       ? run_without_verb(cli, &common)
               : strcmp(args[0], "help") == 0 ? run_help(cli, args[1])
               : strcmp(args[0], "version") == 0 && n == 1
                   ? print_version(cli)
                   : run_obvious(cli, &common, (size_t)n, args);
    }
    mt_mem_free(args);
    return code;
}
