/* SPDX-License-Identifier: MIT */
/* A line is written with one call, so that jobs that share a file do not mix theirs. */
#include "verbs/check/check_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/slurp.h"

int mt_check_history_limit(struct mt_cli *cli, const char *file, const struct mt_history_rule *rule,
                           struct mt_budget *b)
{
    struct mt_run_history h = {0};
    struct mt_buf text = {0};
    struct mt_error err;
    uint64_t base = 0;
    if (access(file, F_OK) != 0 && errno == ENOENT) {
        return 0;
    }
    enum mt_status status = mt_cli_slurp_file(file, MT_SLURP_MOST, &text, &err);
    if (status == MT_OK) {
        status = mt_history_read(&h, mt_buf_view(&text), &err);
    }
    if (status == MT_OK) {
        b->knows_history = mt_history_base(&h, h.v.n, rule, &base);
        b->history_limit = mt_history_limit(rule, base);
    }
    bool unknown = status == MT_OK && !b->knows_history && rule->against == MT_AGAINST_COMMIT;
    mt_history_release(&h);
    mt_buf_release(&text);
    if (unknown) {
        return mt_cli_usage(cli, "--against-commit: no entry of the history has a commit '%.80s'",
                            rule->commit);
    }
    return status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
}

static const char *commit_of(const char *given)
{
    static const char *const NAMES[] = {"GITHUB_SHA", "CI_COMMIT_SHA"};
    for (size_t i = 0; !given && i < MT_COUNT(NAMES); i++) {
        given = mt_cli_environment(NAMES[i]);
    }
    return given ? given : "";
}

/* SOURCE_DATE_EPOCH, where it is set, is the time of what is built: reproducible. */
static void time_text(char *out, size_t size)
{
    const char *fixed = mt_cli_environment("SOURCE_DATE_EPOCH");
    time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm parts;
    if (!gmtime_r(&now, &parts) || !strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts)) {
        out[0] = 0;
    }
}

static bool append(const char *file, const struct mt_buf *line)
{
    FILE *f = fopen(file, "a");
    if (!f) {
        return false;
    }
    bool ok = fwrite(line->p, 1, line->n, f) == line->n;
    return fclose(f) == 0 && ok;
}

int mt_check_history_add(struct mt_cli *cli, const char *file, const char *commit,
                         const char *snapshot, const struct mt_budget_facts *facts)
{
    char when[32];
    struct mt_buf line = {0};
    struct mt_error err;
    time_text(when, sizeof when);
    struct mt_history_entry e = {.commit = mt_str_from(commit_of(commit)),
                                 .time = mt_str_from(when),
                                 .file = mt_str_from(snapshot),
                                 .peak = facts->peak,
                                 .reserved = facts->reserved,
                                 .device_calls = facts->device_calls,
                                 .frag = facts->frag,
                                 .knows_growth = facts->leak != MT_LEAK_UNKNOWN,
                                 .bytes_per_step = facts->bytes_per_step};
    mt_history_line(&line, &e);
    enum mt_status status = MT_OK;
    if (line.failed) {
        status = mt_fail_nomem(&err);
    } else if (!append(file, &line)) {
        status = mt_fail(&err, MT_OUTPUT, MT_NO_OFFSET, "cannot write: %s", strerror(errno));
    }
    mt_buf_release(&line);
    return status == MT_OK ? 0 : mt_cli_fail(cli, file, &err);
}
