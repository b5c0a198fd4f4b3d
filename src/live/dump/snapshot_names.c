/* SPDX-License-Identifier: MIT */
/* The suffix is what follows the last dot of the last part of the path. */
#include "live/dump/snapshot_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/units.h"

#include "live/core/record_settings.h"

enum { MOST_OF_ONE_NAME = 100000 }; /* files of one name and other numbers */

const char *mt_snapshot_why_text(enum mt_snapshot_why why)
{
    static const char *const texts[MT_SNAPSHOT_WHY_COUNT] = {"oom",  "clock", "signal",
                                                             "term", "exit",  "crash"};
    return texts[why];
}

int64_t mt_snapshot_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

static bool keeps_newest(enum mt_snapshot_why why)
{
    return why == MT_SNAPSHOT_OOM || why == MT_SNAPSHOT_CLOCK;
}

/* Which one of its kind it will be, from 1; 0: the bare name. */
static unsigned number_of(const struct mt_snapshot_names *n, enum mt_snapshot_why why)
{
    if (!n->any || (keeps_newest(why) && n->first == why)) {
        return 0;
    }
    return keeps_newest(why) ? 1 : n->written[why] + 1;
}

/* `path` with `middle` before its suffix. */
static bool put_in(const char *path, const char *middle, char *out, size_t size)
{
    const char *dot = strrchr(path, '.');
    if (!dot || strchr(dot, '/')) {
        dot = path + strlen(path);
    }
    int length = snprintf(out, size, "%.*s%s%s", (int)(dot - path), path, middle, dot);
    return length >= 0 && (size_t)length < size;
}

bool mt_snapshot_names_next(const struct mt_snapshot_names *n, const char *path,
                            enum mt_snapshot_why why, char *out, size_t size)
{
    unsigned number = number_of(n, why);
    char middle[48] = "";
    size_t at = 0;
    if (n->own > 1) {
        at = (size_t)snprintf(middle, sizeof middle, ".%u", n->own);
    }
    if (number == 1) {
        snprintf(middle + at, sizeof middle - at, ".%s", mt_snapshot_why_text(why));
    } else if (number > 1) {
        snprintf(middle + at, sizeof middle - at, ".%s.%u", mt_snapshot_why_text(why), number);
    }
    return put_in(path, middle, out, size);
}

bool mt_snapshot_names_add(struct mt_snapshot_names *n, enum mt_snapshot_why why)
{
    bool again = keeps_newest(why) && n->written[why] > 0;
    if (!n->any) {
        n->any = true;
        n->first = why;
    }
    n->written[why]++;
    return !again;
}

/* ---- names that are free ---- */

void mt_snapshot_names_begin(struct mt_snapshot_names *n, const char *since)
{
    uint64_t ns = 0;
    struct timespec now;
    if (since) {
        n->since_ns = mt_u64_parse(mt_str_from(since), &ns) && ns <= INT64_MAX ? (int64_t)ns : 0;
        return;
    }
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* what file systems stamp files with */
    n->since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int take_or_replace(const struct mt_snapshot_names *n, const struct mt_whole_file *f,
                           const char *path)
{
    int error = mt_whole_file_take(f, path);
    return error == EEXIST ? mt_whole_file_replace_older(f, path, n->since_ns) : error;
}

/* The first free one of run.pickle, run.2.pickle, run.3.pickle ...; *number is which one. */
static int place(const struct mt_snapshot_names *n, const struct mt_whole_file *f, char *path,
                 size_t size, unsigned *number)
{
    char wanted[MT_WHOLE_PATH_MAX], middle[24];
    if (strlen(path) >= sizeof wanted) {
        return ENAMETOOLONG;
    }
    memcpy(wanted, path, strlen(path) + 1);
    int error = take_or_replace(n, f, path);
    for (*number = 1; error == EEXIST && *number < MOST_OF_ONE_NAME;) {
        snprintf(middle, sizeof middle, ".%u", ++*number);
        error = put_in(wanted, middle, path, size) ? take_or_replace(n, f, path) : ENAMETOOLONG;
    }
    return error;
}

int mt_snapshot_names_place(struct mt_snapshot_names *n, enum mt_snapshot_why why,
                            struct mt_whole_file *f, char *path, size_t size)
{
    unsigned number = 1;
    int error = mt_whole_file_close(f);
    if (error != 0) {
        return error;
    }
    char *newest = keeps_newest(why) ? n->newest[why] : NULL;
    if (newest && newest[0]) {
        snprintf(path, size, "%s", newest);
        error = mt_whole_file_replace(f, path);
    } else {
        error = place(n, f, path, size, &number);
    }
    if (error != 0) {
        mt_whole_file_drop(f);
        return error;
    }
    if (!n->any) {
        n->own = number;
    }
    if (newest) {
        snprintf(newest, sizeof n->newest[0], "%s", path);
    }
    return 0;
}
