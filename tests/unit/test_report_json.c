/* SPDX-License-Identifier: MIT */
/* Reports as JSON keep every bit of integers and are valid whatever the strings hold. */
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include <memtool/version.h>
#include "print/report_json.h"

#include "print.h"
#include "unit.h"

START_TEST(exact_and_valid)
{
    struct print p;
    struct mt_error err;
    print_begin(&p);
    p.r.file = "a\nb";
    struct mt_json_out json;
    struct mt_out j = mt_report_json(&json, &p.r, "stats/1", true);
    mt_out_u64(j, "u", UINT64_MAX);
    mt_out_i64(j, "i", INT64_MIN);
    mt_out_f64(j, "r", 0.25);
    mt_out_f64(j, "nan", nan(""));
    mt_out_addr(j, "a", 0x7f0000000200);
    mt_out_str(j, "s", MT_STR("é\xff\"\\\033\0."));
    mt_out_bool(j, "b", true);
    mt_out_null(j, "n");
    struct mt_out list = mt_out_array(j, "l");
    mt_out_u64(list, NULL, UINT64_C(9007199254740993));
    mt_out_str(list, NULL, MT_STR("x"));
    ck_assert_int_eq(mt_report_json_end(j, &err), MT_OK);
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
    struct mt_json_out json;
    struct mt_out j = mt_report_json(&json, &p.r, "stats/1", true);
    mt_out_str(j, NAME, mt_str_from(NAME));
    ck_assert_int_eq(mt_report_json_end(j, &err), MT_OK);
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
    struct mt_json_out json;
    struct mt_out j = mt_report_json(&json, &p.r, "stats/1", false);
    json.text.failed = true; /* memory ran out somewhere */
    ck_assert_int_eq(mt_report_json_end(j, &err), MT_NOMEM);
    print_end(&p);
    ck_assert_uint_eq(p.n, 0);
    print_free(&p);
}
END_TEST

UNIT_MAIN("report_json", exact_and_valid, nothing_for_the_terminal, nothing_to_print)
