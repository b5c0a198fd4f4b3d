/* SPDX-License-Identifier: MIT */
/*
 * Why a program could not be started, or left no snapshot: from how it ended, how far it came, and
 * what kind of file it is. Nothing is claimed that is not known.
 */
#ifdef __linux__
#include <elf.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame.h"
#include "verbs/capture/capture.h"

/* ---- what kind of program ---- */

/* The file that the shell would run, or NULL. The caller frees it. */
static FILE *open_program(const char *program)
{
    const char *path = getenv("PATH");
    if (strchr(program, '/') || !path) {
        return fopen(program, "rb");
    }
    for (const char *p = path;; p++) {
        struct mt_buf b = {0};
        size_t n = strcspn(p, ":");
        mt_buf_printf(&b, "%.*s/%s", n ? (int)n : 1, n ? p : ".", program);
        FILE *f = !b.failed && access(b.p, X_OK) == 0 ? fopen(b.p, "rb") : NULL;
        mt_buf_release(&b);
        p += n;
        if (f || !*p) {
            return f;
        }
    }
}

#ifdef __linux__
/* An ELF program without PT_INTERP: no dynamic linker, so nothing can be preloaded. */
static bool has_no_linker(FILE *f)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    if (fread(&head, sizeof head, 1, f) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof part ||
        head.e_phoff > INT32_MAX || fseek(f, (long)head.e_phoff, SEEK_SET) != 0) {
        return false;
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (fread(&part, sizeof part, 1, f) != 1 || part.p_type == PT_INTERP) {
            return false;
        }
    }
    return true;
}

#else
static bool has_no_linker(FILE *f)
{
    (void)f;
    return false;
}
#endif

static bool is_static(const char *program)
{
    FILE *f = open_program(program);
    bool is = f && has_no_linker(f);
    if (f) {
        fclose(f);
    }
    return is;
}

static bool is_python(const char *program)
{
    struct mt_str name = mt_str_basename(mt_str_from(program));
    return mt_str_starts(name, MT_STR("python")) || mt_str_starts(name, MT_STR("pypy")) ||
           mt_str_ends(name, MT_STR(".py"));
}

/* ---- it could not be started ---- */

void mt_capture_hint_start(const char *program, struct mt_error *err)
{
    struct stat st;
    if (stat(program, &st) != 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    const char *here = strchr(program, '/') ? "" : "./";
    if (mt_str_ends(mt_str_from(program), MT_STR(".py"))) {
        mt_hint(err, "Python runs it: memtool capture -- python3 %.200s", program);
    } else if (access(program, X_OK) != 0) {
        mt_hint(err, "it is a file that may not be executed: chmod +x %.200s", program);
    } else if (*here) {
        mt_hint(err, "it is a file here, not in PATH: memtool capture -- ./%.200s", program);
    } else {
        mt_hint(err,
                "the file is there, but not the interpreter that it names (#!, or the ELF header)");
    }
}

/* ---- it left nothing ---- */

/* Shells and launchers pass on a signal that killed their child as 128 and its number. */
static int signal_of(const struct mt_capture_end *end)
{
    int code = end->exit_code - 128;
    return end->signal                                                  ? end->signal
           : code > 0 && code < 32 && code != SIGPIPE && code != SIGHUP ? code
                                                                        : 0;
}

static void say_signal(struct mt_buf *b, const struct mt_capture_end *end, int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGSEGV, "SEGV"}, {SIGABRT, "ABRT"}, {SIGKILL, "KILL"}, {SIGBUS, "BUS"},
                 {SIGILL, "ILL"},   {SIGFPE, "FPE"},   {SIGTERM, "TERM"}, {SIGINT, "INT"},
                 {SIGQUIT, "QUIT"}, {SIGHUP, "HUP"},   {SIGPIPE, "PIPE"}, {SIGTRAP, "TRAP"},
                 {SIGALRM, "ALRM"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGXCPU, "XCPU"}};
    const char *name = NULL;
    for (size_t i = 0; i < MT_COUNT(names); i++) {
        name = names[i].number == number ? names[i].name : name;
    }
    if (name) {
        mt_buf_printf(b, "the program died of SIG%s", name);
    } else {
        mt_buf_printf(b, "the program died of signal %d", number);
    }
    if (!end->signal) {
        mt_buf_printf(b, " (exit code %d)", end->exit_code);
    }
}

static const char *of_torch(const char *program, const struct mt_capture_marks *m)
{
    if (m->cuda) {
        return "PyTorch's recording was on, but the program told nothing of its end: it ended "
               "without Python's exit (os._exit?), or could not tell any more (chroot, another "
               "user, no descriptor left); ask for one before, by SIGUSR2";
    }
    if (m->torch) {
        return "the program imported torch, but did not start CUDA through it";
    }
    if (m->python) {
        return "Python did not import torch; for CUDA memory without PyTorch: --mode record";
    }
    if (is_python(program)) {
        return "Python did not import memtool's sitecustomize (-I, -E and -S keep it out); --mode "
               "record does without";
    }
    return "no Python was started that memtool could watch; for other programs: --mode record";
}

static const char *of_preload(const char *program, const struct mt_capture_marks *m)
{
    if (m->cuda && !m->unused) {
        return "the program used CUDA, but told nothing of its end: it ended by no way that "
               "memtool "
               "sees (memtool-capture(1), BAD ENDS), or could not tell any more (chroot, another "
               "user, no descriptor left); ask for one before, by SIGUSR2";
    }
    if (!m->cuda && is_static(program)) {
        return "the program is linked statically, and cannot be watched";
    }
    if (!m->cuda) {
        return "until the program ended no process that memtool could watch asked for CUDA memory "
               "(env -i, sudo, ssh and containers start some that it cannot)";
    }
    return "the program asked for no CUDA memory";
}

/* What was not reached when the signal came; "" when memory may have been in use. */
static const char *too_early(bool torch_mode, const struct mt_capture_marks *m, int number)
{
    if (number == SIGUSR2) {
        return ", which it did not catch at that moment: see CAVEATS in memtool-capture(1)";
    }
    if (m->cuda) {
        return " before it could write one: ask for one earlier, by SIGUSR2 (memtool-capture(1))";
    }
    return torch_mode && !m->python  ? " before memtool's sitecustomize was imported"
           : torch_mode && !m->torch ? " before it imported torch"
           : torch_mode              ? " before it started CUDA through PyTorch"
                                     : " before it asked for CUDA memory";
}

void mt_capture_why_nothing(struct mt_buf *b, enum mt_capture_mode mode, const char *program,
                            const struct mt_capture_end *end, const struct mt_capture_marks *marks)
{
    bool torch_mode = mode == MT_CAPTURE_TORCH || mode == MT_CAPTURE_ALLOCATOR;
    bool out_of_sight =
        torch_mode ? !marks->python && !is_python(program) : !marks->cuda && is_static(program);
    int number = signal_of(end);
    if (marks->failed) {
        mt_buf_text(b, "it failed, as said above");
    } else if (marks->nested && !marks->cuda && !marks->torch) {
        mt_buf_text(b, "another memtool capture ran within this one: it watched the program from "
                       "there on, and told what came of it");
    } else if (number && !out_of_sight) {
        say_signal(b, end, number);
        mt_buf_text(b, too_early(torch_mode, marks, number));
    } else {
        if (number) {
            say_signal(b, end, number);
            mt_buf_text(b, "; ");
        }
        mt_buf_text(b, torch_mode ? of_torch(program, marks) : of_preload(program, marks));
    }
}
