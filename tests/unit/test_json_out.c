/* SPDX-License-Identifier: MIT */
/* What is written is what cJSON would have written, whatever the text holds. */
#include "support/json_out.h"

#include <math.h>

#include <cjson/cJSON.h>

#include "unit.h"

static void keys(struct mt_json_out *json, struct mt_str text)
{
    struct mt_out o = mt_out_object(mt_out_here(json), NULL);
    mt_out_bool(o, "b", true);
    mt_out_text(o, "n", NULL);
    mt_out_str(o, "s", text);
    (void)mt_out_object(o, "e");
    struct mt_out list = mt_out_array(o, "l");
    for (uint64_t i = 0; i < 2; i++) {
        struct mt_out item = mt_out_object(list, NULL);
        struct mt_out inner = mt_out_array(item, "k");
        mt_out_u64(inner, NULL, i);
        mt_out_i64(inner, NULL, -5);
        mt_out_f64(item, "x", 0.5 + (double)i);
    }
    (void)mt_out_array(o, "a"); /* ends the list */
    mt_out_end(o);
}

/* The same by cJSON, whose text cannot hold NUL or what is no UTF-8. */
static cJSON *tree(const char *text)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddTrueToObject(o, "b");
    cJSON_AddNullToObject(o, "n");
    cJSON_AddStringToObject(o, "s", text);
    cJSON_AddObjectToObject(o, "e");
    cJSON *list = cJSON_AddArrayToObject(o, "l");
    for (int i = 0; i < 2; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        cJSON *inner = cJSON_AddArrayToObject(item, "k");
        cJSON_AddItemToArray(inner, cJSON_CreateNumber(i));
        cJSON_AddItemToArray(inner, cJSON_CreateNumber(-5));
        cJSON_AddNumberToObject(item, "x", 0.5 + i);
    }
    cJSON_AddArrayToObject(o, "a");
    return o;
}

static void compare(const char *text)
{
    for (int indented = 0; indented <= 1; indented++) {
        struct mt_json_out json = {.indented = indented};
        keys(&json, mt_str_from(text));
        cJSON *o = tree(text);
        char *expected = indented ? cJSON_Print(o) : cJSON_PrintUnformatted(o);
        ck_assert_str_eq(json.text.p, expected);
        cJSON_free(expected);
        cJSON_Delete(o);
        mt_buf_release(&json.text);
    }
}

START_TEST(as_cjson)
{
    static const char *const texts[] = {
        "", "plain text/with ~ marks", "{", "[:,", "\"\\\"quoted\\", "é", "\xf0\x9f\x94\xa5"};
    for (size_t i = 0; i < MT_COUNT(texts); i++) {
        compare(texts[i]);
    }
    for (int c = 1; c < 0x7f; c++) {
        compare((const char[]){'a', (char)c, 'b', '\0'});
    }
}
END_TEST

/* Reports print doubles as cJSON does, Python's JSON as repr does. */
START_TEST(doubles)
{
    static const double x[] = {0.0,    -0.0, 1.0,  -2.5,         0.1,   0.1 + 0.2, 1.0 / 3, 1e300,
                               5e-324, 1e15, 1e16, 2147483648.0, -1e-7, 0.7,       100.0};
    for (size_t i = 0; i < MT_COUNT(x); i++) {
        struct mt_json_out json = {0};
        cJSON *number = cJSON_CreateNumber(x[i]);
        char *expected = cJSON_PrintUnformatted(number);
        mt_out_f64(mt_out_here(&json), NULL, x[i]);
        ck_assert_str_eq(json.text.p, expected);
        cJSON_free(expected);
        cJSON_Delete(number);
        mt_buf_release(&json.text);
    }
    struct mt_json_out json = {.python = true};
    struct mt_out list = mt_out_array(mt_out_here(&json), NULL);
    const double y[] = {
        0.0, -0.0, 1.0, 0.1 + 0.2, 1e300, 5e-324, (double)INFINITY, -(double)INFINITY, (double)NAN};
    for (size_t i = 0; i < MT_COUNT(y); i++) {
        mt_out_f64(list, NULL, y[i]);
    }
    mt_out_end(list);
    ck_assert_str_eq(json.text.p, "[0.0,-0.0,1.0,0.30000000000000004,1e+300,4.94065645841247e-324,"
                                  "1e999,-1e999,null]");
    mt_buf_release(&json.text);
}
END_TEST

static const struct {
    struct mt_str raw;
    const char *report, *python; /* python NULL: the same */
} strings[] = {
    {MT_STR_INIT("a\"b\\c/d\n\t\r\b\f"), "\"a\\\"b\\\\c/d\\n\\t\\r\\b\\f\"", NULL},
    {MT_STR_INIT("nul\0nul"), "\"nul\xef\xbf\xbdnul\"", "\"nul\\u0000nul\""},
    {MT_STR_INIT("\x1b[31m\x7f"), "\"\\u001b[31m\\u007f\"", NULL},
    {MT_STR_INIT("\xc2\x9b"
                 "31m\xe2\x80\xae"
                 "b\xf3\xa0\x80\x81"), /* C1, turned, tag */
     "\"\\u009b31m\\u202eb\\udb40\\udc01\"", NULL},
    {MT_STR_INIT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5"),
     "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5\"", NULL},
    {MT_STR_INIT("\xff|\xc3"), "\"\xef\xbf\xbd|\xef\xbf\xbd\"", "\"\\udcff|\\udcc3\""},
    {MT_STR_INIT("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\"\\udcc0\\udcaf\""}, /* overlong */
    {MT_STR_INIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
     "\"\\ud800\""}, /* lone surrogate */
    {MT_STR_INIT("\xed\xa0\x80\xff"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
     "\"\\udced\\udca0\\udc80\\udcff\""}, /* no pair */
};

START_TEST(texts)
{
    for (size_t i = 0; i < 2 * MT_COUNT(strings); i++) {
        bool python = i % 2;
        const char *as_python = strings[i / 2].python;
        struct mt_json_out json = {.python = python};
        mt_out_str(mt_out_here(&json), NULL, strings[i / 2].raw);
        ck_assert_str_eq(json.text.p, python && as_python ? as_python : strings[i / 2].report);
        mt_buf_release(&json.text);
    }
}
END_TEST

/* Python's dictionaries have any keys. */
START_TEST(keys_of_any_kind)
{
    struct mt_json_out json = {.python = true};
    struct mt_out o = mt_out_object(mt_out_here(&json), NULL);
    mt_out_u64(o, NULL, 1);
    mt_out_u64(o, NULL, 2);
    mt_out_f64(o, NULL, 1);
    mt_out_null(o, NULL);
    mt_out_str(o, NULL, MT_STR("a\"b"));
    struct mt_out rows = mt_out_rows(mt_out_here(&json), NULL);
    mt_out_addr(rows, NULL, 0x7f0000000200);
    mt_out_addr(rows, NULL, 0);
    mt_out_end(rows);
    ck_assert(mt_out_wants_key(o));
    mt_out_end(o);
    ck_assert_str_eq(json.text.p,
                     "{\"1\":2,\"1.0\":null,\"a\\\"b\":[\n\"0x7f0000000200\",\n\"0x0\"]}");
    mt_buf_release(&json.text);
}
END_TEST

START_TEST(tuples_stay_together)
{
    struct mt_json_out json = {.indented = true};
    struct mt_out o = mt_out_object(mt_out_here(&json), NULL);
    struct mt_out pool = mt_out_tuple(o, "pool_id");
    mt_out_i64(pool, NULL, INT64_MIN);
    mt_out_u64(pool, NULL, UINT64_MAX);
    mt_out_known(o, "n", false, 3);
    mt_out_end(o);
    ck_assert_str_eq(json.text.p,
                     "{\n\t\"pool_id\":\t[-9223372036854775808,18446744073709551615],\n"
                     "\t\"n\":\tnull\n}");
    mt_buf_release(&json.text);
}
END_TEST

static void count(void *to, const void *p, size_t n)
{
    ck_assert(n == 0 || p);
    *(size_t *)to += n;
}

/* The square of this would take hours; and text is handed on while it is written. */
START_TEST(backslashes_without_end)
{
    enum { N = 1 << 19, EACH = 8 };
    struct mt_buf raw = {0};
    size_t taken = 0;
    struct mt_json_out json = {.drain = count, .to = &taken};
    for (int i = 0; i < N; i++) {
        mt_buf_add(&raw, "\\x1b[31\"", EACH);
    }
    struct mt_out o = mt_out_object(mt_out_here(&json), NULL);
    mt_out_str(o, "s", mt_buf_view(&raw));
    mt_out_u64(o, "n", 1);
    ck_assert_uint_eq(taken, 0 + 6 + 1 + (EACH + 2) * (size_t)N);
    mt_out_end(o);
    ck_assert(!raw.failed && !json.text.failed);
    ck_assert_uint_eq(taken, 7 + (EACH + 2) * (size_t)N + sizeof ",\"n\":1}" - 1);
    mt_buf_release(&raw);
    mt_buf_release(&json.text);
}
END_TEST

UNIT_MAIN("json_out", as_cjson, doubles, texts, keys_of_any_kind, tuples_stay_together,
          backslashes_without_end)
