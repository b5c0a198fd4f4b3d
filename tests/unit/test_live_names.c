/* SPDX-License-Identifier: MIT */
/* No snapshot of a process overwrites another of a different moment. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "live/dump/snapshot_names.h"

static void next(struct mt_snapshot_names *n, const char *path, enum mt_snapshot_why why,
                 const char *expected, bool is_new)
{
    char name[64];
    ck_assert(mt_snapshot_names_next(n, path, why, name, sizeof name));
    ck_assert_str_eq(name, expected);
    ck_assert_int_eq(mt_snapshot_names_add(n, why), is_new);
}

START_TEST(all_are_kept)
{
    struct mt_snapshot_names n = {0};
    next(&n, "run.pickle", MT_SNAPSHOT_SIGNAL, "run.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_SIGNAL, "run.signal.2.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.oom.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.oom.pickle", false);
    next(&n, "run.pickle", MT_SNAPSHOT_TERM, "run.term.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_SIGNAL, "run.signal.3.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_EXIT, "run.exit.pickle", true);
}
END_TEST

START_TEST(the_newest_of_those_that_come_by_themselves)
{
    struct mt_snapshot_names n = {0};
    next(&n, "run.pickle", MT_SNAPSHOT_CLOCK, "run.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_CLOCK, "run.pickle", false);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.oom.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_CLOCK, "run.pickle", false);
    n = (struct mt_snapshot_names){0};
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.pickle", true);
    next(&n, "run.pickle", MT_SNAPSHOT_OOM, "run.pickle", false);
    next(&n, "run.pickle", MT_SNAPSHOT_EXIT, "run.exit.pickle", true);
}
END_TEST

START_TEST(suffixes)
{
    struct mt_snapshot_names n = {0};
    char small[12];
    next(&n, "a", MT_SNAPSHOT_OOM, "a", true);
    next(&n, "a", MT_SNAPSHOT_EXIT, "a.exit", true);
    next(&n, "a.b/c", MT_SNAPSHOT_EXIT, "a.b/c.exit.2", true);
    next(&n, "a.b/c-%r.pickle", MT_SNAPSHOT_TERM, "a.b/c-%r.term.pickle", true);
    ck_assert(mt_snapshot_names_next(&n, "a", MT_SNAPSHOT_SIGNAL, small, 9)); /* a.signal */
    ck_assert(!mt_snapshot_names_next(&n, "a", MT_SNAPSHOT_SIGNAL, small, 8));
}
END_TEST

/* ---- names that are free ---- */

static char folder[] = "/tmp/memtool-names-XXXXXX"; /* a test's own */
enum { PATH = 1024 };

static void in_folder(const char *name, char *path)
{
    snprintf(path, PATH, "%s/%s", folder, name);
}

/* One snapshot, which gets `expected` and holds `text`. */
static void place(struct mt_snapshot_names *n, enum mt_snapshot_why why, const char *text,
                  const char *expected)
{
    struct mt_whole_file f;
    char base[PATH], path[PATH], wanted[PATH], found[16] = "";
    in_folder("run.pickle", base);
    in_folder(expected, wanted);
    ck_assert(mt_snapshot_names_next(n, base, why, path, sizeof path));
    ck_assert_int_eq(mt_whole_file_open(&f, path, false), 0);
    ck_assert_int_eq(write(f.fd, text, strlen(text)), (int)strlen(text));
    ck_assert_int_eq(mt_snapshot_names_place(n, why, &f, path, sizeof path), 0);
    (void)mt_snapshot_names_add(n, why);
    ck_assert_str_eq(path, wanted);
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(read(fd, found, sizeof found), (int)strlen(text));
    close(fd);
    ck_assert_str_eq(found, text);
    ck_assert_int_ne(access(f.partial, F_OK), 0);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/memtool-names-XXXXXX");
    ck_assert(mkdtemp(folder));
}

static void clear(void)
{
    char command[PATH];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static int64_t now_ns(void)
{
    struct timespec now;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* a tick and more */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

START_TEST(of_several_processes)
{
    struct mt_snapshot_names a = {0}, b = {0}, c = {0};
    make_folder();
    place(&a, MT_SNAPSHOT_SIGNAL, "a1", "run.pickle");
    place(&b, MT_SNAPSHOT_OOM, "b1", "run.2.pickle");
    place(&b, MT_SNAPSHOT_OOM, "b2", "run.2.pickle"); /* its own, of which the newest is kept */
    place(&c, MT_SNAPSHOT_EXIT, "c1", "run.3.pickle");
    place(&a, MT_SNAPSHOT_EXIT, "a2", "run.exit.pickle");
    place(&b, MT_SNAPSHOT_EXIT, "b3", "run.2.exit.pickle");
    clear();
}
END_TEST

START_TEST(what_was_there_before)
{
    struct mt_snapshot_names a = {0}, b = {0};
    char path[PATH];
    struct stat st;
    make_folder();
    place(&(struct mt_snapshot_names){0}, MT_SNAPSHOT_EXIT, "old", "run.pickle");
    in_folder("run.pickle", path);
    ck_assert_int_eq(chmod(path, 0600), 0);
    a.since_ns = b.since_ns = now_ns();
    place(&a, MT_SNAPSHOT_EXIT, "a", "run.pickle");
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600); /* as private as the one that it replaced */
    place(&b, MT_SNAPSHOT_EXIT, "b", "run.2.pickle");
    clear();
}
END_TEST

/* A link that was there is replaced, what it points to is not. */
START_TEST(links)
{
    struct mt_snapshot_names n = {0};
    char path[PATH], victim[PATH];
    struct stat st;
    make_folder();
    in_folder("run.pickle", path);
    in_folder("victim", victim);
    close(open(victim, O_WRONLY | O_CREAT, 0600));
    ck_assert_int_eq(symlink(victim, path), 0);
    place(&n, MT_SNAPSHOT_EXIT, "a", "run.2.pickle");
    n = (struct mt_snapshot_names){.since_ns = now_ns()};
    place(&n, MT_SNAPSHOT_EXIT, "b", "run.pickle");
    ck_assert(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
    ck_assert(stat(victim, &st) == 0 && st.st_size == 0);
    clear();
}
END_TEST

UNIT_MAIN("names of snapshots", all_are_kept, the_newest_of_those_that_come_by_themselves, suffixes,
          of_several_processes, what_was_there_before, links)
