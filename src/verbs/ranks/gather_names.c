/* SPDX-License-Identifier: MIT */
/* Which files were named: files, folders, patterns. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/frame.h"
#include "verbs/ranks/gather.h"

static bool add_file(struct mt_gathering *g, const char *folder, const char *name, bool found)
{
    struct mt_buf b = {0};
    mt_buf_text(&b, folder ? folder : "");
    mt_buf_text(&b, folder && folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "");
    mt_buf_text(&b, name);
    if (b.failed || !mt_vec_push(&g->files, ((struct mt_rank_file){b.p, found}))) {
        mt_buf_release(&b);
        return false;
    }
    return true;
}

static bool looks_readable(const char *name)
{
    static const char *const suffixes[] = {".pickle", ".pkl", ".pt", ".json", ".ndjson", ".jsonl"};
    struct mt_str s = mt_str_from(name);
    if (mt_str_ends(s, MT_STR(".gz"))) {
        s.n -= 3;
    }
    for (size_t i = 0; i < MT_COUNT(suffixes) && name[0] != '.'; i++) {
        if (mt_str_ends(s, mt_str_from(suffixes[i]))) {
            return true;
        }
    }
    return false;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct mt_rank_file *)a)->path, ((const struct mt_rank_file *)b)->path);
}

/* What was found under a name that nobody gave: only files are opened, since a pipe waits for ever
 * and a device never ends. */
static bool add_found(struct mt_gathering *g, const char *folder, const char *name)
{
    struct stat st;
    if (!add_file(g, folder, name, folder != NULL)) {
        return false;
    }
    char *path = g->files.v[g->files.n - 1].path;
    int failed = stat(path, &st) != 0 ? errno : 0;
    if (failed || !S_ISREG(st.st_mode)) {
        mt_cli_note(g->cli, g->common, "%s: passed over, %s", path,
                    failed ? strerror(failed) : "it is no regular file");
        mt_mem_free(path);
        g->files.n--;
    }
    return true;
}

static bool add_folder(struct mt_gathering *g, const char *path)
{
    DIR *d = opendir(path);
    if (!d) {
        return add_file(g, NULL, path, false); /* reading it says why it cannot be opened */
    }
    size_t from = g->files.n;
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        ok = !looks_readable(e->d_name) || add_found(g, path, e->d_name);
    }
    closedir(d);
    if (g->files.n > from) {
        qsort(g->files.v + from, g->files.n - from, sizeof *g->files.v, by_path);
    }
    return ok;
}

/* A pattern that the shell has not expanded (too many files for its command line, or quoted). */
static bool add_pattern(struct mt_gathering *g, const char *pattern)
{
    glob_t found;
    bool ok = true;
    if (!strpbrk(pattern, "*?[") || glob(pattern, 0, NULL, &found) != 0) {
        return add_file(g, NULL, pattern, false);
    }
    for (size_t i = 0; i < found.gl_pathc && ok; i++) {
        ok = add_found(g, NULL, found.gl_pathv[i]);
    }
    globfree(&found);
    return ok;
}

bool mt_gather_named(struct mt_gathering *g, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        return add_file(g, NULL, path, false);
    }
    if (stat(path, &st) != 0) {
        return add_pattern(g, path);
    }
    return S_ISDIR(st.st_mode) ? add_folder(g, path) : add_file(g, NULL, path, false);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A rank's figures are added up over what is given of it: one file twice would count twice. NULL:
 * no path is, or memory runs out (then g->no_memory). */
const char *mt_gather_twice(struct mt_gathering *g)
{
    const char **paths = mt_mem_alloc(g->files.n, sizeof *paths);
    const char *twice = NULL;
    g->no_memory |= paths == NULL;
    for (size_t i = 0; paths && i < g->files.n; i++) {
        paths[i] = g->files.v[i].path;
    }
    if (paths) {
        qsort(paths, g->files.n, sizeof *paths, compare_paths);
    }
    for (size_t i = 1; paths && !twice && i < g->files.n; i++) {
        twice = strcmp(paths[i - 1], paths[i]) == 0 ? paths[i] : NULL;
    }
    mt_mem_free(paths);
    return twice;
}

void mt_gather_release(struct mt_gathering *g)
{
    for (size_t i = 0; i < g->files.n; i++) {
        mt_mem_free(g->files.v[i].path);
    }
    mt_vec_release(&g->files);
    mt_ranks_release(&g->ranks);
}
