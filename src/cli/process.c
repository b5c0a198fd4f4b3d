/* SPDX-License-Identifier: MIT */
/*
 * The process around a verb: its streams, the terminal, the environment, and the end of it all,
 * where output that could not be written becomes exit code 5.
 *
 * Environment read here and nowhere else: NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, MEMTOOL_COLOR,
 * TERM, COLUMNS, LINES, MEMTOOL_UNIT, MEMTOOL_SEED. (The pager reads its own: pager.c.)
 */
#define _DEFAULT_SOURCE /* struct winsize */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/frame.h"
#include "support/hash.h"
#include "support/mem.h"

void mt_cli_die_nomem(void)
{
    static const char text[] = "memtool: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(mt_status_exit_code(MT_NOMEM));
}

void *mt_cli_realloc(void *p, size_t count, size_t size)
{
    p = mt_mem_realloc(p, count, size);
    if (!p) {
        mt_cli_die_nomem();
    }
    return p;
}

/* A program started with a closed standard stream would get a data file in its place, and write
 * messages into it. Opened the wrong way round, so that every use fails as it would on a closed
 * one. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1) {
            _exit(mt_status_exit_code(MT_OUTPUT));
        }
    }
}

/* ---- memory ---- */

/* A sanitizer's own memory would count, and it has more than any machine. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#ifdef SANITIZED
void mt_cli_limit_memory(void)
{
}
#else
/* What a container may use, UINT64_MAX when there is no bound or none is known. */
static uint64_t memory_of_container(void)
{
    static const char *const files[] = {"/sys/fs/cgroup/memory.max",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < MT_COUNT(files); i++) {
        char text[32];
        uint64_t bytes;
        int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
        if (n > 1 && mt_u64_parse((struct mt_str){text, (size_t)n - 1}, &bytes) && bytes < least) {
            least = bytes;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return least;
}

/*
 * A file can ask for any amount of memory. Beyond three quarters of what there is memtool says so
 * and ends with 6, before the machine begins to swap or the kernel to kill. A limit that the caller
 * has set (ulimit -d) is his own.
 */
void mt_cli_limit_memory(void)
{
    struct rlimit limit;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    uint64_t container = memory_of_container();
    all = container < all ? container : all;
    if (all != UINT64_MAX && getrlimit(RLIMIT_DATA, &limit) == 0 &&
        limit.rlim_cur == RLIM_INFINITY) {
        limit.rlim_cur = (rlim_t)(all / 4 * 3);
        setrlimit(RLIMIT_DATA, &limit);
    }
}
#endif

static uint64_t choose_seed(void)
{
    uint64_t seed;
    const char *fixed = getenv("MEMTOOL_SEED");
    if (fixed && mt_u64_parse(mt_str_from(fixed), &seed)) {
        return seed;
    }
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool got = fd >= 0 && read(fd, &seed, sizeof seed) == (ssize_t)sizeof seed;
    if (fd >= 0) {
        close(fd);
    }
    if (!got) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = mt_hash_mix((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30, (uint64_t)getpid());
    }
    return seed;
}

static int number_from(const char *variable)
{
    uint64_t n;
    const char *text = getenv(variable);
    return text && mt_u64_parse(mt_str_from(text), &n) && n > 0 && n < 10000 ? (int)n : 0;
}

static void measure_terminal(struct mt_cli *cli)
{
    struct winsize size = {0};
    if (!cli->out_is_terminal) {
        return;
    }
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    cli->width = number_from("COLUMNS");
    cli->height = number_from("LINES");
    if (cli->width == 0) {
        cli->width = size.ws_col ? size.ws_col : 80;
    }
    if (cli->height == 0) {
        cli->height = size.ws_row ? size.ws_row : 24;
    }
}

static int unit_from_environment(void)
{
    static const char *const names[] = {"auto", "B", "KiB", "MiB", "GiB"};
    const char *text = getenv("MEMTOOL_UNIT");
    for (int i = 0; text && i < (int)MT_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return MT_UNIT_AUTO;
}

void mt_cli_init(struct mt_cli *cli)
{
    occupy_standard_streams();
    signal(SIGPIPE, SIG_DFL); /* "| head" ends memtool without a word, whatever the parent set */
    signal(SIGXFSZ, SIG_IGN); /* a file that may grow no further is one that cannot be written */
    /* For the width of characters. C.UTF-8 first: then output does not depend on the user's locale.
     */
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        setlocale(LC_CTYPE, "");
    }
    *cli = (struct mt_cli){.out = stdout, .err = stderr};
    cli->out_is_terminal = isatty(STDOUT_FILENO) == 1;
    cli->err_is_terminal = isatty(STDERR_FILENO) == 1;
    cli->unit = unit_from_environment();
    cli->hash_seed = choose_seed();
    measure_terminal(cli);
    mt_cli_set_color(cli, 0);
}

static bool is_set(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text && strcmp(text, "0") != 0;
}

/* 0 auto, 1 always, 2 never: the option first, then memtool's variable, then everybody's. */
static int color_choice(int option)
{
    static const char *const names[] = {"auto", "always", "never"};
    if (option) {
        return option;
    }
    const char *own = getenv("MEMTOOL_COLOR");
    for (int i = 1; own && i < (int)MT_COUNT(names); i++) {
        if (strcmp(own, names[i]) == 0) {
            return i;
        }
    }
    const char *no_color = getenv("NO_COLOR");
    if (no_color && *no_color) {
        return 2;
    }
    return is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR") ? 1 : 0;
}

void mt_cli_set_color(struct mt_cli *cli, int option)
{
    int choice = color_choice(option);
    const char *term = getenv("TERM");
    bool capable = term && *term && strcmp(term, "dumb") != 0;
    cli->out_color = choice == 1 || (choice == 0 && capable && cli->out_is_terminal);
    cli->err_color = choice == 1 || (choice == 0 && capable && cli->err_is_terminal);
}

int mt_cli_close(struct mt_cli *cli, int exit_code)
{
    bool failed = ferror(cli->out) != 0;
    errno = 0;
    failed |= fflush(cli->out) != 0;
    failed |= fclose(cli->out) != 0;
    if (failed) {
        struct mt_error err;
        mt_fail(&err, MT_OUTPUT, MT_NO_OFFSET, "cannot write: %s",
                errno ? strerror(errno) : "some of the output was lost");
        exit_code = mt_cli_fail(cli, "standard output", &err);
    }
    if (cli->pager) {
        waitpid((pid_t)cli->pager, NULL, 0);
    }
    return exit_code;
}

const char *mt_cli_environment(const char *name)
{
    return getenv(name);
}
