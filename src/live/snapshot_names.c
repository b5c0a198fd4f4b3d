/* SPDX-License-Identifier: MIT */
/* The suffix is what follows the last dot of the last part of the path. */
#include "snapshot_names.h"

#include <stdio.h>
#include <string.h>

const char *mt_snapshot_why_text(enum mt_snapshot_why why)
{
    static const char *const texts[MT_SNAPSHOT_WHY_COUNT] = {"oom", "clock", "signal", "term",
                                                             "exit"};
    return texts[why];
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

bool mt_snapshot_names_next(const struct mt_snapshot_names *n, const char *path,
                            enum mt_snapshot_why why, char *out, size_t size)
{
    unsigned number = number_of(n, why);
    const char *dot = strrchr(path, '.');
    char middle[32] = "";
    if (!dot || strchr(dot, '/')) {
        dot = path + strlen(path);
    }
    if (number == 1) {
        snprintf(middle, sizeof middle, ".%s", mt_snapshot_why_text(why));
    } else if (number > 1) {
        snprintf(middle, sizeof middle, ".%s.%u", mt_snapshot_why_text(why), number);
    }
    int length = snprintf(out, size, "%.*s%s%s", (int)(dot - path), path, middle, dot);
    return length >= 0 && (size_t)length < size;
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
