/* SPDX-License-Identifier: MIT */
/*
 * Private to capture: a running Python process is made to run a script of memtool's, and goes on.
 * Only Linux has what this needs; elsewhere each of these functions fails with MT_UNSUPPORTED.
 */
#ifndef MEMTOOL_VERBS_CAPTURE_ATTACH_ATTACH_H
#define MEMTOOL_VERBS_CAPTURE_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/error.h"
#include "support/str.h"

/* How the process is reached. */
enum mt_attach_way {
    MT_ATTACH_ANY,
    MT_ATTACH_REMOTE, /* sys.remote_exec of the process's own Python, 3.14 and later */
    MT_ATTACH_PTRACE, /* by memtool itself, x86-64 */
    MT_ATTACH_GDB,
    MT_ATTACH_LLDB,
    MT_ATTACH_DOOR /* SIGUSR2, which a process under capture answers */
};

/* What is known of the process before it is touched. */
struct mt_attach_target {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    char state;         /* of /proc/PID/stat: 'R', 'S', 'T', 'Z' ... */
    pid_t tracer;       /* that debugs it already, 0: none */
    uint64_t caught;    /* signals that it catches */
    int python;         /* 312 is 3.12; 0: not known */
    uint64_t run, call; /* addresses of PyRun_SimpleString and Py_AddPendingCall; 0: not found */
    uint64_t vdso, vdso_end;
    bool torch;      /* a library of PyTorch's is mapped */
    bool own_mounts; /* it sees other files than memtool: a container */
    char exe[512];   /* its program, as it names it */
};

/* Looks at it. Errors: MT_NOT_FOUND (no such process), MT_IO (not allowed), MT_NOMEM; a hint names
 * the command that helps. */
enum mt_status mt_attach_look(pid_t pid, struct mt_attach_target *target, struct mt_error *err)
    MT_NODISCARD;

/* A variable of the environment that it was started with, for mt_mem_free; NULL: not there. */
char *mt_attach_environment(const struct mt_attach_target *target, const char *name);

/* The address of a symbol that an ELF file of 64 bits exports, as it stands there; 0: none.
 * *first: the address of its first byte, by which a mapping is to be moved. */
uint64_t mt_attach_symbol(const char *path, const char *name, uint64_t *first);

/*
 * Has the main thread of its Python run `script`, a path as the process sees it, when it next comes
 * to a safe point. Returns once that is asked for; the script itself tells that it began. `way` is
 * the one asked for, *used the one taken. Errors: MT_UNSUPPORTED, MT_IO, MT_NOT_FOUND (no
 * debugger), MT_NOMEM, all with a hint; the process is then as it was.
 */
enum mt_status mt_attach_run(const struct mt_attach_target *target, const char *script,
                             enum mt_attach_way way, enum mt_attach_way *used, struct mt_error *err)
    MT_NODISCARD;

/* The ways one by one. */
enum mt_status mt_attach_by_remote(const struct mt_attach_target *target, const char *script,
                                   struct mt_error *err) MT_NODISCARD;
enum mt_status mt_attach_by_ptrace(const struct mt_attach_target *target, const char *script,
                                   struct mt_error *err) MT_NODISCARD;
enum mt_status mt_attach_by_debugger(const struct mt_attach_target *target, const char *script,
                                     bool lldb, struct mt_error *err) MT_NODISCARD;

/* Says why ptrace was refused, by what the system says, with the command that allows it. */
enum mt_status mt_attach_refused(const struct mt_attach_target *target, int error,
                                 struct mt_error *err);

/* The text that Python is to run: the script with the page in which this text lies, which it gives
 * back; `page` 0: none. */
void mt_attach_text(struct mt_buf *b, const char *script, uint64_t page);

enum { MT_ATTACH_PAGE = 4096 }; /* bytes: the text is shorter, see mt_attach_text */

#endif
