/* SPDX-License-Identifier: MIT */
/* Text, CSV and JSON from one description; sums of what is not shown. */
#include "print/rows.h"

#include "print.h"
#include "unit.h"

struct row {
    uint64_t bytes, largest, whole;
    int32_t device;
};

static size_t word(struct mt_buf *b, const struct mt_rows *x, const void *row)
{
    mt_buf_printf(b, "%s%llu", (const char *)x->ctx,
                  (unsigned long long)((const struct row *)row)->bytes);
    return 0;
}

static void put_word(struct mt_out o, const struct mt_rows *x, const void *row)
{
    (void)row;
    mt_out_text(o, "word", x->ctx);
}

#define AT(field) .at = offsetof(struct row, field)

static const struct mt_row_column COLUMNS[] = {
    {"DEVICE", "device", "device", MT_ROW_ID, AT(device)},
    {"BYTES", "bytes", "bytes", MT_ROW_COUNT, AT(bytes)},
    {"LARGEST", NULL, NULL, MT_ROW_MOST, AT(largest)},
    {"FULL", "full_share", NULL, MT_ROW_SHARE, AT(bytes), .of = offsetof(struct row, whole)},
    {NULL, NULL, "whole_bytes", MT_ROW_SIZE, AT(whole)},
    {"WORD", "word", NULL, MT_ROW_TEXT, .text = word, .put = put_word},
};

static const struct row ROWS[] = {{5, 3, 10, 0}, {4, 4, 8, 1}, {3, 2, UINT64_MAX, 1}};

static struct mt_rows rows_of(const struct mt_report *r)
{
    return (struct mt_rows){.r = r,
                            .columns = COLUMNS,
                            .n_columns = MT_COUNT(COLUMNS),
                            .rows = ROWS,
                            .n = MT_COUNT(ROWS),
                            .size = sizeof *ROWS,
                            .ctx = "w",
                            .named = 5};
}

static void expect(char separator, size_t limit, uint64_t hidden, const char *text)
{
    struct print p;
    struct mt_error err;
    print_begin(&p);
    p.r.separator = separator;
    p.r.limit = limit;
    struct mt_rows x = rows_of(&p.r);
    x.hidden = hidden;
    x.of_total = " of 3";
    ck_assert_int_eq(mt_rows_print(&x, 0, &err), MT_OK);
    print_end(&p);
    ck_assert_str_eq(p.text, text);
    print_free(&p);
}

START_TEST(as_text)
{
    expect(0, 1, 0,
           "DEVICE  BYTES  LARGEST    FULL  WORD\n"
           "     0      5      3 B  50.0 %  w5\n"
           "            7      4 B   0.0 %  [2 others]\n"
           "------------------------------------------\n"
           "           12      4 B   0.0 %  TOTAL of 3\n");
    expect(0, 2, 1 << 0 | 1 << 2 | 1 << 3,
           "BYTES  WORD\n"
           "    5  w5\n"
           "    4  w4\n"
           "    3  [1 other]\n"
           "-----------------\n"
           "   12  TOTAL of 3\n");
}
END_TEST

START_TEST(as_csv)
{
    expect(',', 2, 1, "device,bytes,full_share,word\n0,5,0.500000,w5\n1,4,0.500000,w4\n");
}
END_TEST

START_TEST(as_json)
{
    struct mt_json_out json = {0};
    struct mt_report r = {.limit = 2};
    struct mt_rows x = rows_of(&r);
    struct mt_out o = mt_out_object(mt_out_here(&json), NULL);
    mt_out_row_list(o, "rows", &x);
    mt_out_end(o);
    ck_assert_str_eq(json.text.p,
                     "{\"rows\":[{\"device\":0,\"bytes\":5,\"whole_bytes\":10,\"word\":\"w\"},"
                     "{\"device\":1,\"bytes\":4,\"whole_bytes\":8,\"word\":\"w\"}]}");
    mt_buf_release(&json.text);
}
END_TEST

UNIT_MAIN("rows", as_text, as_csv, as_json)
