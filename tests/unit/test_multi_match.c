/* SPDX-License-Identifier: MIT */
/* The word search against a naive one. */
#include "triage/multi_match.h"

#include "unit.h"

static const struct mt_str WORDS[] = {MT_STR_INIT("memory"), MT_STR_INIT("memory:"),
                                      MT_STR_INIT("killed"), MT_STR_INIT("out of"),
                                      MT_STR_INIT("emoryx"), MT_STR_INIT("memory")};

static size_t find_all(struct mt_str text, struct mt_multi_hit *hits, size_t max)
{
    struct mt_multi m;
    struct mt_error err;
    size_t n = 0;
    ck_assert_int_eq(mt_multi_init(&m, WORDS, MT_COUNT(WORDS), &err), MT_OK);
    for (size_t at = 0; n < max && mt_multi_find(&m, text, at, &hits[n]); n++) {
        at = hits[n].at + 1;
    }
    mt_multi_release(&m);
    return n;
}

START_TEST(every_place_and_case)
{
    struct mt_multi_hit h[8];
    ck_assert_uint_eq(find_all(MT_STR("MEMORY killed Out Of memory"), h, 8), 4);
    ck_assert_uint_eq(h[0].at, 0);
    ck_assert_uint_eq(h[1].at, 7);
    ck_assert_uint_eq(h[2].at, 14);
    ck_assert_uint_eq(h[3].at, 21);
    ck_assert_uint_eq(find_all(MT_STR(""), h, 8), 0);
    ck_assert_uint_eq(find_all(MT_STR("memor"), h, 8), 0);
}
END_TEST

START_TEST(longest_then_first)
{
    struct mt_multi_hit h[8];
    ck_assert_uint_eq(find_all(MT_STR("memory: 3"), h, 8), 1);
    ck_assert_uint_eq(h[0].which, 1);
    ck_assert_uint_eq(find_all(MT_STR("memory 3"), h, 8), 1);
    ck_assert_uint_eq(h[0].which, 0);
    ck_assert_uint_eq(find_all(MT_STR("memoryx"), h, 8), 2); /* overlapping ones too */
    ck_assert_uint_eq(h[1].which, 4);
}
END_TEST

/* Bytes that share a block with letters of the words (case bits are cut off). */
START_TEST(look_alike_bytes)
{
    struct mt_multi_hit h[8];
    ck_assert_uint_eq(find_all(MT_STR("-%-/29 \x8d\x85\x8d\x8f\x92\x99"), h, 8), 0);
    ck_assert_uint_eq(find_all(MT_STR("mem\0ry memor\xff"), h, 8), 0);
}
END_TEST

UNIT_MAIN("multi_match", every_place_and_case, longest_then_first, look_alike_bytes)
