/* SPDX-License-Identifier: MIT */
/*
 * Completion scripts for shells, written from the tables, so that they know every verb, option and
 * choice of this very binary. Names in the tables hold no character that a shell would interpret;
 * help texts are quoted.
 */
#include <string.h>

#include "options.h"

struct completion_settings {
    struct mt_common common;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

const struct mt_command mt_cmd_completion = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .usage = "bash|zsh|fish",
    .description = "Prints a script that teaches the shell memtool's verbs, options and choices.",
    .examples = "source <(memtool completion bash)                 in ~/.bashrc\n"
                "memtool completion fish | source                  in config.fish",
    .settings_size = sizeof(struct completion_settings),
    .min_files = 1,
    .max_files = 1,
    .flags = MT_COMMAND_NO_SNAPSHOT | MT_COMMAND_NO_REPORT,
    .run = run,
};

static void put_verbs(FILE *to)
{
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        fprintf(to, "%s%s", i ? " " : "", MT_COMMANDS[i]->name);
    }
}

static void put_choices(FILE *to, const struct mt_option *o)
{
    for (int i = 0; o->choices[i]; i++) {
        fprintf(to, "%s%s", i ? " " : "", o->choices[i]);
    }
}

/* Text inside single quotes, for sh, zsh and fish alike; `drop` are characters to leave out. */
static void put_quoted(FILE *to, const char *text, const char *drop)
{
    for (; *text; text++) {
        if (!strchr(drop, *text)) {
            fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, to);
        }
    }
}

/* ---- bash: choices of the word before, options after '-', verbs at first, else files ---- */

static void bash_verb_options(FILE *to, const struct mt_option_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->refs[i].option->name) {
            fprintf(to, "%s--%s", i ? " " : "", set->refs[i].option->name);
        }
    }
}

static void bash_choices(FILE *to, const char *verb, const struct mt_option_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct mt_option *o = set->refs[i].option;
        if (o->kind == MT_OPTION_CHOICE && o->name) {
            fprintf(to, "    %s:--%s) words=\"", verb, o->name);
            put_choices(to, o);
            fputs("\" ;;\n", to);
        }
    }
}

static void bash(FILE *to)
{
    fputs("# memtool completion for bash\n_memtool() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local verb=${COMP_WORDS[1]} words=\n    verb=${verb//-/_}\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"",
          to);
    put_verbs(to);
    fputs(
        " --help --version\"\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n        return\n"
        "    fi\n    case $verb:$prev in\n    completion:completion) words=\"bash zsh fish\" ;;\n",
        to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        struct mt_option_set set = mt_option_set_make(MT_COMMANDS[i], NULL);
        bash_choices(to, MT_COMMANDS[i]->name, &set);
        mt_option_set_release(&set);
    }
    fputs("    esac\n    if [ -z \"$words\" ] && [ \"${cur#-}\" != \"$cur\" ]; then\n"
          "        case $verb in\n",
          to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        struct mt_option_set set = mt_option_set_make(MT_COMMANDS[i], NULL);
        fprintf(to, "        %s) words=\"", MT_COMMANDS[i]->name);
        bash_verb_options(to, &set);
        fputs("\" ;;\n", to);
        mt_option_set_release(&set);
    }
    fputs("        esac\n    fi\n    if [ -n \"$words\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n    fi\n}\n"
          "complete -o default -F _memtool memtool\n",
          to);
}

/* ---- zsh: _arguments specifications ---- */

static void zsh_option(FILE *to, const struct mt_option *o)
{
    bool both = o->letter && o->name;
    fputs("        ", to);
    if (both) {
        fprintf(to, "'(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter, o->name);
    } else if (o->name) {
        fprintf(to, "'--%s[", o->name);
    } else {
        fprintf(to, "'-%c[", o->letter);
    }
    put_quoted(to, o->help, "[]:");
    fputc(']', to);
    if (o->kind == MT_OPTION_CHOICE) {
        fprintf(to, ":%s:(", o->name);
        put_choices(to, o);
        fputc(')', to);
    } else if (mt_option_has_arg(o)) {
        bool is_file = o->arg && strcmp(o->arg, "FILE") == 0;
        fprintf(to, ":%s:%s", o->name ? o->name : "value", is_file ? "_files" : "");
    }
    fputs("' \\\n", to);
}

static void zsh(FILE *to)
{
    fputs("#compdef memtool\n_memtool() {\n    local -a verbs\n    verbs=(\n", to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        fprintf(to, "        '%s:", MT_COMMANDS[i]->name);
        put_quoted(to, MT_COMMANDS[i]->summary, ":");
        fputs("'\n", to);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n"
          "    fi\n    local verb=${words[2]//-/_}\n    shift words\n    (( CURRENT-- ))\n"
          "    case $verb in\n",
          to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        struct mt_option_set set = mt_option_set_make(MT_COMMANDS[i], NULL);
        fprintf(to, "    %s) _arguments -s \\\n", MT_COMMANDS[i]->name);
        for (size_t j = 0; j < set.n; j++) {
            zsh_option(to, set.refs[j].option);
        }
        bool is_this = MT_COMMANDS[i] == &mt_cmd_completion;
        fprintf(to, "        '*:%s' ;;\n", is_this ? "shell:(bash zsh fish)" : "file:_files");
        mt_option_set_release(&set);
    }
    fputs("    esac\n}\nif [ \"$funcstack[1]\" = _memtool ]; then _memtool; else compdef _memtool "
          "memtool; fi\n",
          to);
}

/* ---- fish: one complete line for each verb and option ---- */

static void fish_option(FILE *to, const char *verb, const struct mt_option *o)
{
    fprintf(to, "complete -c memtool -n '__fish_seen_subcommand_from %s'", verb);
    if (o->letter) {
        fprintf(to, " -s %c", o->letter);
    }
    if (o->name) {
        fprintf(to, " -l %s", o->name);
    }
    if (o->kind == MT_OPTION_CHOICE) {
        fputs(" -x -a '", to);
        put_choices(to, o);
        fputc('\'', to);
    } else if (mt_option_has_arg(o)) {
        fputs(" -r", to);
    }
    fputs(" -d '", to);
    put_quoted(to, o->help, "'");
    fputs("'\n", to);
}

static void fish(FILE *to)
{
    fputs("# memtool completion for fish\n", to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        const struct mt_command *c = MT_COMMANDS[i];
        fprintf(to, "complete -c memtool -n __fish_use_subcommand -f -a %s -d '", c->name);
        put_quoted(to, c->summary, "'");
        fputs("'\n", to);
        struct mt_option_set set = mt_option_set_make(c, NULL);
        for (size_t j = 0; j < set.n; j++) {
            fish_option(to, c->name, set.refs[j].option);
        }
        mt_option_set_release(&set);
    }
    fputs("complete -c memtool -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n",
          to);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    static const struct {
        const char *name;
        void (*print)(FILE *to);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    (void)settings, (void)n_files;
    for (size_t i = 0; i < MT_COUNT(shells); i++) {
        if (strcmp(files[0], shells[i].name) == 0) {
            shells[i].print(cli->out);
            return 0;
        }
    }
    return mt_cli_usage(cli, "completion: '%.60s' is not one of: bash, zsh, fish", files[0]);
}
