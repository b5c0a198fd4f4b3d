/* SPDX-License-Identifier: MIT */
/* Which verbs answer for a file that is no snapshot but tells requests and frees. */
#include <string.h>

#include "cli/frame.h"
#include "cli/logged_input.h"

static const struct {
    const char *what, *verbs;
} TOLD[] = {
    [MT_TOLD_TRACE] = {"a trace of torch.profiler", "info, stats, trace, peak, leaks, trace_plot"},
    [MT_TOLD_TIMELINE] = {"a memory timeline of torch.profiler",
                          "info, stats, peak, leaks, trace_plot"},
    [MT_TOLD_SUMS] = {"a memory timeline of torch.profiler",
                      "info, stats, peak, leaks, trace_plot"},
    [MT_TOLD_RMM] = {"a log of RMM", "info, stats, trace, peak, leaks, trace_plot"},
};

/* Whether `word` is one of a list with commas. */
static bool is_in(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n) {
        bool begins = at == list || at[-1] == ' ';
        if (begins && (at[n] == ',' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

const char *mt_cli_told_verbs(enum mt_told told)
{
    return TOLD[told].verbs;
}

enum mt_status mt_cli_check_told(const struct mt_cli *cli, const struct mt_snapshot *s,
                                 struct mt_error *err)
{
    enum mt_told told = s->source.told;
    if (told == MT_TOLD_ALL || is_in(TOLD[told].verbs, cli->command->name)) {
        return MT_OK;
    }
    (void)mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                  "%s: it tells requests and frees, but no segments, blocks or settings, which %s "
                  "needs",
                  TOLD[told].what, cli->command->name);
    mt_hint(err, "what it can answer: %s", TOLD[told].verbs);
    return MT_FORMAT;
}
