/* SPDX-License-Identifier: MIT */
/* The sink: numbers and strings as JSON wants them, gzip that zlib reads back, failures that stick.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "snapshot/write/sink.h"

#include "unit.h"

/* Everything that `stream` holds, NUL-terminated; the caller frees. */
static char *slurp(FILE *stream, size_t *n)
{
    fflush(stream);
    long size = ftell(stream);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    rewind(stream);
    *n = fread(text, 1, (size_t)size, stream);
    text[*n] = '\0';
    return text;
}

static struct mt_sink *sink;
static FILE *stream;

static void begin(bool gzip)
{
    stream = tmpfile();
    sink = mt_sink_new(stream, gzip);
    ck_assert_ptr_nonnull(sink);
}

static char *finish(size_t *n)
{
    struct mt_error err;
    ck_assert_int_eq(mt_sink_finish(sink, &err), MT_OK);
    mt_sink_free(sink);
    char *text = slurp(stream, n);
    fclose(stream);
    return text;
}

static void expect(const char *want)
{
    size_t n;
    char *got = finish(&n);
    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(integers)
{
    begin(false);
    mt_sink_u64(sink, 0);
    mt_sink_char(sink, ' ');
    mt_sink_u64(sink, UINT64_MAX);
    mt_sink_char(sink, ' ');
    mt_sink_i64(sink, INT64_MIN);
    expect("0 18446744073709551615 -9223372036854775808");
}
END_TEST

START_TEST(reals)
{
    static const double x[] = {0.0, 1.0, -2.5, 0.1, 1e300, 5e-324, 1.0 / 3};
    begin(false);
    for (size_t i = 0; i < MT_COUNT(x); i++) {
        mt_sink_json_f64(sink, x[i]);
        mt_sink_char(sink, ' ');
    }
    mt_sink_json_f64(sink, (double)INFINITY);
    mt_sink_char(sink, ' ');
    mt_sink_json_f64(sink, (double)-INFINITY);
    mt_sink_char(sink, ' ');
    mt_sink_json_f64(sink, (double)NAN);
    expect("0.0 1.0 -2.5 0.1 1e+300 4.94065645841247e-324 0.3333333333333333 1e999 -1e999 null");
}
END_TEST

static const struct {
    struct mt_str raw;
    const char *json;
} strings[] = {
    {MT_STR_INIT(""), "\"\""},
    {MT_STR_INIT("plain"), "\"plain\""},
    {MT_STR_INIT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
    {MT_STR_INIT("\n\t\r\b\f"), "\"\\n\\t\\r\\b\\f\""},
    {MT_STR_INIT("nul\0nul"), "\"nul\\u0000nul\""},
    {MT_STR_INIT("\x1b[31m\x7f"), "\"\\u001b[31m\\u007f\""},
    {MT_STR_INIT("\xc2\x9b"
                 "31m\xe2\x80\xae"
                 "b\xf3\xa0\x80\x81"), /* C1, turned, tag */
     "\"\\u009b31m\\u202eb\\udb40\\udc01\""},
    {MT_STR_INIT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5"),
     "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5\""},
    {MT_STR_INIT("\xed\xa0\x80"), "\"\\ud800\""},                          /* lone surrogate */
    {MT_STR_INIT("\xed\xa0\x80\xff"), "\"\\udced\\udca0\\udc80\\udcff\""}, /* no pair */
    {MT_STR_INIT("\xff|\xc3"), "\"\\udcff|\\udcc3\""},                     /* no character at all */
    {MT_STR_INIT("\xc0\xaf"), "\"\\udcc0\\udcaf\""},                       /* overlong */
    {MT_STR_INIT("\xf4\x90\x80\x80"), "\"\\udcf4\\udc90\\udc80\\udc80\""}, /* beyond U+10FFFF */
};

START_TEST(json_strings)
{
    begin(false);
    mt_sink_json_str(sink, strings[_i].raw);
    expect(strings[_i].json);
}
END_TEST

/* At the limit all is well; one byte beyond it nothing more reaches the stream. */
START_TEST(limit)
{
    static const char BLOCK[1000] = {0};
    for (int over = 0; over <= 1; over++) {
        struct mt_error err;
        FILE *f = tmpfile();
        struct mt_sink *s = mt_sink_new(f, false);
        mt_sink_limit(s, sizeof BLOCK * 200);
        for (int i = 0; i < 200; i++) {
            mt_sink_write(s, BLOCK, sizeof BLOCK);
        }
        if (over) {
            mt_sink_char(s, 'x');
        }
        ck_assert_int_eq(mt_sink_finish(s, &err), over ? MT_LIMIT : MT_OK);
        if (over) {
            ck_assert_str_eq(err.text, "the output would be larger than 195.31 KiB");
            ck_assert_ptr_nonnull(strstr(err.hint, "--max-output"));
        }
        ck_assert_int_le(ftell(f), (long)sizeof BLOCK * 200);
        mt_sink_free(s);
        fclose(f);
    }
}
END_TEST

START_TEST(gzip)
{
    enum { LINES = 40000 };
    begin(true);
    for (int i = 0; i < LINES; i++) {
        mt_sink_u64(sink, (uint64_t)i * 7919);
        mt_sink_char(sink, '\n');
    }
    size_t n;
    char *packed = finish(&n);
    static unsigned char plain[LINES * 12];
    z_stream z = {.next_in = (unsigned char *)packed,
                  .avail_in = (uInt)n,
                  .next_out = plain,
                  .avail_out = sizeof plain};
    ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_ptr_nonnull(strstr((char *)plain, "\n316752081\n")); /* 39999 * 7919 */
    ck_assert_uint_lt(n, z.total_out / 2);
    inflateEnd(&z);
    free(packed);
}
END_TEST

START_TEST(first_failure_sticks)
{
    struct mt_error err;
    begin(false);
    mt_sink_fail(sink, MT_UNSUPPORTED, "the first reason");
    mt_sink_fail(sink, MT_LIMIT, "the second");
    mt_sink_text(sink, "never written");
    ck_assert(mt_sink_failed(sink));
    ck_assert_int_eq(mt_sink_finish(sink, &err), MT_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the first reason");
    ck_assert_int_eq((int)ftell(stream), 0);
    mt_sink_free(sink);
    fclose(stream);
}
END_TEST

START_TEST(full_disk)
{
    struct mt_error err;
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        return; /* no such device here */
    }
    setvbuf(full, NULL, _IONBF, 0);
    sink = mt_sink_new(full, false);
    for (int i = 0; i < 200000; i++) {
        mt_sink_char(sink, 'x');
    }
    ck_assert(mt_sink_failed(sink));
    ck_assert_int_eq(mt_sink_finish(sink, &err), MT_OUTPUT);
    mt_sink_free(sink);
    fclose(full);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("sink");
    tcase_add_test(t, integers);
    tcase_add_test(t, reals);
    tcase_add_loop_test(t, json_strings, 0, (int)MT_COUNT(strings));
    tcase_add_test(t, limit);
    tcase_add_test(t, gzip);
    tcase_add_test(t, first_failure_sticks);
    tcase_add_test(t, full_disk);
    return unit_run_cases("sink", t);
}
