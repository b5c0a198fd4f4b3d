/* SPDX-License-Identifier: MIT */
/* Help, all of it from the tables: verbs, a verb's options, and the nearest verb to a mistyped one.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame.h"
#include "cli/options/options.h"

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) {
            return false;
        }
    }
    return *a == *b;
}

const struct mt_command *mt_command_find(const char *name)
{
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        if (same_name(MT_COMMANDS[i]->name, name)) {
            return MT_COMMANDS[i];
        }
    }
    return NULL;
}

/* A file stands where the verb belongs: the hint is the whole command. */
static int file_for_verb(struct mt_cli *cli, const char *name)
{
    static const char *const ENDS[] = {".log", ".txt", ".out", ".err"};
    const char *verb = "info";
    for (size_t i = 0; i < MT_COUNT(ENDS); i++) {
        verb = mt_str_ends(mt_str_from(name), mt_str_from(ENDS[i])) ? "triage" : verb;
    }
    struct mt_error err;
    (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "'%.60s' is a file, and the verb is missing", name);
    mt_hint(&err, "memtool %s %.200s", verb, name);
    return mt_cli_fail(cli, NULL, &err);
}

/* Words that people try for a verb. */
static const struct {
    const char *word, *verb;
} WORDS[] = {
    {"oom", "triage"},        {"why", "triage"},
    {"diagnose", "triage"},   {"log", "triage"},
    {"analyze", "triage"},    {"graph", "trace_plot"},
    {"plot", "trace_plot"},   {"timeline", "trace_plot"},
    {"view", "trace_plot"},   {"flame", "memory"},
    {"flamegraph", "memory"}, {"stacks", "memory"},
    {"diff", "compare"},      {"top", "peak"},
    {"who", "peak"},          {"fragmentation", "frag"},
    {"holes", "frag"},        {"growth", "leaks"},
    {"replay", "simulate"},   {"what-if", "simulate"},
    {"whatif", "simulate"},   {"config", "conf"},
    {"settings", "conf"},     {"glossary", "explain"},
    {"terms", "explain"},     {"record", "capture"},
    {"run", "capture"},       {"snapshot", "capture"},
    {"dump", "capture"},      {"export", "convert"},
    {"anonymize", "convert"}, {"predict", "estimate"},
    {"size", "estimate"},     {"usage", "stats"},
    {"show", "info"},         {"events", "trace"},
    {"budget", "check"},      {"assert", "check"},
    {"merge", "ranks"},
};

static const char *verb_for_word(const char *name)
{
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (same_name(WORDS[i].word, name)) {
            return WORDS[i].verb;
        }
    }
    return NULL;
}

int mt_cli_unknown_verb(struct mt_cli *cli, const char *name)
{
    const char *names[64];
    size_t n = 0;
    for (; n < MT_COUNT(names) && MT_COMMANDS[n]; n++) {
        names[n] = MT_COMMANDS[n]->name;
    }
    const char *word = verb_for_word(name);
    const char *near = word ? word : mt_suggest(name, names, n);
    if (!near && access(name, R_OK) == 0) {
        return file_for_verb(cli, name);
    }
    if (!near && strpbrk(name, "./")) {
        return mt_cli_usage(cli, "no verb and no file is named '%.60s'", name);
    }
    return near ? mt_cli_usage(cli, "unknown verb '%.60s' — did you mean '%s'?", name, near)
                : mt_cli_usage(cli, "unknown verb '%.60s'", name);
}

static void print_heading(const struct mt_cli *cli, FILE *to, const char *text)
{
    struct mt_report r = {.color = to == cli->out ? cli->out_color : cli->err_color};
    fprintf(to, "\n%s%s:%s\n", mt_color_begin(&r, MT_COLOR_HEAD), text, mt_color_end(&r));
}

/* ---- options ---- */

static void option_text(struct mt_buf *b, const struct mt_option *o)
{
    if (o->letter) {
        mt_buf_printf(b, "-%c%s", o->letter, o->name ? ", " : "");
    } else {
        mt_buf_text(b, "    ");
    }
    if (o->name) {
        mt_buf_printf(b, "--%s", o->name);
    }
    if (mt_option_has_arg(o)) {
        mt_buf_char(b, ' ');
        mt_option_arg_text(b, o);
    }
}

/* Prints text in lines of at most `width` columns; those behind the first begin at `indent`. */
static void print_wrapped(FILE *to, const char *text, int indent, int width)
{
    mt_text_print_wrapped(to, text, indent, indent, width);
    fputc('\n', to);
}

enum { HELP_WIDTH = 90, HELP_COLUMN = 28, LEAST_TEXT = 30, NARROW_COLUMN = 8 };

static int help_width(const struct mt_cli *cli)
{
    return cli->width > 0 && cli->width < HELP_WIDTH ? cli->width : HELP_WIDTH;
}

/* A line that goes on behind `indent` blanks; empties the buffer. */
static void put_words(const struct mt_cli *cli, FILE *to, struct mt_buf *b, int indent)
{
    if (b->failed) {
        mt_cli_die_nomem();
    }
    mt_text_print_wrapped(to, b->p, 0, indent, help_width(cli));
    fputc('\n', to);
    mt_buf_reset(b);
}

/* Where texts begin: behind the names, or where a terminal is too narrow, below them. */
static int help_column(const struct mt_cli *cli)
{
    return help_width(cli) < HELP_COLUMN + LEAST_TEXT ? NARROW_COLUMN : HELP_COLUMN;
}

/* The name of an option or verb with what it does. */
static void print_entry(const struct mt_cli *cli, FILE *to, const char *name, int column,
                        const char *text)
{
    if (mt_text_width(name) > column - 4) {
        fprintf(to, "  %s\n%*s", name, column, "");
    } else {
        fprintf(to, "  %-*s", column - 2, name);
    }
    print_wrapped(to, text, column, help_width(cli));
}

static void print_option(const struct mt_cli *cli, FILE *to, const struct mt_option *o)
{
    struct mt_buf b = {0};
    option_text(&b, o);
    if (b.failed) {
        mt_cli_die_nomem();
    }
    print_entry(cli, to, b.p, help_column(cli), o->help);
    mt_buf_release(&b);
}

/* Whether `word` stands by itself in the text. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; p && (p = strstr(p, word)) != NULL; p += n) {
        bool begins = p == text || p[-1] == ' ';
        if (begins && strchr(" \n=", p[n])) { /* the end too: strchr finds the '\0' */
            return true;
        }
    }
    return false;
}

/* What a short help has in its examples belongs among its options. */
static bool is_in_examples(const struct mt_command *c, const struct mt_option *o)
{
    char name[64], letter[] = {'-', o->letter, '\0'};
    snprintf(name, sizeof name, "--%s", o->name ? o->name : "");
    return c && ((o->name && has_word(c->examples, name)) ||
                 (o->letter && has_word(c->examples, letter)));
}

static void print_options(const struct mt_cli *cli, FILE *to, const struct mt_command *c, bool all)
{
    struct mt_option_set set = mt_option_set_make(c, NULL);
    const struct mt_option_group *group = NULL;
    for (size_t i = 0; i < set.n; i++) {
        const struct mt_option_ref *ref = &set.refs[i];
        if (!all && !ref->option->common && !is_in_examples(c, ref->option)) {
            continue;
        }
        if (!group || (all && ref->group != group)) {
            print_heading(cli, to, all && ref->group->title ? ref->group->title : "Options");
        }
        group = ref->group;
        print_option(cli, to, ref->option);
    }
    mt_option_set_release(&set);
}

/* ---- examples and verbs ---- */

/* A line of `.examples`: a command, and behind two blanks or more what it does. */
struct example {
    int command, words; /* columns of both */
    const char *says;
};

static struct example find_example(const char *line)
{
    int n = (int)strcspn(line, "\n");
    const char *gap = strstr(line, "  ");
    if (!gap || gap >= line + n) {
        return (struct example){n, 0, ""};
    }
    const char *says = gap + strspn(gap, " ");
    return (struct example){(int)(gap - line), (int)(line + n - says), says};
}

/* NULL behind the last line. */
static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* What commands do stands in a column behind them, or below each where that is too wide. The
 * commands themselves stay whole, whatever the terminal: they will be pasted. */
static void print_examples(const struct mt_cli *cli, FILE *to, const char *lines)
{
    int column = 0, widest = 0;
    for (const char *p = lines; p; p = next_line(p)) {
        struct example e = find_example(p);
        column = e.words && e.command > column ? e.command : column;
        widest = e.words > widest ? e.words : widest;
    }
    bool behind = 2 + column + 2 + widest <= help_width(cli);
    for (const char *p = lines; p; p = next_line(p)) {
        struct example e = find_example(p);
        char says[256];
        fprintf(to, "  %.*s", e.command, p);
        if (e.words) {
            int pad = behind ? column - e.command + 2 : NARROW_COLUMN;
            snprintf(says, sizeof says, "%.*s", e.words, e.says);
            fprintf(to, "%s%*s", behind ? "" : "\n", pad, "");
            mt_text_print_wrapped(to, says, behind ? 0 : pad, pad,
                                  behind ? INT_MAX : help_width(cli));
        }
        fputc('\n', to);
    }
}

void mt_help_command(const struct mt_cli *cli, const struct mt_command *c, bool all)
{
    FILE *to = cli->out;
    struct mt_buf b = {0};
    mt_buf_printf(&b, "memtool %s: %s", c->name, c->summary);
    put_words(cli, to, &b, 2);
    mt_buf_printf(&b, "usage: memtool %s %s", c->name, c->usage);
    fputc('\n', to);
    put_words(cli, to, &b, 4);
    if (all && c->description) {
        fputc('\n', to);
        print_wrapped(to, c->description, 0, help_width(cli));
    }
    print_options(cli, to, c, all);
    if (c->examples) {
        print_heading(cli, to, "Examples");
        print_examples(cli, to, c->examples);
    }
    mt_buf_printf(&b, "%sman memtool-%s tells more.", all ? "" : "--help lists all options; ",
                  c->name);
    fputc('\n', to);
    put_words(cli, to, &b, 0);
    mt_buf_release(&b);
}

void mt_help_main(const struct mt_cli *cli, FILE *to, bool all)
{
    enum { VERB_COLUMN = 16 };
    print_wrapped(to,
                  "memtool reads PyTorch's CUDA memory snapshots and out-of-memory logs, and says "
                  "what held the memory, why the request did not fit and what to try first.",
                  0, help_width(cli));
    bool narrow = help_width(cli) < HELP_COLUMN + LEAST_TEXT;
    fprintf(to,
            "\nusage: memtool VERB [options] FILE...\n\n"
            "  Got an OOM?%s  memtool triage train.log\n"
            "  Got a snapshot?%s  memtool info snap.pickle\n",
            narrow ? "\n    " : "     ", narrow ? "\n    " : " ");
    print_heading(cli, to, "Verbs");
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        print_entry(cli, to, MT_COMMANDS[i]->name, VERB_COLUMN, MT_COMMANDS[i]->summary);
    }
    if (all) {
        print_options(cli, to, NULL, true);
    }
    fputc('\n', to);
    print_wrapped(to, "memtool VERB -h explains a verb, man memtool the whole.", 0,
                  help_width(cli));
}
