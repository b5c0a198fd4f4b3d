/* SPDX-License-Identifier: MIT */
/* The value of --at: peak, oom, end, start, step:N, annotation:NAME, an event's number or a time.
 */
#include <string.h>

#include "cli/options/options.h"

/* What stands behind `prefix`; NULL when text does not begin with it. */
static const char *behind(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

enum mt_status mt_at_parse(void *field, const char *text, struct mt_error *err)
{
    struct mt_moment *m = field;
    m->text = text;
    for (int kind = MT_AT_PEAK; kind <= MT_AT_START; kind++) {
        if (strcmp(text, mt_moment_name((enum mt_moment_kind)kind)) == 0) {
            m->kind = (enum mt_moment_kind)kind;
            return MT_OK;
        }
    }
    if (mt_u64_parse(mt_str_from(text), &m->event)) {
        m->kind = MT_AT_EVENT;
        return MT_OK;
    }
    const char *step = behind(text, "step:"), *name = behind(text, "annotation:");
    if (step && mt_u64_parse(mt_str_from(step), &m->step)) {
        m->kind = MT_AT_STEP;
        return MT_OK;
    }
    if (name && *name) {
        m->kind = MT_AT_ANNOTATION;
        m->annotation = name;
        return MT_OK;
    }
    /* A time is what --time takes as the beginning of a range. */
    int64_t ignored;
    struct mt_buf range = {0};
    mt_buf_printf(&range, "%s:", text);
    enum mt_status status = MT_USAGE;
    if (!range.failed && *text) {
        status = mt_time_range_parse(mt_buf_view(&range), &m->time_us, &ignored,
                                     &m->time_is_absolute, err);
    }
    bool failed = range.failed;
    mt_buf_release(&range);
    if (failed) {
        return mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        static const char *const NAMES[] = {"peak", "oom", "end", "start"};
        (void)mt_fail(
            err, MT_USAGE, MT_NO_OFFSET,
            "'%.100s' is not one of: peak, oom, end, start, step:N, annotation:NAME, EVENT, "
            "TIME",
            text);
        return mt_hint_near(err, text, NAMES, MT_COUNT(NAMES));
    }
    m->kind = MT_AT_TIME;
    return MT_OK;
}
