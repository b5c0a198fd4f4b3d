/* SPDX-License-Identifier: MIT */
/*
 * What the child finds: a private folder with a sitecustomize.py that Python imports by itself, and
 * the environment that leads there. The folder has an unguessable name, only its owner can look
 * into it, and it goes when the child has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame.h"
#include "verbs/capture/capture.h"

/* Of the library, where LD_PRELOAD cannot have its own name. */
#define LINK "libmemtool_alloc.so"

/* ---- files ---- */

static char *joined(const char *a, const char *between, const char *b)
{
    struct mt_buf text = {0};
    mt_buf_printf(&text, "%s%s%s", a, between, b);
    if (text.failed) {
        mt_cli_die_nomem();
    }
    return text.p;
}

static enum mt_status write_file(const char *folder, const char *name, const unsigned char *p,
                                 size_t n, struct mt_error *err)
{
    char *path = joined(folder, "/", name);
    FILE *f = fopen(path, "wx");
    bool ok = f && fwrite(p, 1, n, f) == n;
    if (f && fclose(f) != 0) {
        ok = false;
    }
    mt_mem_free(path);
    return ok ? MT_OK
              : mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write into %.150s: %s", folder,
                        strerror(errno));
}

/* The list is there from the beginning, and has its room on the disk: a process that cannot tell
 * what it wrote would be taken for one that wrote nothing. */
static enum mt_status begin_list(struct mt_capture_folder *folder, struct mt_error *err)
{
    static const unsigned char BEGIN[] = "begin\t0";
    folder->list = joined(folder->path, "/", "written");
    return write_file(folder->path, "written", BEGIN, sizeof BEGIN, err);
}

static enum mt_status make_folder(struct mt_capture_folder *folder, struct mt_error *err)
{
    const char *given = getenv("TMPDIR");
    given = given && *given ? given : "/tmp";
    char *root = mt_capture_absolute(given);
    folder->path = joined(root ? root : given, "/", "memtool-capture.XXXXXX");
    mt_mem_free(root);
    if (!mkdtemp(folder->path)) {
        mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot make %.150s: %s", folder->path,
                strerror(errno));
        mt_mem_free(folder->path);
        folder->path = NULL;
        return mt_hint(err, "set TMPDIR to a folder that can be written to");
    }
    return begin_list(folder, err);
}

void mt_capture_folder_leave(struct mt_capture_folder *folder)
{
    mt_mem_free(folder->path);
    mt_mem_free(folder->list);
    mt_mem_free(folder->library);
    *folder = (struct mt_capture_folder){0};
}

void mt_capture_folder_remove(struct mt_capture_folder *folder)
{
    static const char *const names[] = {"sitecustomize.py", "memtool_torch.py",
                                        "memtool_modules.py", "written", LINK};
    for (size_t i = 0; folder->path && i < MT_COUNT(names); i++) {
        char *path = joined(folder->path, "/", names[i]);
        unlink(path);
        mt_mem_free(path);
    }
    if (folder->path) {
        rmdir(folder->path);
    }
    mt_capture_folder_leave(folder);
}

/* ---- the library ---- */

/* The folder in which the running memtool lies, or NULL. */
static char *own_folder(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        return NULL;
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) {
        return NULL;
    }
    *slash = '\0';
    return joined(path, "", "");
}

/* Beside memtool (a build), in the lib of its prefix (installed), or as the environment says. */
static enum mt_status find_library(struct mt_capture_folder *folder, struct mt_error *err)
{
    static const char *const places[] = {"/libmemtool_alloc.so", "/../lib/libmemtool_alloc.so",
                                         "/../lib64/libmemtool_alloc.so"};
    const char *given = getenv("MEMTOOL_ALLOC_LIBRARY");
    char *own = given ? NULL : own_folder();
    for (size_t i = 0; own && !folder->library && i < MT_COUNT(places); i++) {
        char *path = joined(own, "", places[i]);
        if (access(path, R_OK) == 0) {
            folder->library = path;
        } else {
            mt_mem_free(path);
        }
    }
    mt_mem_free(own);
    if (given && access(given, R_OK) == 0) {
        folder->library = mt_capture_absolute(given);
    }
    if (folder->library) {
        return MT_OK;
    }
    mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
            "libmemtool_alloc.so is not beside memtool nor in its lib");
    return mt_hint(err, "MEMTOOL_ALLOC_LIBRARY names it");
}

/* ---- the environment ---- */

static void set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        mt_cli_die_nomem();
    }
}

static void set_number(const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    set(name, text);
}

/* `value` in front of what a list-like variable holds. */
static void set_in_front(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *all = old && *old ? joined(value, ":", old) : joined(value, "", "");
    set(name, all);
    mt_mem_free(all);
}

/* Behind the user's own: some insist on being the first library of all (a sanitizer's). */
static void set_behind(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *all = old && *old ? joined(old, ":", value) : joined(value, "", "");
    set(name, all);
    mt_mem_free(all);
}

/* The folder stands in a variable that separates names by these characters. */
static enum mt_status check_separators(const struct mt_capture_folder *folder, const char *these,
                                       struct mt_error *err)
{
    const char *found = folder->path + strcspn(folder->path, these);
    if (!*found) {
        return MT_OK;
    }
    mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "the program would not find %.150s: a name with '%c'",
            folder->path, *found);
    return mt_hint(err, "set TMPDIR to another folder");
}

static enum mt_status prepare_python(const struct mt_capture_plan *plan,
                                     struct mt_capture_folder *folder, struct mt_error *err)
{
    MT_TRY(check_separators(folder, ":", err));
    MT_TRY(write_file(folder->path, "sitecustomize.py", mt_embedded_sitecustomize,
                      mt_embedded_sitecustomize_n, err));
    MT_TRY(write_file(folder->path, "memtool_torch.py", mt_embedded_memtool_torch,
                      mt_embedded_memtool_torch_n, err));
    MT_TRY(write_file(folder->path, "memtool_modules.py", mt_embedded_modules,
                      mt_embedded_modules_n, err));
    set_in_front("PYTHONPATH", folder->path);
    set("MEMTOOL_CAPTURE_MODULES", plan->modules ? "1" : "0");
    const char *bytecode = getenv("PYTHONDONTWRITEBYTECODE");
    set("PYTHONDONTWRITEBYTECODE", bytecode ? bytecode : "1");
    set("MEMTOOL_CAPTURE_MODE", plan->mode == MT_CAPTURE_ALLOCATOR ? "allocator" : "torch");
    set("MEMTOOL_CAPTURE_OUTPUT", plan->output);
    set("MEMTOOL_CAPTURE_LIST", folder->list);
    set("MEMTOOL_CAPTURE_STACKS", plan->stacks);
    set_number("MEMTOOL_CAPTURE_MAX_ENTRIES", plan->max_entries);
    if (folder->library) {
        set("MEMTOOL_CAPTURE_LIBRARY", folder->library);
    }
    return MT_OK;
}

/* Blanks and colons separate the names in LD_PRELOAD: a library with one in its path is reached by
 * a link from the folder. */
static enum mt_status preload(const struct mt_capture_folder *folder, struct mt_error *err)
{
    if (!folder->library[strcspn(folder->library, " :")]) {
        set_behind("LD_PRELOAD", folder->library);
        return MT_OK;
    }
    MT_TRY(check_separators(folder, " :", err));
    char *path = joined(folder->path, "/", LINK);
    enum mt_status status = MT_OK;
    if (symlink(folder->library, path) == 0) {
        set_behind("LD_PRELOAD", path);
    } else {
        status =
            mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot make %.150s: %s", path, strerror(errno));
    }
    mt_mem_free(path);
    return status;
}

static enum mt_status prepare_preload(const struct mt_capture_plan *plan,
                                      const struct mt_capture_folder *folder, struct mt_error *err)
{
    struct mt_buf record = {0};
    mt_buf_printf(&record, "max_entries:%lld,at_exit:True,on_oom:True,signal:USR2,dump:",
                  (long long)plan->max_entries);
    for (const char *p = plan->output; *p; p++) {
        mt_buf_printf(&record, *p == ',' ? "%%%c" : "%c", *p);
    }
    if (record.failed) {
        mt_cli_die_nomem();
    }
    set("MEMTOOL_RECORD", record.p);
    set("MEMTOOL_PRELOAD", plan->mode == MT_CAPTURE_CACHE ? "cache" : "record");
    set("MEMTOOL_CAPTURE_LIST", folder->list);
    mt_buf_release(&record);
    return preload(folder, err);
}

/* To a capture around this one, whose program is this memtool: from now on its list is another. */
static enum mt_status tell_outer(struct mt_error *err)
{
    const char *list = getenv("MEMTOOL_CAPTURE_LIST");
    int fd = list ? open(list, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0) {
        return MT_OK; /* there is none, or it is over */
    }
    char record[40];
    int n = snprintf(record, sizeof record, "nested\t%ld", (long)getpid());
    bool ok = write(fd, record, (size_t)n + 1) == n + 1;
    close(fd);
    return ok ? MT_OK
              : mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write into %.150s: %s", list,
                        strerror(errno));
}

enum mt_status mt_capture_prepare(const struct mt_capture_plan *plan,
                                  struct mt_capture_folder *folder, struct mt_error *err)
{
    *folder = (struct mt_capture_folder){0};
    MT_TRY(make_folder(folder, err));
    MT_TRY(tell_outer(err));
    if (plan->mode != MT_CAPTURE_TORCH) {
        MT_TRY(find_library(folder, err));
    }
    set_number("MEMTOOL_CAPTURE_SINCE", plan->since_ns);
    if (folder->library) { /* ranges named by NVTX; a profiler of the user's comes first */
        set("NVTX_INJECTION64_PATH",
            getenv("NVTX_INJECTION64_PATH") ? getenv("NVTX_INJECTION64_PATH") : folder->library);
    }
    if (plan->mode == MT_CAPTURE_TORCH || plan->mode == MT_CAPTURE_ALLOCATOR) {
        return prepare_python(plan, folder, err);
    }
    return prepare_preload(plan, folder, err);
}
