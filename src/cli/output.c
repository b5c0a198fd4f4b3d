/* SPDX-License-Identifier: MIT */
/*
 * Output files: written under a temporary name beside the target and renamed when whole, so that
 * nobody ever sees half a file, and never over an existing one without --force. Without --force the
 * name is taken by link, which fails when it exists meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memtool/mem.h>

#include "frame.h"

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

static char *temporary_name(const char *path)
{
    struct mt_buf b = {0};
    struct mt_str base = mt_str_basename(mt_str_from(path));
    mt_buf_add(&b, path, (size_t)(base.p - path));
    mt_buf_printf(&b, ".%.*s.XXXXXX", (int)base.n, base.p);
    if (b.failed) {
        mt_cli_die_nomem();
    }
    return b.p;
}

/* The mode that open(2) would give a new file; umask can only be read by setting it. */
static mode_t new_file_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static enum mt_status cannot_write(struct mt_error *err, const char *path)
{
    enum mt_status status = errno == ENOMEM ? MT_NOMEM : MT_OUTPUT;
    return mt_fail(err, status, MT_NO_OFFSET, "cannot write %.150s: %s", path, strerror(errno));
}

static enum mt_status open_temporary(struct mt_cli_output *o, struct mt_error *err)
{
    o->temporary = temporary_name(o->path);
    int fd = mkstemp(o->temporary);
    if (fd >= 0) {
        fchmod(fd, new_file_mode());
        o->stream = fdopen(fd, "w");
    }
    if (o->stream) {
        return MT_OK;
    }
    enum mt_status status = cannot_write(err, o->path);
    if (fd >= 0) {
        close(fd);
        unlink(o->temporary);
    }
    mt_mem_free(o->temporary);
    o->temporary = NULL;
    return status;
}

enum mt_status mt_cli_output_open(struct mt_cli *cli, const struct mt_common *common,
                                  const char *path, struct mt_cli_output *o, struct mt_error *err)
{
    bool exists;
    *o = (struct mt_cli_output){.path = path, .force = common->force};
    if (is_stdout(path)) {
        o->stream = cli->out;
        o->path = NULL;
        return MT_OK;
    }
    if (is_special(path, &exists)) {
        o->stream = fopen(path, "w");
        return o->stream ? MT_OK : cannot_write(err, path);
    }
    if (exists && !common->force) {
        return refuse(err, path);
    }
    return open_temporary(o, err);
}

/* Gives the whole file its name. */
static enum mt_status take_name(struct mt_cli_output *o, struct mt_error *err)
{
    if (!o->force && link(o->temporary, o->path) == 0) {
        unlink(o->temporary);
        return MT_OK;
    }
    if (!o->force && errno == EEXIST) {
        refuse(err, o->path);
        unlink(o->temporary);
        return MT_OUTPUT;
    }
    if (rename(o->temporary, o->path) != 0) { /* also where links are not supported */
        cannot_write(err, o->path);
        unlink(o->temporary);
        return MT_OUTPUT;
    }
    return MT_OK;
}

enum mt_status mt_cli_output_commit(struct mt_cli_output *o, struct mt_error *err)
{
    if (!o->path) {
        return MT_OK; /* standard output is checked when the program ends */
    }
    enum mt_status status = MT_OK;
    bool failed = ferror(o->stream) != 0;
    errno = EIO;
    failed |= fclose(o->stream) != 0;
    o->stream = NULL;
    if (failed) {
        status = cannot_write(err, o->path);
        if (o->temporary) {
            unlink(o->temporary);
        }
    } else if (o->temporary) {
        status = take_name(o, err);
    }
    mt_mem_free(o->temporary);
    o->temporary = NULL;
    return status;
}

void mt_cli_output_abandon(struct mt_cli_output *o)
{
    if (o->path && o->stream) {
        fclose(o->stream);
    }
    if (o->temporary) {
        unlink(o->temporary);
        mt_mem_free(o->temporary);
    }
    *o = (struct mt_cli_output){0};
}
