/* SPDX-License-Identifier: MIT */
/*
 * The filter options that verbs share, and the little languages of their values: sizes A:B (both
 * ends inside), events A:B (A inside, B not), times A:B or A+DURATION (both inside). Either end may
 * be missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
#include "cli/options/options.h"

static enum mt_status wrong(struct mt_error *err, const char *text, const char *expected)
{
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.100s' is not %s", text, expected);
}

/* Cuts text at the first ':'; false when there is none. */
static bool split_range(const char *text, struct mt_str *a, struct mt_str *b)
{
    const char *colon = strchr(text, ':');
    if (!colon) {
        return false;
    }
    *a = (struct mt_str){text, (size_t)(colon - text)};
    *b = mt_str_from(colon + 1);
    return a->n || b->n;
}

static enum mt_status parse_device(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    uint64_t n;
    if (!mt_u64_parse(mt_str_from(text), &n) || n > 1023) {
        return wrong(err, text, "a device number from 0 to 1023");
    }
    f->device = (int32_t)n;
    return MT_OK;
}

/* Numbers this small are what memtool prints for a stream; a handle is a pointer. */
enum { MAX_STREAM_NUMBER = 65535 };

static enum mt_status parse_stream(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    f->said[MT_FILTER_STREAM] = text;
    if (!mt_u64_parse(mt_str_from(text), &f->stream)) {
        return wrong(err, text,
                     "a stream: a handle such as 0x55d0c0de or the number that is "
                     "printed for it, below 2^64");
    }
    f->has_stream = true;
    f->stream_is_index = strncmp(text, "0x", 2) != 0 && f->stream <= MAX_STREAM_NUMBER;
    return MT_OK;
}

static bool parse_pool_id(const char *text, struct mt_pool_id *id)
{
    char *end;
    errno = 0;
    id->a = strtoll(text, &end, 10);
    if (end == text || *end != ',') {
        return false;
    }
    const char *second = end + 1;
    id->b = strtoll(second, &end, 10);
    return end != second && !*end && errno == 0;
}

static enum mt_status parse_pool(void *field, const char *text, struct mt_error *err)
{
    static const struct {
        const char *word;
        enum mt_pool_choice choice;
    } words[] = {{"small", MT_POOL_IS_SMALL},
                 {"large", MT_POOL_IS_LARGE},
                 {"default", MT_POOL_IS_DEFAULT},
                 {"private", MT_POOL_IS_PRIVATE}};
    struct mt_filter *f = field;
    f->said[MT_FILTER_POOL] = text;
    for (size_t i = 0; i < MT_COUNT(words); i++) {
        if (strcmp(text, words[i].word) == 0) {
            f->pool = words[i].choice;
            return MT_OK;
        }
    }
    if (!parse_pool_id(text, &f->pool_id)) {
        static const char *const NAMES[] = {"small", "large", "default", "private"};
        (void)wrong(
            err, text,
            "one of: small, large, default, private, or an id such as 2,0, each below 2^63");
        return mt_hint_near(err, text, NAMES, MT_COUNT(NAMES));
    }
    f->pool = MT_POOL_IS_ID;
    return MT_OK;
}

static enum mt_status parse_size(void *field, const char *text, struct mt_error *err)
{
    static const char expected[] =
        "a range of sizes such as 1MiB:64MiB, 1MiB: or :64MiB, each below 16EiB";
    struct mt_filter *f = field;
    struct mt_str a, b;
    f->said[MT_FILTER_SIZE] = text;
    f->size_min = 0;
    f->size_max = UINT64_MAX;
    if (!split_range(text, &a, &b) || (a.n && !mt_size_parse(a, &f->size_min)) ||
        (b.n && !mt_size_parse(b, &f->size_max))) {
        return wrong(err, text, expected);
    }
    return f->size_min <= f->size_max ? MT_OK
                                      : wrong(err, text, "a range: its end is before its start");
}

static enum mt_status parse_events(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    struct mt_str a, b;
    f->said[MT_FILTER_EVENTS] = text;
    f->event_min = 0;
    f->event_max = UINT64_MAX;
    if (!split_range(text, &a, &b) || (a.n && !mt_u64_parse(a, &f->event_min)) ||
        (b.n && !mt_u64_parse(b, &f->event_max))) {
        return wrong(err, text, "a range of events such as 100:200, 100: or :200, each below 2^64");
    }
    return f->event_min <= f->event_max ? MT_OK
                                        : wrong(err, text, "a range: its end is before its start");
}

static enum mt_status parse_time(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    f->said[MT_FILTER_TIME] = text;
    f->has_time = true;
    return mt_time_range_parse(mt_str_from(text), &f->time_min_us, &f->time_max_us,
                               &f->time_is_absolute, err);
}

enum mt_status mt_regex_compile(regex_t *regex, bool *has, const char *text, struct mt_error *err)
{
    if (*has) {
        regfree(regex);
        *has = false;
    }
    MT_TRY(mt_filter_compile(regex, text, err));
    *has = true;
    return MT_OK;
}

static enum mt_status parse_frame(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    f->said[MT_FILTER_FRAME] = text;
    return mt_regex_compile(&f->frame, &f->has_frame, text, err);
}

static enum mt_status parse_not_frame(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    f->said[MT_FILTER_NOT_FRAME] = text;
    return mt_regex_compile(&f->not_frame, &f->has_not_frame, text, err);
}

static enum mt_status parse_label(void *field, const char *text, struct mt_error *err)
{
    struct mt_filter *f = field;
    f->said[MT_FILTER_LABEL] = text;
    return mt_regex_compile(&f->label, &f->has_label, text, err);
}

/* The parsers take the whole filter: offset 0. */
#define AT(field) offsetof(struct mt_filter, field)

const struct mt_option MT_FILTER_OPTIONS[] = {
    MT_OPT_CUSTOM(0, "device", 0, "N", parse_device, "only this device", .common = true),
    MT_OPT_CUSTOM(0, "stream", 0, "STREAM", parse_stream,
                  "only this stream: its handle 0x.. or the number printed for it"),
    MT_OPT_CUSTOM(0, "pool", 0, "POOL", parse_pool,
                  "only this pool: small, large, default, private or an id such as 2,0"),
    MT_OPT_CUSTOM(0, "size", 0, "A:B", parse_size, "only sizes from A to B, for example 1MiB:64MiB",
                  .common = true),
    MT_OPT_CUSTOM(0, "events", 0, "A:B", parse_events,
                  "only events A to B - 1 of the device's trace"),
    MT_OPT_CUSTOM(0, "time", 0, "A:B", parse_time,
                  "only events from A to B: 1.5s:2s or 1.5s+300ms after the first, or ISO 8601"),
    MT_OPT_TEXT(0, "annotation", AT(annotation), "NAME",
                "only events inside annotations of this name"),
    MT_OPT_CUSTOM(0, "frame", 0, "REGEX", parse_frame,
                  "only stacks with a frame \"file:line name\" that matches", .common = true),
    MT_OPT_CUSTOM(0, "not-frame", 0, "REGEX", parse_not_frame, "only stacks without such a frame"),
    MT_OPT_CUSTOM(0, "label", 0, "REGEX", parse_label,
                  "only memory whose label (what the program said of it, or its region of "
                  "torch.compile) matches"),
    MT_OPT_FLAG(0, "live", AT(live_only), "only memory that is never freed in the trace"),
    MT_OPT_FLAG(0, "freed", AT(freed_only), "only memory that is freed in the trace"),
};
_Static_assert(MT_COUNT(MT_FILTER_OPTIONS) == MT_FILTER_OPTIONS_N, "command.h states how many");

void mt_filter_group_init(void *filter)
{
    mt_filter_init(filter);
}

void mt_filter_group_release(void *filter)
{
    mt_filter_release(filter);
}
