/* SPDX-License-Identifier: MIT */
/*
 * The name of capture's snapshots: what is wrong with it is said before the program runs, not when
 * hours of work are over.
 */
#define _XOPEN_SOURCE 700 /* realpath, which fortified builds declare anyhow */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/frame.h"
#include "verbs/capture/capture.h"

enum { LONGEST = 1000 }; /* bytes of a name; the library has room for 1023 */

/* ---- which name ---- */

/* torchrun and its kin start a process a rank: each needs a name of its own. */
static bool starts_ranks(char **argv)
{
    static const char *const launchers[] = {"torchrun", "deepspeed", "accelerate",
                                            "torch.distributed.run"};
    for (size_t i = 0; argv[i]; i++) {
        struct mt_str word = mt_str_basename(mt_str_from(argv[i]));
        for (size_t j = 0; j < MT_COUNT(launchers); j++) {
            if (mt_str_equal(word, mt_str_from(launchers[j]))) {
                return true;
            }
        }
    }
    const char *world = getenv("WORLD_SIZE");
    return world && strcmp(world, "1") != 0;
}

char *mt_capture_absolute(const char *path)
{
    struct mt_buf b = {0};
    char *found = realpath(path, NULL);
    if (!found) {
        return NULL;
    }
    mt_buf_text(&b, found);
    free(found); /* realpath's own malloc */
    if (b.failed) {
        mt_cli_die_nomem();
    }
    return b.p;
}

char *mt_capture_output(const char *given, char **argv)
{
    const char *name = given                ? given
                       : starts_ranks(argv) ? "memtool-rank%r.pickle"
                                            : "memtool-%p.pickle";
    struct mt_buf path = {0};
    char *here = name[0] == '/' ? NULL : mt_capture_absolute(".");
    for (const char *p = here ? here : ""; *p; p++) {
        mt_buf_printf(&path, *p == '%' ? "%%%%" : "%c", *p);
    }
    mt_buf_printf(&path, "%s%s", here ? "/" : "", name);
    mt_mem_free(here);
    if (path.failed) {
        mt_cli_die_nomem();
    }
    return path.p;
}

/* ---- as it is written ---- */

static enum mt_status check_marks(const char *name, struct mt_error *err)
{
    for (const char *p = strchr(name, '%'); p; p = strchr(p + 2, '%')) {
        if (!p[1] || !strchr("pr%", p[1])) {
            mt_fail(err, MT_USAGE, MT_NO_OFFSET, "--output: '%.2s' in a name means nothing", p);
            return mt_hint(err, "%%p is the process id, %%r the rank, %%%% a %%");
        }
    }
    return MT_OK;
}

/* Snapshots are pickles: a name that promises another form would be a lie. */
static enum mt_status check_form(const char *name, struct mt_error *err)
{
    static const char *const others[] = {".json", ".ndjson", ".csv",    ".tsv", ".html",
                                         ".svg",  ".png",    ".folded", ".gz",  ".txt"};
    struct mt_str s = mt_str_from(name);
    for (size_t i = 0; i < MT_COUNT(others); i++) {
        if (!mt_str_ends(s, mt_str_from(others[i]))) {
            continue;
        }
        struct mt_str base = {s.p, s.n - strlen(others[i])};
        const char *suffix = mt_str_ends(base, MT_STR(".pickle")) ? "" : ".pickle";
        mt_fail(err, MT_USAGE, MT_NO_OFFSET, "--output: capture writes a pickle, not %s",
                others[i]);
        return mt_hint(err, "-o %.*s%s; then memtool convert %.*s%s -o %s", (int)base.n, name,
                       suffix, (int)base.n, name, suffix, name);
    }
    return MT_OK;
}

static enum mt_status check_words(const char *name, struct mt_error *err)
{
    if (strcmp(name, "-") == 0) {
        mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                "--output: a snapshot cannot go to standard output, which is the program's");
        return mt_hint(err, "-o run.pickle, or no -o at all: memtool-%%p.pickle");
    }
    if (!*name || strlen(name) > LONGEST) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "--output: a name has 1 to %d bytes", LONGEST);
    }
    MT_TRY(check_marks(name, err));
    return check_form(name, err);
}

/* ---- on the disk ---- */

/* The name up to its first %p or %r, with %% as %; *rest is what follows. */
static char *literal_part(const char *name, const char **rest)
{
    struct mt_buf b = {0};
    const char *p = name;
    mt_buf_char(&b, '\0'); /* so that there is a text even of nothing */
    b.n = 0;
    for (; *p && !(*p == '%' && p[1] != '%'); p++) {
        p += *p == '%';
        mt_buf_char(&b, *p);
    }
    *rest = p;
    if (b.failed) {
        mt_cli_die_nomem();
    }
    return b.p;
}

/* Of a name as used, as far as it is known before the program runs; "." where no folder is. */
static char *folder_of(const char *output)
{
    const char *rest;
    char *folder = literal_part(output, &rest);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0';
        return folder;
    }
    mt_mem_free(folder);
    return literal_part(".", &rest);
}

/* A folder whose own name has a mark is known only to the program. */
static enum mt_status check_folder(char *literal, bool last, struct mt_error *err)
{
    struct stat st;
    char *slash = strrchr(literal, '/');
    const char *folder = !slash ? "." : slash == literal ? "/" : literal;
    if (slash) {
        *slash = '\0';
    }
    if (stat(folder, &st) != 0) {
        mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no snapshot can be written into %.150s: %s", folder,
                strerror(errno));
        return errno == ENOENT ? mt_hint(err, "mkdir -p %.200s", folder) : err->code;
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
    } else if (access(folder, last ? W_OK | X_OK : X_OK) == 0) {
        return MT_OK;
    }
    return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no snapshot can be written into %.150s: %s",
                   folder, strerror(errno));
}

/* The longest name that the program may make of it, of which the folder's part is not its own: a
 * process id as the kernel may give it, a rank, and in front of the suffix why and two numbers. */
static enum mt_status check_length(const char *output, struct mt_error *err)
{
    enum { PID = 7, RANK = 9, WHY = 24, ALL = 1024 };
    size_t all = WHY, last = WHY, commas = 0;
    for (const char *p = output; *p; p++, all++, last++) {
        if (*p == '%') {
            p++;
            size_t more = *p == 'p' ? PID - 1 : *p == 'r' ? RANK - 1 : 0;
            all += more;
            last += more;
        }
        commas += *p == ',' || *p == '%';
        last = *p == '/' ? WHY - 1 : last;
    }
    char *folder = folder_of(output);
    long most = pathconf(folder, _PC_NAME_MAX);
    mt_mem_free(folder);
    if (most > 0 && last > (size_t)most) {
        mt_fail(err, MT_OUTPUT, MT_NO_OFFSET,
                "--output: the name is too long: it may become %zu bytes, %ld are allowed here: "
                "%.100s...",
                last, most, mt_str_basename(mt_str_from(output)).p);
        return mt_hint(err, "the number of the process, the rank and what tells several snapshots "
                            "apart need room too");
    }
    if (all + commas >= ALL) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET,
                       "--output: the path is too long: with its folder it may become %zu bytes, "
                       "%d are allowed",
                       all + commas, ALL - 1);
    }
    return MT_OK;
}

/* A name without marks must not exist yet, as everywhere; a folder or device gives way to nobody.
 */
static enum mt_status check_file(const char *name, bool force, struct mt_error *err)
{
    struct stat st;
    if (stat(name, &st) != 0) {
        return MT_OK;
    }
    if (!S_ISREG(st.st_mode)) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "%.150s is %s", name,
                       S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    }
    if (!force) {
        mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "the file exists: %.150s", name);
        return mt_hint(err, "--force (-f) overwrites it");
    }
    return MT_OK;
}

enum mt_status mt_capture_output_check(const char *given, const char *output, bool force,
                                       struct mt_error *err)
{
    const char *rest;
    if (given) {
        MT_TRY(check_words(given, err));
    }
    if (output[0] != '/') {
        mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "the folder that you are in has no path any more");
        return mt_hint(err, "give -o a name that begins with /");
    }
    char *literal = literal_part(given ? given : output, &rest);
    enum mt_status status = *rest ? MT_OK : check_file(literal, force, err);
    if (status == MT_OK) {
        status = check_folder(literal, !strchr(rest, '/'), err);
    }
    mt_mem_free(literal);
    return status == MT_OK ? check_length(output, err) : status;
}

/* ---- what is there already ---- */

/* The time that a new file in that folder has, or what file systems of this machine would give. */
static int64_t stamp(const char *folder)
{
    struct mt_buf name = {0};
    struct timespec now;
    struct stat st;
    mt_buf_printf(&name, "%s/.memtool-XXXXXX", folder);
    if (name.failed) {
        mt_cli_die_nomem();
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int fd = mkstemp(name.p);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        now = st.st_ctim;
    }
    if (fd >= 0) {
        unlink(name.p);
        close(fd);
    }
    mt_buf_release(&name);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t mt_capture_since(const char *output)
{
    enum { TRIES = 3000 }; /* a millisecond each: the coarsest clocks of file systems tick in 2 s */
    char *folder = folder_of(output);
    int64_t first = stamp(folder);
    int64_t now = first;
    for (int i = 0; i < TRIES && now <= first; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        now = stamp(folder);
    }
    mt_mem_free(folder);
    return now;
}

/* ---- what is there afterwards ---- */

/* What the names of one job have in common: a path before the first mark, and what follows the last
 * dot. A number stands behind the first one, where there is a mark. */
struct pattern {
    char *start;        /* of the last part of the path */
    bool marked;        /* %p or %r follows */
    const char *suffix; /* with its dot; "" where there is none */
};

static bool is_of(const struct pattern *p, const char *name)
{
    struct mt_str s = mt_str_from(name);
    size_t n = strlen(p->start), end = strlen(p->suffix);
    if (s.n < n + end || !mt_str_starts(s, mt_str_from(p->start)) ||
        !mt_str_ends(s, mt_str_from(p->suffix)) || mt_str_ends(s, MT_STR(".partial"))) {
        return false;
    }
    char next = name[n];
    return p->marked ? next >= '0' && next <= '9' : s.n == n + end || next == '.';
}

/* The newest of the folder's files, at *at nanoseconds, with their number. */
static char *newest(const char *folder, const struct pattern *p, int64_t since_ns, size_t *n)
{
    int64_t latest = -1;
    struct mt_buf best = {0}, path = {0};
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;
        path.n = 0;
        mt_buf_printf(&path, "%s/%s", strcmp(folder, "/") ? folder : "", e->d_name);
        if (path.failed || !is_of(p, e->d_name) || stat(path.p, &st) != 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        int64_t at = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
        *n += at >= since_ns;
        if (at >= since_ns && at > latest) {
            latest = at;
            best.n = 0;
            mt_buf_text(&best, path.p);
        }
    }
    if (d) {
        closedir(d);
    }
    if (path.failed || best.failed) {
        mt_cli_die_nomem();
    }
    mt_buf_release(&path);
    return best.p;
}

char *mt_capture_output_found(const char *output, int64_t since_ns, size_t *n)
{
    const char *rest;
    char *literal = literal_part(output, &rest);
    char *slash = strrchr(literal, '/');
    char *found = NULL;
    *n = 0;
    if (slash && !strchr(rest, '/')) { /* a folder with marks has as many names as processes */
        struct pattern p = {.start = slash + 1, .marked = *rest != '\0', .suffix = ""};
        char *dot = strrchr(*rest ? rest : p.start, '.');
        struct mt_buf start = {0};
        p.suffix = dot ? dot : "";
        mt_buf_printf(&start, "%.*s", (int)(dot && !*rest ? dot - p.start : (long)strlen(p.start)),
                      p.start);
        if (start.failed) {
            mt_cli_die_nomem();
        }
        p.start = start.p;
        *slash = '\0';
        found = newest(slash == literal ? "/" : literal, &p, since_ns, n);
        mt_buf_release(&start);
    }
    mt_mem_free(literal);
    return found;
}
