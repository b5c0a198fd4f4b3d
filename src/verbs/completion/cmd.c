/* SPDX-License-Identifier: MIT */
/*
 * Completion scripts for shells, written from the tables, so that they know every verb, option and
 * choice of this very binary. Names in the tables hold no character that a shell would interpret;
 * help texts are quoted.
 */
#include <string.h>

#include "cli/options/options.h"
#include "verbs/explain/explain.h"

/* Whose arguments are no snapshots. */
extern const struct mt_command mt_cmd_explain, mt_cmd_capture;

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

/* The words that an option takes: its choices, or the moments that have a name. */
static const char *const *words_of(const struct mt_option *o)
{
    static const char *const moments[] = {"peak", "oom", "end", "start", NULL};
    return o->kind == MT_OPTION_CHOICE             ? o->choices
           : o->arg && strcmp(o->arg, "WHEN") == 0 ? moments
                                                   : NULL;
}

static void put_words(FILE *to, const char *const *words, const char *behind)
{
    for (int i = 0; words[i]; i++) {
        fprintf(to, "%s%s%s", i ? " " : "", words[i], behind);
    }
}

/* What a verb takes that is no file, as words; whether there are any. */
static bool put_arguments(FILE *to, const struct mt_command *c)
{
    if (c == &mt_cmd_completion) {
        fputs("bash zsh fish", to);
    } else if (c == &mt_cmd_explain) {
        for (size_t g = 0; g < MT_TOPIC_GROUPS_N; g++) {
            for (size_t i = 0; i < MT_TOPIC_GROUPS[g].n; i++) {
                fprintf(to, "%s%s", g || i ? " " : "", MT_TOPIC_GROUPS[g].topics[i].name);
            }
        }
    } else {
        return false;
    }
    return true;
}

/* Text inside single quotes, for sh, zsh and fish alike; a \ goes before the characters of `mark`.
 */
static void put_quoted(FILE *to, const char *text, const char *mark)
{
    for (; *text; text++) {
        fputs(strchr(mark, *text) ? "\\" : "", to);
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, to);
    }
}

static void put_names(FILE *to, const char *before, const struct mt_option *o, const char *between)
{
    if (o->name) {
        fprintf(to, "%s--%s", before, o->name);
    }
    if (o->letter) {
        fprintf(to, "%s%s-%c", o->name ? between : "", before, o->letter);
    }
}

/* Options whose argument is the next word, with `between` each: "--color|--unit|-n|-o". */
static void put_with_argument(FILE *to, const struct mt_command *c, const char *between)
{
    struct mt_option_set set = mt_option_set_make(c, NULL);
    bool first = true;
    for (size_t i = 0; i < set.n; i++) {
        if (mt_option_has_arg(set.refs[i].option)) {
            fputs(first ? "" : between, to);
            put_names(to, "", set.refs[i].option, between);
            first = false;
        }
    }
    mt_option_set_release(&set);
}

/* ---- bash: what the word before asks for, options after '-', the verb's own words, else files.
 * Common options may stand before the verb; behind capture's stands another command line ---- */

static void bash_options(FILE *to, const struct mt_option_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->refs[i].option->name) {
            fprintf(to, "%s--%s", i ? " " : "", set->refs[i].option->name);
        }
    }
}

static void bash_words_of_options(FILE *to, const char *verb, const struct mt_option_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct mt_option *o = set->refs[i].option;
        if (words_of(o)) {
            char before[64];
            snprintf(before, sizeof before, "%s:", verb);
            fputs("    ", to);
            put_names(to, before, o, "|");
            fputs(") words=\"", to);
            put_words(to, words_of(o), "");
            fputs("\" ;;\n", to);
        }
    }
}

static void bash_verb(FILE *to, const struct mt_command *c, const struct mt_option_set *set)
{
    fprintf(to, "    %s) options=\"", c ? c->name : "''");
    bash_options(to, set);
    fputs("\" arguments=\"", to);
    if (c) {
        put_arguments(to, c);
    } else {
        put_verbs(to);
        fputs(" help", to);
    }
    fputs("\" ;;\n", to);
}

static void bash_tables(FILE *to, void (*one)(FILE *to, const struct mt_command *c))
{
    one(to, NULL);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        one(to, MT_COMMANDS[i]);
    }
}

static void bash_one_words(FILE *to, const struct mt_command *c)
{
    struct mt_option_set set = mt_option_set_make(c, NULL);
    bash_words_of_options(to, c ? c->name : "", &set);
    mt_option_set_release(&set);
}

static void bash_one_verb(FILE *to, const struct mt_command *c)
{
    struct mt_option_set set = mt_option_set_make(c, NULL);
    bash_verb(to, c, &set);
    mt_option_set_release(&set);
}

/* _memtool_next FROM OPTIONS: the first word from there on that is no option nor an argument of
 * one of these. */
static void bash_head(FILE *to)
{
    fputs("# memtool completion for bash\n_memtool_next() {\n"
          "    for ((at = $1; at < COMP_CWORD; at++)); do\n"
          "        case ${COMP_WORDS[at]} in\n"
          "        --) at=$((at + 1)); return ;;\n        ",
          to);
    put_with_argument(to, NULL, "|");
    fputs("|", to);
    put_with_argument(to, &mt_cmd_capture, "|");
    fputs(") [ \"${COMP_WORDS[at+1]}\" = = ] && at=$((at + 1)); at=$((at + 1)) ;;\n"
          "        -*) ;;\n        *) return ;;\n        esac\n    done\n}\n",
          to);
}

static void bash(FILE *to)
{
    bash_head(to);
    fputs("_memtool() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local at verb= words= options= arguments=\n    COMPREPLY=()\n"
          "    if [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    if [ \"$cur\" = = ]; then cur=; fi\n"
          "    _memtool_next 1\n"
          "    if [ \"$at\" -lt \"$COMP_CWORD\" ]; then verb=${COMP_WORDS[at]//-/_}; fi\n"
          "    if [ \"$verb\" = capture ]; then\n        _memtool_next $((at + 1))\n"
          "        if [ \"$at\" -lt \"$COMP_CWORD\" ]; then\n"
          "            if declare -F _command_offset >/dev/null; then _command_offset \"$at\"; fi\n"
          "            return\n"
          "        elif [ \"$at\" -eq \"$COMP_CWORD\" ] && [ \"${cur#-}\" = \"$cur\" ]; then\n"
          "            mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n            return\n"
          "        fi\n    fi\n    case $verb:$prev in\n",
          to);
    bash_tables(to, bash_one_words);
    fputs("    esac\n    case $verb in\n    help) arguments=\"", to);
    put_verbs(to);
    fputs("\" ;;\n", to);
    bash_tables(to, bash_one_verb);
    fputs(
        "    esac\n    if [ -z \"$words\" ]; then\n"
        "        if [ \"${cur#-}\" != \"$cur\" ]; then words=$options; else words=$arguments; fi\n"
        "    fi\n    if [ -n \"$words\" ]; then\n"
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
    put_quoted(to, o->help, "[]:\\");
    fputc(']', to);
    if (words_of(o)) {
        fprintf(to, ":%s:(", o->name);
        put_words(to, words_of(o), "");
        fputc(')', to);
    } else if (mt_option_has_arg(o)) {
        bool is_file = o->arg && strcmp(o->arg, "FILE") == 0;
        fprintf(to, ":%s:%s", o->name ? o->name : "value", is_file ? "_files" : "");
    }
    fputs("' \\\n", to);
}

static void zsh_options(FILE *to, const struct mt_command *c)
{
    struct mt_option_set set = mt_option_set_make(c, NULL);
    for (size_t i = 0; i < set.n; i++) {
        zsh_option(to, set.refs[i].option);
    }
    mt_option_set_release(&set);
}

static void zsh_verb(FILE *to, const struct mt_command *c)
{
    bool starts = c == &mt_cmd_capture;
    fprintf(to, "    %s) _arguments -s%s \\\n", c->name, starts ? " -S -A '-*'" : "");
    zsh_options(to, c);
    if (starts) {
        fputs("        '(-)1:program:_command_names -e' '*::argument:_normal' ;;\n", to);
        return;
    }
    fputs("        '*:argument:", to);
    bool words = c == &mt_cmd_completion || c == &mt_cmd_explain;
    fputs(words ? "(" : "_files", to);
    put_arguments(to, c);
    fputs(words ? ")' ;;\n" : "' ;;\n", to);
}

static void zsh(FILE *to)
{
    fputs("#compdef memtool\n_memtool() {\n"
          "    local curcontext=$curcontext state line\n    typeset -A opt_args\n"
          "    local -a verbs\n    verbs=(\n",
          to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        fprintf(to, "        '%s:", MT_COMMANDS[i]->name);
        put_quoted(to, MT_COMMANDS[i]->summary, ":");
        fputs("'\n", to);
    }
    fputs("    )\n    _arguments -C -s -A '-*' \\\n", to);
    zsh_options(to, NULL);
    fputs("        '1:verb:->verb' '*::argument:->argument' && return\n"
          "    if [[ $state = verb ]]; then\n        _describe verb verbs\n        return\n"
          "    fi\n    case ${words[1]//-/_} in\n    help) _describe verb verbs ;;\n",
          to);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        zsh_verb(to, MT_COMMANDS[i]);
    }
    fputs("    esac\n}\nif [ \"$funcstack[1]\" = _memtool ]; then _memtool; else compdef _memtool "
          "memtool; fi\n",
          to);
}

/* ---- fish: one complete line for each verb and option ---- */

/* Each word with its own description; an empty one keeps the option's from standing behind all. */
static void fish_words(FILE *to, const struct mt_option *o)
{
    const char *const *words = words_of(o);
    fputs(" -x -a '", to);
    for (int i = 0; words[i]; i++) {
        fprintf(to, "%s%s\\t\"", i ? " " : "", words[i]);
        put_quoted(to, o->says ? o->says[i] : "", "\"\\");
        fputc('"', to);
    }
    fputc('\'', to);
}

static void fish_option(FILE *to, const char *verb, const struct mt_option *o)
{
    fprintf(to, "complete -c memtool -n '__memtool_is %s'", verb);
    if (o->letter) {
        fprintf(to, " -s %c", o->letter);
    }
    if (o->name) {
        fprintf(to, " -l %s", o->name);
    }
    if (words_of(o)) {
        fish_words(to, o);
    } else if (mt_option_has_arg(o)) {
        fputs(" -r", to);
    }
    fputs(" -d '", to);
    put_quoted(to, o->help, "\\");
    fputs("'\n", to);
}

static void fish_options(FILE *to, const struct mt_command *c)
{
    struct mt_option_set set = mt_option_set_make(c, NULL);
    for (size_t i = 0; i < set.n; i++) {
        fish_option(to, c ? c->name : "\"\"", set.refs[i].option);
    }
    mt_option_set_release(&set);
}

static void fish_arguments(FILE *to, const struct mt_command *c)
{
    if (c == &mt_cmd_capture) {
        fputs("complete -c memtool -n '__memtool_is capture' -f "
              "-a '(__memtool_program)'\n",
              to);
    } else if (c == &mt_cmd_completion || c == &mt_cmd_explain) {
        fprintf(to, "complete -c memtool -n '__memtool_is %s' -f -a '", c->name);
        put_arguments(to, c);
        fputs("'\n", to);
    }
}

static void fish(FILE *to)
{
    fputs("# memtool completion for fish\n"
          "function __memtool_verb\n"
          "    set -l words (commandline -opc)\n"
          "    set -e words[1]\n"
          "    while set -q words[1]\n"
          "        switch $words[1]\n"
          "            case ",
          to);
    put_with_argument(to, NULL, " ");
    fputs("\n                set -e words[1]\n"
          "            case '-*'\n"
          "            case '*'\n"
          "                string replace -a - _ -- $words[1]\n"
          "                return\n"
          "        end\n"
          "        set -e words[1]\n"
          "    end\nend\n"
          "function __memtool_is\n"
          "    set -l verb (__memtool_verb)\n"
          "    test \"$verb\" = \"$argv[1]\"\n"
          "end\n"
          "function __memtool_program\n"
          "    set -l words (commandline -opc)\n"
          "    if set -l at (contains -i -- -- $words)\n"
          "        set -e words[1..$at]\n"
          "        complete -C \"$words \"(commandline -ct)\n"
          "    end\nend\n",
          to);
    fish_options(to, NULL);
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        const struct mt_command *c = MT_COMMANDS[i];
        fprintf(to, "complete -c memtool -n '__memtool_is \"\"' -f -a %s -d '", c->name);
        put_quoted(to, c->summary, "\\");
        fputs("'\n", to);
        fish_options(to, c);
        fish_arguments(to, c);
    }
    fputs("complete -c memtool -n '__memtool_is help' -f -a '", to);
    put_verbs(to);
    fputs("'\n", to);
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
