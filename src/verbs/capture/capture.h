/* SPDX-License-Identifier: MIT */
/* Private to capture: how the child is prepared and run. */
#ifndef MEMTOOL_VERBS_CAPTURE_CAPTURE_H
#define MEMTOOL_VERBS_CAPTURE_CAPTURE_H

#include <sys/types.h>

#include "cli/command.h"
#include "support/vec.h"

/* The Python files that the child imports and that a running process is given, embedded at build
 * time (scripts/embed.c). */
extern const unsigned char mt_embedded_sitecustomize[], mt_embedded_memtool_torch[],
    mt_embedded_attach[], mt_embedded_modules[];
extern const size_t mt_embedded_sitecustomize_n, mt_embedded_memtool_torch_n, mt_embedded_attach_n,
    mt_embedded_modules_n;

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
    int64_t begun_ns;    /* mt_capture_since */
    bool modules;        /* allocations get the names of modules, mode torch */
    int64_t since_ns;    /* files of that name from before may be replaced; 0: none */
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
/* Frees what is known of it and leaves it where it is. */
void mt_capture_folder_leave(struct mt_capture_folder *folder);

/* The path without links and relative parts, for programs change their folder; NULL: there is no
 * such file. The caller frees it with mt_mem_free. */
char *mt_capture_absolute(const char *path);

/* -o as it will be used, absolute (the program may change its folder); `given` may be NULL, argv
 * ends with NULL. The caller frees it with mt_mem_free. */
char *mt_capture_output(const char *given, char **argv);

/* Whether a snapshot of that name (as given, or NULL, and as used) can be written. Errors:
 * MT_USAGE, MT_OUTPUT. */
enum mt_status mt_capture_output_check(const char *given, const char *output, bool force,
                                       struct mt_error *err) MT_NODISCARD;

/* The time from which on files count as the job's own, by the clock of the file system of that name
 * (as used), in nanoseconds of the Unix epoch: later than that of all files that are there. Waits
 * for that clock's next tick, which is milliseconds as a rule. */
int64_t mt_capture_since(const char *output);

/* The newest file of that name (as used; numbers stand where its marks are) that is there and not
 * older than `since_ns` (mt_capture_since), else NULL; *n counts them. The caller frees it with
 * mt_mem_free. */
char *mt_capture_output_found(const char *output, int64_t since_ns, size_t *n);

/* How the child ended. */
struct mt_capture_end {
    int exit_code; /* when it exited */
    int signal;    /* when a signal killed it, else 0 */
};

/* Runs argv with the caller's streams and terminal; signals that would end memtool go to the child
 * instead. Errors: MT_NOT_FOUND (no such program), MT_IO (it cannot be started). */
enum mt_status mt_capture_run(char **argv, struct mt_capture_end *end, struct mt_error *err)
    MT_NODISCARD;

/* After that failed: a hint where the program is a file that only needs to be started otherwise. */
void mt_capture_hint_start(const char *program, struct mt_error *err);

/* How far the processes came: records of the list that name no snapshot, one word each. */
struct mt_capture_marks {
    bool python; /* Python imported memtool's sitecustomize */
    bool torch;  /* torch was imported */
    bool cuda;   /* CUDA was started, or called for the first time */
    bool unused; /* and at the end no memory had been asked for */
    bool nested; /* memtool capture was started again, and watches from there on */
    bool failed; /* a snapshot or the recording failed, as the child itself has said */
};

/* What the processes told; zeroed: nothing. */
struct mt_capture_told {
    struct mt_capture_marks marks;
    MT_VEC(pid_t) using;    /* processes that have CUDA and told of no end */
    MT_VEC(char *) records; /* one a snapshot: WORD, NUL, PATH */
    bool lost;              /* the list cannot be read */
};

/* Reads the list (live/dump/capture_list.h). */
void mt_capture_told_read(struct mt_capture_told *told, const char *list);
void mt_capture_told_release(struct mt_capture_told *told);

/* One of the processes that still use CUDA, 0: none of them is alive. */
pid_t mt_capture_still_running(const struct mt_capture_told *told);

/* Why there is no snapshot, as far as that is known, in b. */
void mt_capture_why_nothing(struct mt_buf *b, enum mt_capture_mode mode, const char *program,
                            const struct mt_capture_end *end, const struct mt_capture_marks *marks);

#endif
