/* SPDX-License-Identifier: MIT */
/*
 * The CSV log of RMM's logging adaptor: "Thread,Time,Action,Pointer,Size,Stream", of which the
 * first line may be missing. Times are those of a day, "10:00:01:000021" with microseconds (older
 * releases write a point). A line that is no event is passed over and counted.
 */
#include "snapshot/read/readers.h"

#include <stdlib.h>
#include <string.h>

#include "support/units.h"

#include "snapshot/read/told_events.h"

enum { FIELDS = 6, LONGEST_LINE = 4096 };

#define DAY_US INT64_C(86400000000)

static bool split(struct mt_str line, struct mt_str fields[FIELDS])
{
    for (int i = 0; i < FIELDS; i++) {
        const char *comma = line.n ? memchr(line.p, ',', line.n) : NULL;
        size_t n = comma ? (size_t)(comma - line.p) : line.n;
        fields[i] = (struct mt_str){line.p, n};
        if (!comma && i + 1 < FIELDS) {
            return false;
        }
        line = comma ? (struct mt_str){line.p + n + 1, line.n - n - 1}
                     : (struct mt_str){line.p + n, 0};
    }
    return true;
}

/* "10:00:01:000021" */
static bool read_time(struct mt_str s, int64_t *us)
{
    uint64_t parts[4] = {0};
    size_t n = 0;
    for (size_t i = 0; i < s.n; n++) {
        size_t end = i;
        while (end < s.n && s.p[end] >= '0' && s.p[end] <= '9') {
            end++;
        }
        if (n == MT_COUNT(parts) || !mt_u64_parse((struct mt_str){s.p + i, end - i}, &parts[n])) {
            return false;
        }
        i = end + 1;
    }
    if (n < 3 || parts[0] > 24 || parts[1] > 59 || parts[2] > 60 || parts[3] > 999999) {
        return false;
    }
    *us = (int64_t)(((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000000 + parts[3]);
    return true;
}

/* "0x7f00..", "(nil)". */
static bool read_pointer(struct mt_str s, uint64_t *value)
{
    char text[32], *end;
    if (mt_str_equal(s, MT_STR("(nil)"))) {
        *value = 0;
        return true;
    }
    if (s.n == 0 || s.n >= sizeof text) {
        return false;
    }
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    *value = strtoull(text, &end, 0);
    return *end == '\0';
}

static bool read_fields(struct mt_str line, struct mt_told_event *e)
{
    static const struct {
        struct mt_str word;
        uint8_t action;
    } ACTIONS[] = {{MT_STR_INIT("allocate"), MT_ACTION_ALLOC},
                   {MT_STR_INIT("free"), MT_ACTION_FREE_COMPLETED},
                   {MT_STR_INIT("deallocate"), MT_ACTION_FREE_COMPLETED},
                   {MT_STR_INIT("allocate failure"), MT_ACTION_OOM}};
    struct mt_str f[FIELDS];
    *e = (struct mt_told_event){0};
    if (!split(line, f) || !read_time(f[1], &e->time_us) || !read_pointer(f[3], &e->addr) ||
        !mt_u64_parse(f[4], &e->size)) {
        return false;
    }
    (void)read_pointer(f[5], &e->stream);
    for (size_t i = 0; i < MT_COUNT(ACTIONS); i++) {
        if (mt_str_equal(f[2], ACTIONS[i].word)) {
            e->action = ACTIONS[i].action;
            return true;
        }
    }
    return false;
}

bool mt_rmm_is(struct mt_str head)
{
    const char *newline = head.n ? memchr(head.p, '\n', head.n) : NULL;
    struct mt_str line = {head.p, newline ? (size_t)(newline - head.p) : head.n};
    struct mt_told_event e;
    line.n -= line.n && line.p[line.n - 1] == '\r';
    return mt_str_starts(head, MT_STR("Thread,Time,Action,Pointer,Size,Stream")) ||
           read_fields(line, &e);
}

/* The next line, without its end; false at the end of the input. */
static bool next_line(struct mt_input *in, struct mt_str *line)
{
    size_t n = 0;
    const char *newline = NULL;
    while (!newline && n < LONGEST_LINE && mt_input_need(in, n + 1)) {
        size_t left = mt_input_left(in);
        newline = memchr(in->at + n, '\n', left - n);
        n = newline ? (size_t)((const uint8_t *)newline - in->at) : left;
    }
    *line = (struct mt_str){(const char *)in->at, n};
    in->at += n + (newline != NULL);
    line->n -= line->n && line->p[line->n - 1] == '\r';
    return n > 0 || newline;
}

enum mt_status mt_rmm_read(struct mt_input *in, struct mt_builder *b, uint64_t max_events,
                           struct mt_error *err)
{
    struct mt_told_events told = {0};
    struct mt_str line;
    enum mt_status status = MT_OK;
    int64_t day = 0, before = 0;
    while (status == MT_OK && next_line(in, &line)) {
        struct mt_told_event e;
        if (!read_fields(line, &e)) {
            bool head = mt_str_starts(line, MT_STR("Thread,"));
            mt_builder_count_unknown(b, line.n && !head);
            continue;
        }
        day += e.time_us + day < before - DAY_US / 2 ? DAY_US : 0; /* midnight */
        e.time_us += day;
        before = e.time_us;
        if (told.v.n >= max_events) {
            status = mt_fail(err, MT_LIMIT, mt_input_offset(in), "more than %llu events",
                             (unsigned long long)max_events);
        } else if (!mt_vec_push(&told.v, e)) {
            status = mt_fail_nomem(err);
        }
    }
    if (status == MT_OK && in->failure.code != MT_OK) {
        *err = in->failure;
        status = err->code;
    }
    if (status == MT_OK) {
        status = mt_told_build(b, &told, err);
    }
    mt_vec_release(&told.v);
    return status;
}
