/* SPDX-License-Identifier: MIT */
/* A line is what cJSON would have written, whatever the text holds. */
#include "print/json_line.h"

#include "print/report.h"

#include "print.h"
#include "unit.h"

static void keys(struct mt_buf *b, struct mt_str text)
{
    mt_line_open(b, '{');
    mt_line_u64(b, "u", UINT64_MAX);
    mt_line_i64(b, "i", INT64_MIN);
    mt_line_i64(b, "z", 0);
    mt_line_addr(b, "a", 0x7f0000000200);
    mt_line_null(b, "n");
    mt_line_str(b, "s", text);
    mt_line_key(b, "l");
    mt_line_open(b, '[');
    for (int i = 0; i < 2; i++) {
        mt_line_open(b, '{');
        mt_line_u64(b, "k", (uint64_t)i);
        mt_line_close(b, '}');
    }
    mt_line_close(b, ']');
    mt_line_close(b, '}');
    mt_buf_char(b, '\n');
}

static cJSON *tree(struct mt_str text)
{
    cJSON *o = cJSON_CreateObject();
    ck_assert(mt_json_u64(o, "u", UINT64_MAX) && mt_json_i64(o, "i", INT64_MIN));
    ck_assert(mt_json_i64(o, "z", 0) && mt_json_addr(o, "a", 0x7f0000000200));
    ck_assert(mt_json_null(o, "n") && mt_json_str(o, "s", text));
    cJSON *list = cJSON_AddArrayToObject(o, "l");
    for (uint64_t i = 0; i < 2; i++) {
        cJSON *item = cJSON_CreateObject();
        ck_assert(mt_json_u64(item, "k", i) && cJSON_AddItemToArray(list, item));
    }
    return o;
}

static void compare(struct mt_str text)
{
    struct mt_buf line = {0};
    struct mt_error err;
    struct print p;
    keys(&line, text);
    print_begin(&p);
    ck_assert_int_eq(mt_json_end(&p.r, tree(text), true, &err), MT_OK);
    print_end(&p);
    ck_assert_str_eq(line.p, p.text);
    cJSON *back = cJSON_Parse(line.p);
    ck_assert_ptr_nonnull(back);
    cJSON_Delete(back);
    print_free(&p);
    mt_buf_release(&line);
}

START_TEST(as_cjson)
{
    static const struct mt_str texts[] = {
        MT_STR_INIT(""),
        MT_STR_INIT("plain text/with ~ marks"),
        MT_STR_INIT("{"),
        MT_STR_INIT("[:,"),
        MT_STR_INIT("\"\\\"quoted\\"),
        MT_STR_INIT("é\xff\xc3\0.\xed\xa0\x80"),
        MT_STR_INIT("\x7f|\xc2\x9b"
                    "31m|\xe2\x80\xae|\xf3\xa0\x80\x81|\xc3\xa9|\xf0\x9f\x94\xa5"),
    };
    for (size_t i = 0; i < MT_COUNT(texts); i++) {
        compare(texts[i]);
    }
    for (int c = 0; c < 256; c++) {
        char text[] = {'a', (char)c, 'b'};
        compare((struct mt_str){text, sizeof text});
    }
}
END_TEST

/* The square of this would take hours. */
START_TEST(backslashes_without_end)
{
    enum { N = 1 << 19, EACH = 8 };
    struct mt_buf raw = {0}, line = {0};
    for (int i = 0; i < N; i++) {
        mt_buf_add(&raw, "\\x1b[31\"", EACH);
    }
    mt_line_str(&line, "s", mt_buf_view(&raw));
    ck_assert(!raw.failed && !line.failed);
    ck_assert_uint_eq(line.n, 7 + (EACH + 2) * (size_t)N);
    mt_buf_release(&raw);
    mt_buf_release(&line);
}
END_TEST

UNIT_MAIN("json_line", as_cjson, backslashes_without_end)
