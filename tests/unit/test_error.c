/* SPDX-License-Identifier: MIT */
/* Errors: texts that fit and that do not, context in front, and the exit code of every status. */
#include <stdint.h>

#include "support/error.h"
#include "support/mem.h"

#include "unit.h"

START_TEST(filling)
{
    struct mt_error err;
    ck_assert_int_eq(mt_fail(&err, MT_FORMAT, 8123, "memo %d", 7), MT_FORMAT);
    ck_assert_str_eq(err.text, "memo 7");
    ck_assert_str_eq(err.hint, "");
    ck_assert_uint_eq(err.offset, 8123);
    ck_assert_int_eq(mt_hint(&err, "try %s", "this"), MT_FORMAT);
    ck_assert_str_eq(err.hint, "try this");
    ck_assert_int_eq(mt_error_prefix(&err, "device_traces[%d]", 3), MT_FORMAT);
    ck_assert_str_eq(err.text, "device_traces[3]: memo 7");
    ck_assert_int_eq(mt_fail_nomem(&err), MT_NOMEM);
    ck_assert_str_eq(err.hint, "");
}
END_TEST

START_TEST(texts_too_long)
{
    struct mt_error err;
    char longer[2 * sizeof err.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    mt_fail(&err, MT_IO, MT_NO_OFFSET, "%s", longer);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    mt_error_prefix(&err, "in front");
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    ck_assert_int_eq(strncmp(err.text, "in front: xxx", 13), 0);
    mt_error_prefix(&err, "%s", longer);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    mt_hint(&err, "%s", longer);
    ck_assert_uint_eq(strlen(err.hint), sizeof err.hint - 1);
}
END_TEST

/* The numbers are a promise to scripts: memtool(1), EXIT STATUS. */
START_TEST(exit_codes)
{
    static const struct {
        enum mt_status status;
        int code;
    } promised[] = {{MT_OK, 0},          {MT_USAGE, 2},      {MT_IO, 3},       {MT_FORMAT, 3},
                    {MT_UNSUPPORTED, 3}, {MT_OUTPUT, 5},     {MT_LIMIT, 6},    {MT_NOMEM, 6},
                    {MT_DEVICE, 7},      {MT_DEVICE_OOM, 7}, {MT_INTERNAL, 70}};
    for (size_t i = 0; i < MT_COUNT(promised); i++) {
        ck_assert_int_eq(mt_status_exit_code(promised[i].status), promised[i].code);
        ck_assert_str_ne(mt_status_text(promised[i].status), "unknown status");
    }
    ck_assert_int_eq(mt_status_exit_code((enum mt_status)99), 70);
}
END_TEST

START_TEST(memory_products)
{
    ck_assert_ptr_null(mt_mem_alloc(SIZE_MAX, 2));
    ck_assert_ptr_null(mt_mem_zalloc(SIZE_MAX, 2));
    ck_assert_ptr_null(mt_mem_realloc(NULL, SIZE_MAX, 2));
    void *p = mt_mem_alloc(0, 8);
    ck_assert_ptr_nonnull(p);
    mt_mem_free(p);
    mt_mem_free(NULL);
}
END_TEST

UNIT_MAIN("error", filling, texts_too_long, exit_codes, memory_products)
