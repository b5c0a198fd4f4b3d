/* SPDX-License-Identifier: MIT */
/*
 * What a signal must remove before it ends the process: the few files with a hidden name that are
 * being written. A signal handler is given no argument, so this list is the one global of cli/; the
 * handler reads it and calls nothing but unlink and raise, which may be called there.
 */
#include <signal.h>
#include <unistd.h>

#include "cli/output/unfinished.h"

enum { MOST_FILES = 4 };

static const char *volatile files[MOST_FILES];

/* Those that end a process in everyday life; PIPE: "| head" closed standard output. */
static const int SIGNALS[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT, SIGXCPU};

static void remove_and_die(int number)
{
    for (int i = 0; i < MOST_FILES; i++) {
        const char *path = files[i];
        if (path) {
            unlink(path);
        }
    }
    raise(number); /* SA_RESETHAND: its default action is back, and comes when this returns */
}

static void watch(void)
{
    struct sigaction old;
    struct sigaction new = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&new.sa_mask);
    for (size_t i = 0; i < MT_COUNT(SIGNALS); i++) {
        /* what the caller has ignored (nohup) stays ignored */
        if (sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
            sigaction(SIGNALS[i], &new, NULL);
        }
    }
}

void mt_interrupt_removes(const char *path)
{
    for (int i = 0; i < MOST_FILES; i++) {
        if (!files[i]) {
            files[i] = path;
            watch();
            return;
        }
    }
}

void mt_interrupt_keeps(const char *path)
{
    for (int i = 0; i < MOST_FILES; i++) {
        if (files[i] == path) {
            files[i] = NULL;
        }
    }
}
