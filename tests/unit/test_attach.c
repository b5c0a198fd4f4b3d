/* SPDX-License-Identifier: MIT */
/* capture --pid: what is read of files and processes that others made. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "support/mem.h"
#include "verbs/capture/attach/attach_folder.h"
#include "verbs/capture/attach/attach_session.h"

/* A copy of this program, of which any byte can be another. */
struct copy {
    char path[32];
    int fd;
    size_t n;
    Elf64_Ehdr head;
};

static void copy_self(struct copy *c)
{
    char block[65536];
    size_t n;
    FILE *f = fopen("/proc/self/exe", "rb");
    *c = (struct copy){.path = "/tmp/memtool-elf.XXXXXX"};
    c->fd = mkstemp(c->path);
    ck_assert(f && c->fd >= 0);
    while ((n = fread(block, 1, sizeof block, f)) > 0) {
        ck_assert_int_eq(write(c->fd, block, n), (ssize_t)n);
        c->n += n;
    }
    fclose(f);
    ck_assert_int_eq(pread(c->fd, &c->head, sizeof c->head, 0), (ssize_t)sizeof c->head);
}

static uint64_t find_with(const struct copy *c, size_t at, char other)
{
    uint64_t first;
    char before;
    ck_assert(pread(c->fd, &before, 1, (off_t)at) == 1 && pwrite(c->fd, &other, 1, (off_t)at) == 1);
    uint64_t found = mt_attach_symbol(c->path, "main", &first);
    ck_assert(pwrite(c->fd, &before, 1, (off_t)at) == 1);
    return found;
}

START_TEST(no_length_of_a_file_is_believed)
{
    struct copy c;
    uint64_t first;
    copy_self(&c);
    uint64_t whole = mt_attach_symbol(c.path, "main", &first);
    ck_assert_uint_gt(whole, 0);
    ck_assert_uint_eq(find_with(&c, 0, 'x'), 0);
    ck_assert_uint_eq(find_with(&c, EI_CLASS, ELFCLASS32), 0);
    for (size_t at = 0; at < sizeof c.head; at++) {
        (void)find_with(&c, at, (char)0xff);
    }
    for (size_t at = c.head.e_shoff; at < c.n; at += 7) {
        (void)find_with(&c, at, (char)0xff);
    }
    ck_assert_uint_eq(mt_attach_symbol(c.path, "main", &first), whole);
    for (size_t cut = c.n; cut > 0; cut = cut * 3 / 4) {
        ck_assert_int_eq(ftruncate(c.fd, (off_t)cut), 0);
        (void)mt_attach_symbol(c.path, "main", &first);
    }
    close(c.fd);
    unlink(c.path);
    ck_assert_uint_eq(mt_attach_symbol("/", "x", &first), 0);
    ck_assert_uint_eq(mt_attach_symbol("/nonexistent", "x", &first), 0);
    ck_assert_uint_eq(mt_attach_symbol("/dev/null", "x", &first), 0);
}
END_TEST

START_TEST(a_result_is_read)
{
    struct mt_attach_result r;
    mt_attach_result_read(&r, "ok\nrecording 1\nsteps 5\ntensors 12\nstopped_ms 3.5\nmore 1\n");
    ck_assert(r.ok && r.was_recording && r.steps == 5 && r.tensors == 12 && r.stopped_ms > 3);
    mt_attach_result_read(&r, "refused\nno-torch");
    ck_assert(!r.ok);
    ck_assert_str_eq(r.refusal, "no-torch");
    mt_attach_result_read(&r, "failed\nRuntimeError('x')");
    ck_assert_str_eq(r.failure, "RuntimeError('x')");
    mt_attach_result_read(&r, "");
    ck_assert(!r.ok && r.failure[0]);
}
END_TEST

START_TEST(the_text_fits_its_page)
{
    struct mt_buf b = {0}, script = {0};
    for (int i = 0; i < 96; i++) {
        mt_buf_char(&script, 'x');
    }
    mt_attach_text(&b, script.p, UINT64_MAX);
    ck_assert_uint_lt(b.n, MT_ATTACH_PAGE);
    size_t n = b.n;
    mt_buf_reset(&b);
    mt_attach_text(&b, script.p, 0); /* as long whatever the page, for a debugger's array */
    ck_assert_uint_eq(b.n, n);
    mt_buf_release(&b);
    mt_buf_release(&script);
}
END_TEST

START_TEST(refusals_name_a_command)
{
    struct mt_attach_target t = {.pid = 4711, .uid = geteuid() + 1};
    struct mt_error err;
    ck_assert_int_eq(mt_attach_refused(&t, 1, &err), MT_IO); /* EPERM */
    ck_assert(strstr(err.hint, geteuid() ? "sudo memtool capture --pid 4711" : "SYS_PTRACE") ||
              strstr(err.text, "ptrace_scope"));
    ck_assert_int_eq(mt_attach_refused(&t, 3, &err), MT_NOT_FOUND); /* ESRCH */
    ck_assert_int_eq(mt_attach_look(2147480000, &t, &err), MT_NOT_FOUND);
    ck_assert_int_eq(mt_attach_look(getpid(), &t, &err), MT_OK);
    ck_assert(t.state == 'R' && !t.call && !t.torch && t.vdso_end > t.vdso);
    char *home = mt_attach_environment(&t, "PATH");
    ck_assert_ptr_nonnull(home);
    mt_mem_free(home);
    ck_assert_ptr_null(mt_attach_environment(&t, "PAT"));
}
END_TEST

/* The process's user owns the folder, and may be hostile to a memtool of root's. */
START_TEST(links_are_not_followed)
{
    struct mt_attach_target t = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
    struct mt_attach_folder f = {0};
    struct mt_error err;
    struct mt_buf text = {0};
    char path[160], other[] = "/tmp/memtool-other.XXXXXX";
    ck_assert_int_eq(mt_attach_folder_make(&f, &t, &err), MT_OK);
    snprintf(path, sizeof path, "%s/result", f.path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    mt_attach_folder_read(&f, "result", &text);
    ck_assert_str_eq(text.p, "");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_null(mt_attach_folder_open(&f, "result")); /* and does not wait */
    /* the folder is moved away, and a link to another one put in its place */
    ck_assert_ptr_nonnull(mkdtemp(other));
    char keep[64], moved[160];
    snprintf(keep, sizeof keep, "%s/keep", other);
    snprintf(moved, sizeof moved, "%s.moved", f.path);
    fclose(fopen(keep, "w"));
    ck_assert_int_eq(rename(f.path, moved), 0);
    ck_assert_int_eq(symlink(other, f.path), 0);
    snprintf(path, sizeof path, "%s", f.path);
    mt_attach_folder_remove(&f);
    ck_assert_int_eq(access(keep, F_OK), 0);
    unlink(keep);
    rmdir(other);
    unlink(path);
    ck_assert_int_eq(rmdir(moved), 0); /* it was emptied */
    mt_buf_release(&text);
}
END_TEST

UNIT_MAIN("attach", links_are_not_followed, no_length_of_a_file_is_believed, a_result_is_read,
          the_text_fits_its_page, refusals_name_a_command)
