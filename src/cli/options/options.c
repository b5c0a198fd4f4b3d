/* SPDX-License-Identifier: MIT */
/*
 * Options are tables; getopt_long scans argv and the tables tell it what there is. What getopt_long
 * would say about a wrong option is said here instead, in memtool's words and with the nearest
 * name.
 */
#include "cli/options/options.h"

#include <getopt.h>
#include <string.h>

#include "support/mem.h"

#include "cli/frame.h"

enum { LONG_BASE = 256 }; /* getopt_long's value of option i without regard to its letter */

/* ---- the set ---- */

static bool is_hidden(const struct mt_option_set *set, const struct mt_option *o)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct mt_option *earlier = set->refs[i].option;
        bool same_letter = o->letter && o->letter == earlier->letter;
        bool same_name = o->name && earlier->name && strcmp(o->name, earlier->name) == 0;
        if (same_letter || same_name) {
            return true;
        }
    }
    return false;
}

/* Whether a verb with these flags has the option; without settings, whether it is worth telling. */
static bool is_for(const struct mt_option *o, unsigned flags, bool parses)
{
    return !(o->needs & ~flags) && (parses || !(o->shapes & ~flags));
}

static void add_group(struct mt_option_set *set, const struct mt_option_group *g, void *settings,
                      unsigned flags)
{
    bool reports = !(flags & MT_COMMAND_NO_REPORT);
    for (size_t i = 0; i < g->n; i++) {
        const struct mt_option *o = &g->options[i];
        if ((reports || !o->report) && is_for(o, flags, settings != NULL) && !is_hidden(set, o)) {
            void *base = settings ? (char *)settings + g->offset : NULL;
            set->refs = mt_cli_realloc(set->refs, set->n + 1, sizeof *set->refs);
            set->refs[set->n++] = (struct mt_option_ref){o, g, base};
        }
    }
}

struct mt_option_set mt_option_set_make(const struct mt_command *command, void *settings)
{
    struct mt_option_set set = {0};
    unsigned flags = command ? command->flags : MT_COMMAND_TABLE | MT_COMMAND_FIGURES;
    for (size_t i = 0; command && i < command->n_groups; i++) {
        add_group(&set, &command->groups[i], settings, flags & ~(unsigned)MT_COMMAND_NO_REPORT);
    }
    add_group(&set, &MT_GROUP_COMMON, settings, flags);
    if (!(flags & MT_COMMAND_NO_SNAPSHOT)) {
        add_group(&set, &MT_GROUP_READING, settings, flags);
    }
    return set;
}

void mt_option_set_release(struct mt_option_set *set)
{
    mt_mem_free(set->refs);
    *set = (struct mt_option_set){0};
}

void mt_option_set_free_values(const struct mt_option_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct mt_option *o = set->refs[i].option;
        if (o->kind == MT_OPTION_TEXTS) {
            struct mt_texts *texts = (void *)((char *)set->refs[i].base + o->offset);
            mt_mem_free(texts->v);
            *texts = (struct mt_texts){0};
        }
    }
}

void *mt_settings_new(const struct mt_cli *cli, const struct mt_command *command)
{
    struct mt_common *common = mt_cli_realloc(NULL, 1, command->settings_size);
    memset(common, 0, command->settings_size);
    common->unit = cli->unit;
    common->limit = -1;
    common->stack_lines = -1;
    common->max_depth = 1000;
    for (size_t i = 0; i < command->n_groups; i++) {
        const struct mt_option_group *g = &command->groups[i];
        if (g->init) {
            g->init((char *)common + g->offset);
        }
    }
    if (command->defaults) {
        command->defaults(common);
    }
    return common;
}

void mt_settings_free(const struct mt_command *command, void *settings)
{
    for (size_t i = 0; i < command->n_groups; i++) {
        const struct mt_option_group *g = &command->groups[i];
        if (g->release) {
            g->release((char *)settings + g->offset);
        }
    }
    mt_mem_free(settings);
}

/* ---- what getopt_long wants ---- */

struct scan {
    struct option *longs;
    size_t n;
    char letters[2 * 128 + 3];
    char *spellings; /* names with '-' and '_' swapped */
};

static void add_long(struct scan *s, const char *name, bool has_arg, size_t index)
{
    s->longs[s->n++] = (struct option){name, has_arg ? required_argument : no_argument, NULL,
                                       LONG_BASE + (int)index};
}

/* "filter-freed" for "filter_freed" and the reverse, written to *at; NULL when they are the same.
 */
static const char *other_spelling(const char *name, char **at)
{
    char *begin = *at;
    bool differs = false;
    do {
        char c = *name == '-' ? '_' : *name == '_' ? '-' : *name;
        differs |= c != *name;
        *(*at)++ = c;
    } while (*name++);
    return differs ? begin : NULL;
}

static struct scan scan_make(const struct mt_option_set *set, bool stop)
{
    struct scan s = {0};
    size_t bytes = 1;
    for (size_t i = 0; i < set->n; i++) {
        bytes += set->refs[i].option->name ? strlen(set->refs[i].option->name) + 1 : 0;
    }
    s.longs = mt_cli_realloc(NULL, 2 * set->n + 1, sizeof *s.longs);
    s.spellings = mt_cli_realloc(NULL, bytes, 1);
    char *spelling = s.spellings;
    char *letter = s.letters;
    *letter++ = stop ? '+' : ':';
    if (stop) {
        *letter++ = ':';
    }
    for (size_t i = 0; i < set->n; i++) {
        const struct mt_option *o = set->refs[i].option;
        bool has_arg = mt_option_has_arg(o);
        if (o->letter) {
            *letter++ = o->letter;
            *letter = ':';
            letter += has_arg;
        }
        if (o->name) {
            add_long(&s, o->name, has_arg, i);
            const char *other = other_spelling(o->name, &spelling);
            if (other) {
                add_long(&s, other, has_arg, i);
            }
        }
    }
    *letter = '\0';
    s.longs[s.n] = (struct option){0};
    return s;
}

static void scan_release(struct scan *s)
{
    mt_mem_free(s->longs);
    mt_mem_free(s->spellings);
}

/* ---- complaints ---- */

/* What is wrong with an option's argument; what a parser hints at is kept. */
static int fail_option(struct mt_cli *cli, const struct mt_option *o, const struct mt_error *why)
{
    struct mt_error err;
    char text[sizeof err.text];
    snprintf(text, sizeof text, "%s", why->text);
    if (!why->hint[0]) {
        return o->name ? mt_cli_usage(cli, "--%s: %s", o->name, text)
                       : mt_cli_usage(cli, "-%c: %s", o->letter, text);
    }
    if (o->name) {
        (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "--%s: %s", o->name, text);
    } else {
        (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "-%c: %s", o->letter, text);
    }
    (void)mt_hint(&err, "%s", why->hint);
    return mt_cli_fail(cli, NULL, &err);
}

/* --csv of a verb whose report has no table. */
static int refuse_table(struct mt_cli *cli, const char *what)
{
    struct mt_error err;
    const char *verb = cli->command->name;
    (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "--%s: %s prints no table", what, verb);
    mt_hint(&err, "memtool %s --json is for programs", verb);
    return mt_cli_fail(cli, NULL, &err);
}

/* getopt_long refused a long option: it is unknown, it is a prefix of several, or it takes no
 * argument. */
static int refuse_long(struct mt_cli *cli, const struct scan *s, const char *arg)
{
    char word[64];
    size_t n = strcspn(arg, "=");
    bool table = n == 3 && (strncmp(arg, "csv", n) == 0 || strncmp(arg, "tsv", n) == 0);
    if (table && cli->command &&
        !(cli->command->flags & (MT_COMMAND_TABLE | MT_COMMAND_NO_REPORT))) {
        return refuse_table(cli, arg);
    }
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), arg);
    const char **names = mt_cli_realloc(NULL, s->n + 1, sizeof *names);
    struct mt_buf matches = {0};
    int code;
    for (size_t i = 0; i < s->n; i++) {
        names[i] = s->longs[i].name;
        bool respelled = i && s->longs[i].val == s->longs[i - 1].val;
        if (strncmp(names[i], word, n) == 0 && !respelled) {
            mt_buf_printf(&matches, "%s--%s", matches.n ? ", " : "", names[i]);
        }
    }
    const char *near = mt_suggest(word, names, s->n);
    if (matches.n && arg[n] == '=' && !strchr(matches.p, ',')) {
        code = mt_cli_usage(cli, "%s takes no argument", matches.p);
    } else if (matches.n) {
        code = mt_cli_usage(cli, "option '--%s' is ambiguous: %s", word, matches.p);
    } else if (near) {
        code = mt_cli_usage(cli, "unknown option '--%s' — did you mean '--%s'?", word, near);
    } else {
        code = mt_cli_usage(cli, "unknown option '--%s'", word);
    }
    mt_buf_release(&matches);
    mt_mem_free(names);
    return code;
}

static const struct mt_option_ref *find_ref(const struct mt_option_set *set, int value)
{
    for (size_t i = 0; i < set->n; i++) {
        if (value == LONG_BASE + (int)i || (value && value == set->refs[i].option->letter)) {
            return &set->refs[i];
        }
    }
    return NULL;
}

static int refuse(struct mt_cli *cli, const struct mt_option_set *set, const struct scan *s,
                  int value, const char *arg)
{
    const struct mt_option_ref *ref = find_ref(set, optopt);
    if (value == ':' && ref) {
        struct mt_buf b = {0};
        struct mt_error err;
        mt_buf_text(&b, "needs an argument: ");
        mt_option_arg_text(&b, ref->option);
        (void)mt_fail(&err, MT_USAGE, MT_NO_OFFSET, "%s", b.failed ? "needs an argument" : b.p);
        int code = fail_option(cli, ref->option, &err);
        mt_buf_release(&b);
        return code;
    }
    bool is_letter = optopt > 0 && optopt < LONG_BASE;
    if (!is_letter) {
        return refuse_long(cli, s, arg + 2);
    }
    return mt_cli_usage(cli, "unknown option '-%c'", optopt);
}

/* ---- parsing ---- */

int mt_options_parse(struct mt_cli *cli, const struct mt_option_set *set, int argc, char **argv,
                     bool stop, int *first)
{
    struct scan s = scan_make(set, stop);
    int code = 0;
    opterr = 0;
#ifdef __GLIBC__
    optind = 0; /* glibc's way of starting afresh, argv permutation included */
#else
    optind = 1;
#endif
    while (code == 0) {
        int value = getopt_long(argc, argv, s.letters, s.longs, NULL);
        if (value == -1) {
            break;
        }
        const struct mt_option_ref *ref =
            value == '?' || value == ':' ? NULL : find_ref(set, value);
        struct mt_error err;
        if (!ref) {
            code = refuse(cli, set, &s, value, argv[optind - 1]);
        } else if (mt_option_set_value(ref, optarg, &err) != MT_OK) {
            code = err.code == MT_NOMEM ? mt_cli_fail(cli, NULL, &err)
                                        : fail_option(cli, ref->option, &err);
        }
    }
    *first = optind;
    scan_release(&s);
    return code;
}
