/* SPDX-License-Identifier: MIT */
/* What the processes under capture told: the records of the list in the private folder. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
#include "support/mem.h"
#include "verbs/capture/capture.h"

static void mark(struct mt_capture_marks *marks, const char *word)
{
    const struct {
        const char *word;
        bool *mark;
    } known[] = {{"python", &marks->python}, {"torch", &marks->torch},
                 {"cuda", &marks->cuda},     {"unused", &marks->unused},
                 {"nested", &marks->nested}, {"failed", &marks->failed}};
    for (size_t i = 0; i < MT_COUNT(known); i++) {
        if (strcmp(word, known[i].word) == 0) {
            *known[i].mark = true;
        }
    }
}

/* A process has CUDA from its mark on, until it tells of its end. */
static void follow(struct mt_capture_told *told, const char *word, pid_t pid)
{
    static const char *const ends[] = {"exit", "term", "crash", "unused"};
    if (strcmp(word, "cuda") == 0 && !mt_vec_push(&told->using, pid)) {
        mt_cli_die_nomem();
    }
    for (size_t i = 0; i < MT_COUNT(ends); i++) {
        for (size_t j = 0; strcmp(word, ends[i]) == 0 && j < told->using.n; j++) {
            told->using.v[j] = told->using.v[j] == pid ? 0 : told->using.v[j];
        }
    }
}

static void keep(struct mt_capture_told *told, const char *word, const char *path)
{
    struct mt_buf b = {0};
    mt_buf_printf(&b, "%s%c%s", word, 0, path);
    if (b.failed || !mt_vec_push(&told->records, b.p)) {
        mt_cli_die_nomem();
    }
}

/* WORD TAB PID [TAB PATH] */
static void take(struct mt_capture_told *told, char *record)
{
    char *pid = strchr(record, '\t');
    char *path = pid ? strchr(pid + 1, '\t') : NULL;
    if (!pid) {
        return; /* whoever wrote that */
    }
    *pid++ = '\0';
    if (path) {
        *path++ = '\0';
        keep(told, record, path);
    }
    mark(&told->marks, record);
    follow(told, record, (pid_t)strtol(pid, NULL, 10));
}

void mt_capture_told_read(struct mt_capture_told *told, const char *list)
{
    FILE *f = fopen(list, "r");
    told->lost = !f;
    char *record = NULL;
    size_t room = 0;
    while (f && getdelim(&record, &room, '\0', f) > 0) {
        take(told, record);
    }
    free(record); /* getdelim's own malloc */
    if (f) {
        fclose(f);
    }
}

void mt_capture_told_release(struct mt_capture_told *told)
{
    for (size_t i = 0; i < told->records.n; i++) {
        mt_mem_free(told->records.v[i]);
    }
    mt_vec_release(&told->records);
    mt_vec_release(&told->using);
}

/* Not one that has ended and that nobody has asked how. */
static bool lives(pid_t pid)
{
    char path[40], text[256];
    if (pid <= 0 || (kill(pid, 0) != 0 && errno != EPERM)) {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) {
        fclose(f);
    }
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    return !name_end || !strchr("ZX", name_end[1] ? name_end[2] : ' ');
}

pid_t mt_capture_still_running(const struct mt_capture_told *told)
{
    for (size_t i = 0; i < told->using.n; i++) {
        if (lives(told->using.v[i])) {
            return told->using.v[i];
        }
    }
    return 0;
}
