/* SPDX-License-Identifier: MIT */
/*
 * What memtool and a script in a running process share: a private folder with the script, in which
 * it tells by files how far it is. When the folder goes, the script ends. Used by capture and top.
 */
#ifndef MEMTOOL_VERBS_CAPTURE_ATTACH_ATTACH_FOLDER_H
#define MEMTOOL_VERBS_CAPTURE_ATTACH_ATTACH_FOLDER_H

#include "verbs/capture/attach/attach.h"

struct mt_attach_folder {
    char path[96]; /* as memtool sees it; empty: none */
    size_t inside; /* where in it the path begins as the process sees it */
    int fd;        /* of the folder: the process's user may put another one in its place */
    uid_t uid;     /* whose files are believed */
};

/* Makes it where the process can read and write. Errors: MT_OUTPUT. Remove it also after a failure.
 */
enum mt_status mt_attach_folder_make(struct mt_attach_folder *f,
                                     const struct mt_attach_target *target, struct mt_error *err)
    MT_NODISCARD;
void mt_attach_folder_remove(struct mt_attach_folder *f);

/* Writes the script: `settings` are the items of a Python dictionary, which the script finds as
 * SETTINGS, with 'folder'. Errors: MT_OUTPUT, MT_NOMEM. */
enum mt_status mt_attach_folder_script(const struct mt_attach_folder *f,
                                       const struct mt_buf *settings, const unsigned char *script,
                                       size_t n, struct mt_error *err) MT_NODISCARD;

/* Has the process run it: mt_attach_run. */
enum mt_status mt_attach_folder_run(const struct mt_attach_folder *f,
                                    const struct mt_attach_target *target, enum mt_attach_way way,
                                    enum mt_attach_way *used, struct mt_error *err) MT_NODISCARD;

/* Whether a file is in it; a file of the process's own, opened, NULL with errno; its text, of at
 * most 64 KiB, in *out (empty: none). */
FILE *mt_attach_folder_open(const struct mt_attach_folder *f, const char *name);
bool mt_attach_folder_has(const struct mt_attach_folder *f, const char *name);
void mt_attach_folder_read(const struct mt_attach_folder *f, const char *name, struct mt_buf *out);

/* Why the script itself refused, by its word. */
enum mt_status mt_attach_folder_refused(const char *why, pid_t pid, struct mt_error *err);

/* Runs a program to its end, for some seconds at most; what it printed is in *said, a text. Its
 * exit code, -1: it could not be started or did not end. */
int mt_attach_helper(const char *const *argv, struct mt_buf *said);

#endif
