/* SPDX-License-Identifier: MIT */
/*
 * A file that appears under its name only when it is whole, whenever the process is killed. Where
 * the file system allows it the file has no name at all until then, so that nothing is left behind;
 * elsewhere it is called NAME.PID.NUMBER.partial.
 */
#ifndef MEMTOOL_LIVE_DUMP_WHOLE_FILE_H
#define MEMTOOL_LIVE_DUMP_WHOLE_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { MT_WHOLE_PATH_MAX = 1100, MT_WHOLE_NO_FILE = -1 };

struct mt_whole_file {
    int fd;
    bool nameless;
    char partial[MT_WHOLE_PATH_MAX + 40];
};

/* Opens for writing; returns 0, an errno, or, where no `other_name` will do, EISDIR for a folder of
 * that name and MT_WHOLE_NO_FILE for something else that is no file. */
int mt_whole_file_open(struct mt_whole_file *f, const char *path, bool other_name);

/* The file is whole: closes it. Returns 0 or an errno, and then nothing is left. It is called
 * f->partial until one of these has given it a name or it is dropped: */
int mt_whole_file_close(struct mt_whole_file *f);

/* A name that nobody has; 0, EEXIST, or another errno. Another may be tried then. */
int mt_whole_file_take(const struct mt_whole_file *f, const char *path);

/* Whoever has it: an older file, which is replaced; its mode stays if it is the user's own. A link
 * is replaced itself, not what it points to. */
int mt_whole_file_replace(const struct mt_whole_file *f, const char *path);

/* The same, but only over a file that got its name before `since_ns` (of the Unix epoch, by the
 * file system's clock), else EEXIST. Of several processes that do so at once, one replaces it. */
int mt_whole_file_replace_older(const struct mt_whole_file *f, const char *path, int64_t since_ns);

void mt_whole_file_drop(const struct mt_whole_file *f);

/* Closes and replaces; returns 0 or an errno, and then nothing is left. */
int mt_whole_file_commit(struct mt_whole_file *f, const char *path);

/* Throws it away, before it is closed. */
void mt_whole_file_abandon(struct mt_whole_file *f);

#endif
