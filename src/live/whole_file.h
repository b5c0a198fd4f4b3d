/* SPDX-License-Identifier: MIT */
/*
 * A file that appears under its name only when it is whole, whenever the process is killed. Where
 * the file system allows it the file has no name at all until then, so that nothing is left behind;
 * elsewhere it is called NAME.PID.NUMBER.partial.
 */
#ifndef LIVE_WHOLE_FILE_H
#define LIVE_WHOLE_FILE_H

#include <stdbool.h>

enum { MT_WHOLE_PATH_MAX = 1100, MT_WHOLE_NO_FILE = -1 };

struct mt_whole_file {
    int fd;
    bool nameless;
    char partial[MT_WHOLE_PATH_MAX + 40];
};

/* Opens for writing; returns 0, an errno, or MT_WHOLE_NO_FILE where something else than a file or a
 * folder has the name. */
int mt_whole_file_open(struct mt_whole_file *f, const char *path);

/* Gives the file its name, replacing an older one; returns 0 or an errno, and then nothing is left.
 */
int mt_whole_file_commit(struct mt_whole_file *f, const char *path);

/* Throws it away. */
void mt_whole_file_abandon(struct mt_whole_file *f);

#endif
