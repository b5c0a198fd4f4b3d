/* SPDX-License-Identifier: MIT */
/* Private to capture: how the child is prepared and run. */
#ifndef MEMTOOL_CLI_CAPTURE_H
#define MEMTOOL_CLI_CAPTURE_H

#include "command.h"

/* The Python files that the child imports, embedded at build time (scripts/embed.c). */
extern const unsigned char mt_embedded_sitecustomize[], mt_embedded_memtool_torch[];
extern const size_t mt_embedded_sitecustomize_n, mt_embedded_memtool_torch_n;

enum mt_capture_mode {
    MT_CAPTURE_TORCH,
    MT_CAPTURE_RECORD,
    MT_CAPTURE_CACHE,
    MT_CAPTURE_ALLOCATOR
};

struct mt_capture_plan {
    enum mt_capture_mode mode;
    const char *output;  /* of snapshots; %p: process id, %r: rank, %%: a % */
    int64_t max_entries; /* events kept a device */
    const char *stacks;  /* "python" or "all" */
    bool force;
};

/* A private folder with what the child needs; removed by mt_capture_folder_remove. */
struct mt_capture_folder {
    char *path;    /* of the folder */
    char *list;    /* the file in which children name the snapshots that they wrote */
    char *library; /* libmemtool_alloc.so, or NULL when the mode does not need it */
};

/* Makes the folder and its files, and sets the environment that the child will inherit. Errors:
 * MT_OUTPUT (the folder), MT_NOT_FOUND (the library), MT_NOMEM. Remove it also after a failure. */
enum mt_status mt_capture_prepare(const struct mt_capture_plan *plan,
                                  struct mt_capture_folder *folder, struct mt_error *err)
    MT_NODISCARD;
void mt_capture_folder_remove(struct mt_capture_folder *folder);

/* How the child ended. */
struct mt_capture_end {
    int exit_code; /* when it exited */
    int signal;    /* when a signal killed it, else 0 */
};

/* Runs argv with the caller's streams and terminal; signals that would end memtool go to the child
 * instead. Errors: MT_NOT_FOUND (no such program), MT_IO (it cannot be started). */
enum mt_status mt_capture_run(char **argv, struct mt_capture_end *end, struct mt_error *err)
    MT_NODISCARD;

#endif
