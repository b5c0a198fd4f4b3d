/* SPDX-License-Identifier: MIT */
/* The memo keeps every word exactly, whatever its tag and width, at any index. */
#include "snapshot/schema/memo.h"

#include "unit.h"

START_TEST(words_come_back)
{
    struct mt_memo memo = {0};
    const uint64_t payloads[] = {0, 1, (1u << 28) - 2, (1u << 28) - 1, 1u << 28, UINT64_C(1) << 59};
    size_t n = 0;
    for (int tag = 0; tag < 16; tag++) {
        for (size_t i = 0; i < MT_COUNT(payloads); i++) {
            ck_assert(mt_memo_put(&memo, n++, mt_word_make((enum mt_tag)tag, payloads[i])));
        }
    }
    n = 0;
    for (int tag = 0; tag < 16; tag++) {
        for (size_t i = 0; i < MT_COUNT(payloads); i++) {
            mt_word w;
            ck_assert(mt_memo_get(&memo, n++, &w));
            ck_assert_int_eq((int)mt_word_tag(w), tag);
            ck_assert_uint_eq(mt_word_payload(w), payloads[i]);
        }
    }
    mt_memo_release(&memo);
}
END_TEST

START_TEST(holes_are_never_stored)
{
    struct mt_memo memo = {0};
    mt_word w;
    ck_assert(!mt_memo_get(&memo, 0, &w));
    ck_assert(mt_memo_put(&memo, 5, mt_word_make(MT_TAG_STR, 3)));
    ck_assert(!mt_memo_get(&memo, 4, &w));
    ck_assert(!mt_memo_get(&memo, 6, &w));
    ck_assert(mt_memo_put(&memo, 4, mt_word_from_int(-7)));
    ck_assert(mt_memo_get(&memo, 4, &w));
    ck_assert_int_eq(mt_word_int(w), -7);
    mt_memo_release(&memo);
}
END_TEST

UNIT_MAIN("memo", words_come_back, holes_are_never_stored)
