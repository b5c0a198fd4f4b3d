/* SPDX-License-Identifier: MIT */
/* memtool FILE: what is meant without a verb. Only names of files that exist are taken for that, so
 * that a verb that is misspelt is told as such. */
#include "cli/frame.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/logged_input.h"
#include "cli/slurp.h"
#include "support/str.h"

/* By the first bytes: pickle (protocol 2 and above, or 0 and 1), zip, JSON, HTML, a log of RMM.
 * What is packed is told by its name. Of a pipe they are left for the verb, and it is none. */
static bool looks_like_snapshot(const char *path)
{
    static const char RMM[] = "Thread,Time,Action,Pointer,";
    unsigned char head[sizeof RMM - 1] = {0};
    FILE *f = mt_cli_reads_once(path) ? NULL : fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) {
        fclose(f);
    }
    if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        struct mt_str name = mt_str_from(path);
        return mt_str_find(name, MT_STR(".log")) == SIZE_MAX &&
               mt_str_find(name, MT_STR(".txt")) == SIZE_MAX;
    }
    return n && (head[0] == 0x80 || memchr("P{<(]}", head[0], 6) ||
                 (head[0] == '[' && memchr("{]", head[1], 2)) ||
                 (head[0] == '[' && head[1] == '[' && memchr("-0123456789[", head[2], 12)) ||
                 memcmp(head, RMM, sizeof head) == 0);
}

/* "rank3.pickle" */
static bool names_rank(const char *path)
{
    struct mt_str name = mt_str_basename(mt_str_from(path));
    size_t at = mt_str_find(name, MT_STR("rank")), digit = at + sizeof "rank" - 1;
    digit += at != SIZE_MAX && digit < name.n && strchr("_-.", name.p[digit]);
    return at != SIZE_MAX && digit < name.n && name.p[digit] >= '0' && name.p[digit] <= '9';
}

struct named {
    size_t files, folders, snapshots;
    size_t ranks;   /* of the snapshots, by their names */
    size_t figures; /* of the snapshots: memory_stats() as JSON */
    bool report;    /* --json and the like: one report, not two */
};

static void look_at(struct named *x, const char *arg)
{
    static const char *const REPORT[] = {"--json", "--csv", "--tsv", "--output", "-o"};
    struct stat st;
    for (size_t i = 0; i < MT_COUNT(REPORT); i++) {
        x->report |= strncmp(arg, REPORT[i], strlen(REPORT[i])) == 0;
    }
    if (arg[0] == '-' || stat(arg, &st) != 0) {
        return;
    }
    bool folder = S_ISDIR(st.st_mode);
    x->files++;
    x->folders += folder;
    bool snapshot = !folder && looks_like_snapshot(arg);
    x->snapshots += snapshot;
    x->ranks += snapshot && names_rank(arg);
    x->figures += snapshot && mt_cli_is_logged(arg);
}

size_t mt_cli_obvious_verbs(char *const *args, size_t n, const char *verbs[2])
{
    struct named x = {0};
    struct stat st;
    if (!n || stat(args[0], &st) != 0) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        look_at(&x, args[i]);
    }
    bool one = x.files == 1 && x.snapshots == 1;
    const char *more = x.figures ? "stats" : "peak";
    bool job = x.ranks > 2 && x.ranks == x.files;
    verbs[0] = x.folders || job        ? "ranks"
               : x.snapshots < x.files ? "triage"
               : x.files > 1           ? (x.figures ? "leaks" : "compare")
               : one && x.report       ? more
                                       : "info";
    verbs[1] = more;
    return strcmp(verbs[0], "info") == 0 ? 2 : 1;
}
