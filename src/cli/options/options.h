/* SPDX-License-Identifier: MIT */
/* Private to cli/: options as tables, from argv to settings and to help. */
#ifndef MEMTOOL_CLI_OPTIONS_OPTIONS_H
#define MEMTOOL_CLI_OPTIONS_OPTIONS_H

#include "cli/command.h"

/* One option and the struct that its value goes to. */
struct mt_option_ref {
    const struct mt_option *option;
    const struct mt_option_group *group;
    void *base;
};

/* All options of a verb, its own before the common ones; those hidden by an earlier one of the same
 * letter or name are left out. */
struct mt_option_set {
    struct mt_option_ref *refs;
    size_t n;
};

/* `command` may be NULL: the common options only. `settings` may be NULL when nothing is parsed.
 * Dies when out of memory. Caller frees with mt_option_set_release. */
struct mt_option_set mt_option_set_make(const struct mt_command *command, void *settings);
void mt_option_set_release(struct mt_option_set *set);

/* Frees what parsing put into TEXTS fields. */
void mt_option_set_free_values(const struct mt_option_set *set);

/* Parses argv[1 ..] into the settings, moves what is no option to the end and returns where it
 * begins through *first. With `stop` it ends at the first argument that is no option. Returns 0, or
 * the exit code 2 after saying what is wrong. */
int mt_options_parse(struct mt_cli *cli, const struct mt_option_set *set, int argc, char **argv,
                     bool stop, int *first);

/* Parses one value into the field of `ref`; err->text says what is wrong with it. */
enum mt_status mt_option_set_value(const struct mt_option_ref *ref, const char *text,
                                   struct mt_error *err) MT_NODISCARD;

/* Whether the option takes an argument. */
bool mt_option_has_arg(const struct mt_option *o);

/* What help shows for the argument: `arg`, or the choices as "a|b|c". */
void mt_option_arg_text(struct mt_buf *b, const struct mt_option *o);

/* The name among `names` (n of them, NULL entries are skipped) nearest to `word`, at most two edits
 * away; NULL when there is none. '-' and '_' are the same. */
const char *mt_suggest(const char *word, const char *const *names, size_t n);

/* The same as a hint to err ("did you mean 'stack'?"); none where nothing is near. Returns its
 * code. */
enum mt_status mt_hint_near(struct mt_error *err, const char *word, const char *const *names,
                            size_t n);

/* Settings of a verb with all defaults filled in; dies when out of memory. */
void *mt_settings_new(const struct mt_cli *cli, const struct mt_command *command);
void mt_settings_free(const struct mt_command *command, void *settings);

#endif
