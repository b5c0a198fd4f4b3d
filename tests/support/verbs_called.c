/* SPDX-License-Identifier: MIT */
/*
 * The verbs as a user calls them, in this process: each line is a command line of memtool over a
 * snapshot that may say anything. What they print goes nowhere, files into a folder that is removed
 * at the end. A verb may refuse, but not fail within itself.
 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/compiler.h"

#include "cli/frame.h"
#include "verbs.h"

/* @ is the snapshot, ^ the beginning of a name to write to. */
static const char *const LINES[] = {
    "info -v @",
    "info --json @",
    "triage -v @",
    "triage --json @",
    "stats -v @",
    "stats --json @",
    "stats --csv --device 0 @",
    "peak -n 0 --stack full @",
    "peak --json --at oom @",
    "peak --by category --at start @",
    "peak --by annotation --exact @",
    "peak --csv --by pool --size 1KiB: @",
    "peak -f -o ^.svg @",
    "leaks --temporary --pending --stack full @",
    "leaks --json --period 3 --capacity 1GiB @",
    "leaks --period all_reduce @",
    "frag --at end @",
    "frag --json --at peak @",
    "frag --at 3 --stack full @",
    "summary @",
    "summary --json @",
    "simulate @",
    "simulate --json --capacity 1GiB --limit 64MiB @",
    "simulate --conf expandable_segments:True --torch 2.3 -f -o ^.pickle @",
    "simulate --conf max_split_size_mb:21,garbage_collection_threshold:0.5 --limit 64MiB @",
    "simulate --conf roundup_power2_divisions:[1:2,>:8] --csv -v @",
    "conf @",
    "trace -n 0 -v --stack full @",
    "trace --json --time 0s:1s @",
    "trace --csv --live @",
    "trace --annotation all_reduce --frame f @",
    "segments -v -n 0 --sort free @",
    "segments --json -r --sort count @",
    "segments -f -o ^.svg @",
    "memory --stack full --sort largest @",
    "memory --json -r @",
    "memory --format folded @",
    "memory -f -o ^.svg @",
    "compare @ @",
    "compare --json --segments @ @",
    "compare -f -o ^.svg @ @",
    "trace_plot --ascii --theme dark @",
    "trace_plot --json --x time -n 3 @",
    "trace_plot --per-alloc --capacity 1MiB -f -o ^.svg @",
    "trace_plot -s --x time -f -o ^.svg @",
    "trace_plot --freed --events 2:9 -f -o ^.svg @",
    "trace_plot -f -o ^.html @",
    "trace_plot -f -o ^.svg @ @",
    "segment_plot --at peak --ascii @",
    "segment_plot --json --at start @",
    "segment_plot -f -o ^.svg @",
    "segment_plot -f -o ^.html @",
    "ranks @ =",
    "ranks --json --capacity 1GiB --threshold 0 @ =",
    "ranks --csv @ =",
    "ranks -f -o ^.svg @ =",
    "check --max-peak 1MiB --max-frag 5% --max-reserved 1MiB --no-leaks --no-oom --strict @",
    "check --json --base @ --max-growth 5% -f --junit ^.xml @",
    "estimate --params 7M --against @",
    "convert --events 1:9 --device 0 -f -o ^.pickle @",
    "convert --time 0s:1s --anonymize --salt a -f -o ^.json @",
    "convert --drop-frames --protocol 2 -f -o ^.pickle.gz @",
    "convert --at peak -f -o ^.pb.gz @",
    "convert --frame f -f -o ^.folded @",
    "convert -f -o ^.speedscope.json @",
    "convert -f -o ^.perfetto.json @",
    "convert -f -o ^.csv @",
    "fit --sizes 1,2 --predict 4 --limit 64MiB @ =",
    "fit --sizes 2,3 --torch 2.3 --conf expandable_segments:True --json @ =",
    "steps -v --phases @",
    "steps --json --period 3 @",
    "steps --csv --period all_reduce @",
    "leaks --series @ =",
};

/* Of a file that may be anything: figures that a program printed, files of profilers, results and
 * histories, configurations, rules, logs. */
static const char *const FILE_LINES[] = {
    "info -v @",
    "info --json @",
    "triage -v @",
    "triage --json @ =",
    "triage --nvidia-smi @ @",
    "stats -v @",
    "stats --json @",
    "stats --nvidia-smi @ @",
    "summary @",
    "peak --json @",
    "peak --csv --rules @ @",
    "leaks --series @ =",
    "leaks --json @",
    "trace -n 0 @",
    "trace_plot -f -o ^.svg @",
    "steps @",
    "ranks @ =",
    "ranks --json @ =",
    "compare @ =",
    "check --history @ @",
    "check --base @ --max-growth 5% @",
    "history -n 0 @",
    "history --json --against median --tolerance 0 @",
    "conf @",
    "conf --json --torch 1.13 @",
    "estimate --config @",
    "estimate --json --inference --batch 9 --seq 999 --config @",
    "estimate --params 7M --against @",
    "fit --sizes 1,2 @ =",
    "convert -f -o ^.json @",
    "convert --salvage -f -o ^.pickle @",
};

static char folder[] = "/tmp/memtool-verbs.XXXXXX"; /* removed at the end of the process */

enum { MOST_WORDS = 24, WORD = 96 };

/* ---- the folder ---- */

static void remove_folder(void)
{
    static const char *const ENDS[] = {"in.pickle",           "out.svg",   "out.html",
                                       "out.pickle",          "out.json",  "out.xml",
                                       "out.pickle.gz",       "out.pb.gz", "out.folded",
                                       "out.speedscope.json", "out.csv",   "out.perfetto.json"};
    for (size_t i = 0; i < MT_COUNT(ENDS); i++) {
        char path[WORD];
        (void)snprintf(path, sizeof path, "%s/%s", folder, ENDS[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static bool have_folder(void)
{
    static bool made;
    if (!made && mkdtemp(folder)) {
        made = true;
        (void)atexit(remove_folder);
    }
    return made;
}

static bool put_snapshot(const void *bytes, size_t n)
{
    char path[WORD];
    (void)snprintf(path, sizeof path, "%s/in.pickle", folder);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(bytes, 1, n, f) == n;
    return f && fclose(f) == 0 && ok;
}

/* ---- a line ---- */

struct words {
    char text[MOST_WORDS][WORD];
    char *argv[MOST_WORDS + 1];
    int n;
};

static void split(struct words *w, const char *line)
{
    w->n = 0;
    while (*line && w->n < MOST_WORDS) {
        size_t n = strcspn(line, " ");
        char *to = w->text[w->n];
        if (*line == '@') {
            (void)snprintf(to, WORD, "%s/in.pickle", folder);
        } else if (*line == '=') { /* the same by another name */
            (void)snprintf(to, WORD, "%s/./in.pickle", folder);
        } else if (*line == '^') {
            (void)snprintf(to, WORD, "%s/out%.*s", folder, (int)n - 1, line + 1);
        } else {
            (void)snprintf(to, WORD, "%.*s", (int)n, line);
        }
        w->argv[w->n++] = to;
        line += n + (line[n] == ' ');
    }
    w->argv[w->n] = NULL;
}

/* The verb of a line reads a snapshot, and takes the options that limit its size. */
static bool is_limited(const char *line)
{
    size_t n = strcspn(line, " ");
    for (size_t i = 0; MT_COMMANDS[i]; i++) {
        if (strlen(MT_COMMANDS[i]->name) == n && memcmp(MT_COMMANDS[i]->name, line, n) == 0) {
            return !(MT_COMMANDS[i]->flags & MT_COMMAND_NO_SNAPSHOT);
        }
    }
    return false;
}

/* The calls are right: whatever stands in a file, it is no fault of the command line (2), and
 * nothing goes wrong within memtool (above 6). */
static void call(const char *line)
{
    struct words w;
    char with_name[2 * WORD];
    struct mt_cli cli = {.out = fopen("/dev/null", "w"), .err = fopen("/dev/null", "w")};
    const char *limit = is_limited(line) ? "--max-events 4096 " : "";
    (void)snprintf(with_name, sizeof with_name, "memtool %s%s", limit, line);
    split(&w, with_name);
    if (cli.out && cli.err) {
        int code = mt_cli_dispatch(&cli, w.n, w.argv);
        if (code == 2 || code > 6) {
            fprintf(stderr, "%s: exit code %d\n", line, code);
            abort();
        }
    }
    if (cli.out) {
        fclose(cli.out);
    }
    if (cli.err) {
        fclose(cli.err);
    }
}

static void call_part(const char *const *lines, size_t n_lines, const void *bytes, size_t n,
                      unsigned choice)
{
    if (!have_folder() || !put_snapshot(bytes, n)) {
        return;
    }
    for (size_t i = choice % VERBS_PARTS; i < n_lines; i += VERBS_PARTS) {
        call(lines[i]);
    }
}

void verbs_call(const void *bytes, size_t n, unsigned choice)
{
    call_part(LINES, MT_COUNT(LINES), bytes, n, choice);
}

void verbs_call_file(const void *bytes, size_t n, unsigned choice)
{
    call_part(FILE_LINES, MT_COUNT(FILE_LINES), bytes, n, choice);
}
