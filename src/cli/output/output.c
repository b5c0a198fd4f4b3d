/* SPDX-License-Identifier: MIT */
/*
 * Output files: they get their name when they are whole, so that nobody ever sees half a file, and
 * never that of an existing one without --force. (How: unfinished.c.)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame.h"
#include "cli/output/unfinished.h"
#include "support/mem.h"

static enum mt_status refuse(struct mt_error *err, const char *path)
{
    mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "the file exists: %.150s", path);
    return mt_hint(err, "--force (-f) overwrites it");
}

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Things that are written as they are: /dev/null, a pipe, /dev/stdout. */
static bool is_special(const char *path, bool *exists)
{
    struct stat st;
    *exists = stat(path, &st) == 0;
    return *exists && !S_ISREG(st.st_mode);
}

/* The status of the folder that a path lies in, and its name there. */
static bool stat_folder(const char *path, struct stat *st, const char **name)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    size_t n = (size_t)(*name - path);
    if (n >= sizeof folder) {
        return false;
    }
    memcpy(folder, n ? path : ".", n ? n : 1);
    folder[n ? n : 1] = '\0';
    return stat(folder, st) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

bool mt_cli_is_one_file(const char *a, const char *b)
{
    struct stat sa, sb;
    const char *name_a, *name_b;
    if (is_stdout(a) || is_stdout(b)) {
        return false;
    }
    bool has_a = stat(a, &sa) == 0, has_b = stat(b, &sb) == 0;
    if (has_a || has_b) {
        return has_a && has_b && S_ISREG(sa.st_mode) && is_same(&sa, &sb);
    }
    return stat_folder(a, &sa, &name_a) && stat_folder(b, &sb, &name_b) && is_same(&sa, &sb) &&
           strcmp(name_a, name_b) == 0;
}

static enum mt_status cannot_write(struct mt_error *err, const char *path)
{
    enum mt_status status = errno == ENOMEM ? MT_NOMEM : MT_OUTPUT;
    return mt_fail(err, status, MT_NO_OFFSET, "cannot write %.150s: %s", path, strerror(errno));
}

static enum mt_status open_unfinished(struct mt_cli_output *o, struct mt_error *err)
{
    int fd = mt_unfinished_open(o);
    o->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (o->stream) {
        return MT_OK;
    }
    enum mt_status status = cannot_write(err, o->path);
    if (fd >= 0) {
        close(fd);
    }
    mt_unfinished_drop(o);
    return status;
}

enum mt_status mt_cli_output_open(struct mt_cli *cli, const struct mt_common *common,
                                  const char *path, struct mt_cli_output *o, struct mt_error *err)
{
    bool exists;
    *o = (struct mt_cli_output){.path = path, .nameless = -1, .force = common->force};
    if (is_stdout(path)) {
        o->stream = cli->out;
        o->path = NULL;
        return MT_OK;
    }
    o->special = is_special(path, &exists);
    if (o->special) {
        o->stream = fopen(path, "w");
        return o->stream ? MT_OK : cannot_write(err, path);
    }
    if (exists && !common->force) {
        return refuse(err, path);
    }
    return open_unfinished(o, err);
}

/* Gives the whole file its name. */
static enum mt_status finish(struct mt_cli_output *o, struct mt_error *err)
{
    if (o->special || mt_unfinished_name(o)) {
        return MT_OK;
    }
    return errno == EEXIST && !o->force ? refuse(err, o->path) : cannot_write(err, o->path);
}

enum mt_status mt_cli_output_commit(struct mt_cli_output *o, struct mt_error *err)
{
    if (!o->path) {
        return MT_OK; /* standard output is checked when the program ends */
    }
    bool failed = ferror(o->stream) != 0;
    errno = EIO;
    failed |= fclose(o->stream) != 0;
    o->stream = NULL;
    enum mt_status status = failed ? cannot_write(err, o->path) : finish(o, err);
    mt_unfinished_drop(o);
    return status;
}

void mt_cli_output_abandon(struct mt_cli_output *o)
{
    if (o->path && o->stream) {
        fclose(o->stream);
    }
    if (o->path) {
        mt_unfinished_drop(o);
    }
    *o = (struct mt_cli_output){.nameless = -1};
}
