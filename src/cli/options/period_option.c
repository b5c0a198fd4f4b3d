/* SPDX-License-Identifier: MIT */
/* The option --period, of the verbs that speak of steps. */
#include "heap/findings/period.h"

#include "cli/command.h"

enum mt_status mt_period_parse(void *field, const char *text, struct mt_error *err)
{
    struct mt_period_options *o = field;
    *o = (struct mt_period_options){0};
    if (mt_u64_parse(mt_str_from(text), &o->events)) {
        return o->events ? MT_OK
                         : mt_fail(err, MT_USAGE, MT_NO_OFFSET, "a period has at least 1 event");
    }
    if (!*text) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                       "a number of events or the name of an annotation is needed");
    }
    o->annotation = text;
    return MT_OK;
}
