/* SPDX-License-Identifier: MIT */
/* explain: the glossary in the terminal. */
#include <string.h>

#include "cli/options/options.h"
#include "support/mem.h"
#include "verbs/explain/explain.h"

struct explain_settings {
    struct mt_common common;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

const struct mt_command mt_cmd_explain = {
    .name = "explain",
    .summary = "what a word means, with drawings",
    .usage = "[TERM]",
    .description =
        "Explains a word of reports and error messages: allocated, reserved, fragmentation, pool, "
        "expandable segment, the way of an allocation and of a free, what is often said and wrong. "
        "Without a term it lists them.",
    .examples = "memtool explain                          the list\n"
                "memtool explain inactive_split           one word\n"
                "memtool explain allocation               the way of a request",
    .settings_size = sizeof(struct explain_settings),
    .min_files = 0,
    .max_files = -1,
    .flags = MT_COMMAND_NO_SNAPSHOT | MT_COMMAND_PAGER,
    .run = run,
};

/* The words of the command line as one term: memtool explain pending free. */
static char *join(char **words, size_t n)
{
    struct mt_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        mt_buf_text(&b, i ? " " : "");
        mt_buf_text(&b, words[i]);
    }
    if (b.failed) {
        mt_buf_release(&b);
    }
    return b.p;
}

/* Names near to the word; topics whose name holds it go first. */
static const char *nearest(const char *word)
{
    const char *names[512];
    size_t n = 0;
    for (size_t g = 0; g < MT_TOPIC_GROUPS_N; g++) {
        for (size_t i = 0; i < MT_TOPIC_GROUPS[g].n; i++) {
            const struct mt_topic *t = &MT_TOPIC_GROUPS[g].topics[i];
            for (size_t k = 0; n < MT_COUNT(names) && (k == 0 || t->also[k - 1]); k++) {
                names[n++] = k ? t->also[k - 1] : t->name;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (strlen(word) > 2 && strstr(names[i], word)) {
            return names[i];
        }
    }
    return mt_suggest(word, names, n);
}

static int unknown(struct mt_cli *cli, const char *word)
{
    const char *near = nearest(word);
    return near ? mt_cli_usage(cli, "no term '%.60s' — did you mean '%s'?", word, near)
                : mt_cli_usage(cli, "no term '%.60s'; memtool explain lists all", word);
}

static int print(struct mt_cli *cli, const struct explain_settings *x, const struct mt_topic *topic)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    int code = mt_cli_report_begin(cli, &x->common, "", &r, &o);
    if (code) {
        return code;
    }
    enum mt_status status = topic ? mt_report_topic(&r, topic, &err) : mt_report_topics(&r, &err);
    code = status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
    return mt_cli_report_end(cli, &o, code);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    if (n_files == 0) {
        return print(cli, settings, NULL);
    }
    char *word = join(files, n_files);
    if (!word) {
        struct mt_error err;
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, NULL, &err);
    }
    const struct mt_topic *topic = mt_topic_find(word);
    int code = topic ? print(cli, settings, topic) : unknown(cli, word);
    mt_mem_free(word);
    return code;
}
