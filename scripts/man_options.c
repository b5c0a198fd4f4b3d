/* SPDX-License-Identifier: MIT */
/*
 * Prints what man pages take from the option tables, as mdoc.
 *   man_options --verbs            name and summary of each verb, tab between
 *   man_options VERB               the verb's own options
 *   man_options --common           the options that all verbs share
 *   man_options --verb-list        the list of verbs for memtool(1)
 *   man_options --keys             the keys of a snapshot for memtool-snapshot(5)
 */
#include <stdio.h>
#include <string.h>

#include "torch/keys.h"

#include "cli/frame.h"
#include "cli/options/options.h"

/* mdoc takes a line that begins with . or ' as a request, and \ as an escape. */
static void put_text(const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", stdout);
    }
    for (; *text; text++) {
        if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-' && text[1] == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(*text);
        }
    }
}

static void put_item(const struct mt_option *o)
{
    struct mt_buf arg = {0};
    if (mt_option_has_arg(o)) {
        mt_buf_text(&arg, " Ar ");
        mt_option_arg_text(&arg, o);
    }
    const char *text = arg.failed || !arg.p ? "" : arg.p;
    fputs(".It ", stdout);
    if (o->letter) {
        printf("Fl %c%s%s", o->letter, text, o->name ? " , " : "");
    }
    if (o->name) {
        printf("Fl \\-%s%s", o->name, text);
    }
    putchar('\n');
    put_text(o->help);
    puts(".");
    mt_buf_release(&arg);
}

static void put_group(const struct mt_option_group *g)
{
    puts(".Bl -tag -width Ds");
    for (size_t i = 0; i < g->n; i++) {
        bool again = i && strcmp(g->options[i].name ? g->options[i].name : "",
                                 g->options[i - 1].name ? g->options[i - 1].name : "-") == 0;
        if (!again) { /* --output of verbs without a table */
            put_item(&g->options[i]);
        }
    }
    puts(".El");
}

static void put_verb(const struct mt_command *c)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        const char *title = c->groups[i].title;
        if (c->n_groups > 1 || title) {
            printf(".Ss %s\n", title ? title : "Options");
        }
        put_group(&c->groups[i]);
    }
    if (c->n_groups) {
        puts(".Ss Common options");
    }
    const char *some = c->flags & MT_COMMAND_NO_REPORT
                           ? ".Fl \\-quiet\nand\n.Fl \\-color"
                           : ".Fl \\-json ,\n.Fl \\-output\nand\n.Fl \\-limit";
    printf("The options that all verbs share, such as\n%s ,\nare described in\n.Xr memtool 1 .\n",
           some);
}

static void put_common(void)
{
    printf(".Ss %s\n", MT_GROUP_COMMON.title);
    put_group(&MT_GROUP_COMMON);
    printf(".Ss %s\n", MT_GROUP_READING.title);
    put_group(&MT_GROUP_READING);
}

static void put_list(bool mdoc)
{
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        const struct mt_command *c = MT_COMMANDS[i];
        if (mdoc) {
            printf(".It Xr memtool-%s 1\n", c->name);
            put_text(c->summary);
            puts(".");
        } else {
            printf("%s\t%s\n", c->name, c->summary);
        }
    }
}

struct key {
    const char *record, *name, *type, *since;
};

/* In the order of keys.h. */
static const struct key KEYS[] = {
#define X(name, type, since, use) {"Top", #name, #type, since},
    MT_TOP_KEYS(X)
#undef X
#define X(name, type, since, use) {"Segment", #name, #type, since},
        MT_SEGMENT_KEYS(X)
#undef X
#define X(name, type, since, use) {"Block", #name, #type, since},
            MT_BLOCK_KEYS(X)
#undef X
#define X(name, type, since, use) {"History entry of a block", #name, #type, since},
                MT_HISTORY_KEYS(X)
#undef X
#define X(name, type, since, use) {"Trace event", #name, #type, since},
                    MT_EVENT_KEYS(X)
#undef X
#define X(name, type, since, use) {"Frame", #name, #type, since},
                        MT_FRAME_KEYS(X)
#undef X
#define X(name, type, since, use) {"Annotation", #name, #type, since},
                            MT_ANNOTATION_KEYS(X)
#undef X
};

static const char *type_text(const char *type)
{
    static const char *const texts[][2] = {{"STR", "string"},
                                           {"U64", "integer from 0"},
                                           {"I64", "integer"},
                                           {"BOOL", "true or false"},
                                           {"POOL", "pair of integers"},
                                           {"STACK", "list of frames"},
                                           {"BLOCKS", "list of blocks"},
                                           {"HISTORY", "list of entries"},
                                           {"VALUE", "dictionary"},
                                           {"SEGMENTS", "list of segments"},
                                           {"TRACES", "list of lists of events"},
                                           {"ANNOTATIONS", "list of annotations"}};
    for (size_t i = 0; i < MT_COUNT(texts); i++) {
        if (strcmp(texts[i][0], type) == 0) {
            return texts[i][1];
        }
    }
    return type;
}

static void put_keys(void)
{
    const char *record = "";
    for (size_t i = 0; i < MT_COUNT(KEYS); i++) {
        if (strcmp(record, KEYS[i].record) != 0) {
            printf("%s.Ss %s\n.Bl -column external_annotations \"list of lists of events\" since\n",
                   i ? ".El\n" : "", KEYS[i].record);
        }
        record = KEYS[i].record;
        printf(".It %s Ta %s Ta %s\n", KEYS[i].name, type_text(KEYS[i].type), KEYS[i].since);
    }
    puts(".El");
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "--verbs") == 0) {
        put_list(false);
    } else if (strcmp(what, "--verb-list") == 0) {
        puts(".Bl -tag -width Ds");
        put_list(true);
        puts(".El");
    } else if (strcmp(what, "--keys") == 0) {
        put_keys();
    } else if (strcmp(what, "--common") == 0) {
        put_common();
    } else {
        const struct mt_command *c = mt_command_find(what);
        if (!c) {
            fprintf(stderr, "usage: man_options --verbs|--verb-list|--common|--keys|VERB\n");
            return 2;
        }
        put_verb(c);
    }
    return 0;
}
