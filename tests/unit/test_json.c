/* SPDX-License-Identifier: MIT */
/* JSON that keeps every bit of integers and is valid whatever the strings hold. */
#include <math.h>
#include <string.h>

#include "print/report.h"
#include <memtool/version.h>

#include "print.h"
#include "unit.h"

START_TEST(exact_and_valid)
{
    struct print p;
    struct mt_error err;
    print_begin(&p);
    p.r.file = "a\nb";
    cJSON *j = mt_json_begin(&p.r, "stats/1");
    ck_assert(mt_json_u64(j, "u", UINT64_MAX));
    ck_assert(mt_json_i64(j, "i", INT64_MIN));
    ck_assert(mt_json_ratio(j, "r", 0.25));
    ck_assert(mt_json_ratio(j, "nan", nan("")));
    ck_assert(mt_json_addr(j, "a", 0x7f0000000200));
    ck_assert(mt_json_str(j, "s", MT_STR("é\xff\"\\\033\0.")));
    ck_assert(mt_json_bool(j, "b", true));
    ck_assert(mt_json_null(j, "n"));
    cJSON *list = cJSON_AddArrayToObject(j, "l");
    ck_assert(cJSON_AddItemToArray(list, mt_json_u64_item(UINT64_C(9007199254740993))));
    ck_assert(cJSON_AddItemToArray(list, mt_json_str_item(MT_STR("x"))));
    ck_assert_int_eq(mt_json_end(&p.r, j, true, &err), MT_OK);
    print_end(&p);
    ck_assert_str_eq(p.text, "{\"memtool\":\"" MT_VERSION "\",\"schema\":\"stats/1\","
                             "\"file\":\"a\\nb\",\"u\":18446744073709551615,"
                             "\"i\":-9223372036854775808,\"r\":0.25,\"nan\":null,"
                             "\"a\":\"0x7f0000000200\","
                             "\"s\":\"é\xef\xbf\xbd\\\"\\\\\\u001b\xef\xbf\xbd.\",\"b\":true,"
                             "\"n\":null,\"l\":[9007199254740993,\"x\"]}\n");
    cJSON *back = cJSON_Parse(p.text);
    ck_assert_ptr_nonnull(back);
    cJSON_Delete(back);
    print_free(&p);
}
END_TEST

/* Nothing in a name moves the cursor or turns the text, and a parser still reads the very name. */
START_TEST(nothing_for_the_terminal)
{
    static const char NAME[] = "\x7f|\xc2\x9b"
                               "31m|\xe2\x80\xae|\xf3\xa0\x80\x81|\xc3\xa9";
    struct print p;
    struct mt_error err;
    print_begin(&p);
    cJSON *j = mt_json_begin(&p.r, "stats/1");
    ck_assert(mt_json_str(j, NAME, mt_str_from(NAME)));
    ck_assert_int_eq(mt_json_end(&p.r, j, true, &err), MT_OK);
    print_end(&p);
    ck_assert_ptr_nonnull(
        strstr(p.text, ":\"\\u007f|\\u009b31m|\\u202e|\\udb40\\udc01|\xc3\xa9\"}"));
    cJSON *back = cJSON_Parse(p.text);
    ck_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(back, NAME)), NAME);
    cJSON_Delete(back);
    print_free(&p);
}
END_TEST

START_TEST(nothing_to_print)
{
    struct print p;
    struct mt_error err;
    print_begin(&p);
    ck_assert_int_eq(mt_json_end(&p.r, NULL, false, &err), MT_NOMEM);
    print_end(&p);
    ck_assert_uint_eq(p.n, 0);
    print_free(&p);
}
END_TEST

UNIT_MAIN("json", exact_and_valid, nothing_for_the_terminal, nothing_to_print)
