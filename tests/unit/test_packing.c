/* SPDX-License-Identifier: MIT */
/* Packings: never below what is alive at once, valid, and optimal where that is easy to see. */
#include "unit.h"

#include <string.h>

#include "heap/findings/packing.h"

static struct mt_error err;

static const struct {
    struct mt_lifetime list[5];
    size_t n;
    uint64_t alive, packed;
} CASES[] = {
    {{{0, 0, 0}}, 0, 0, 0},
    {{{0, 4, 512}, {1, 3, 1024}, {3, 6, 1024}}, 3, 1536, 1536},
    {{{0, 2, 512}, {2, 4, 512}}, 2, 512, 512}, /* the end of one is the beginning of the other */
    {{{0, 2, 1}, {1, 3, 2}, {2, 4, 1}, {3, 5, 2}}, 4, 3, 3},
    {{{0, 3, 2}, {2, 5, 1}, {4, 7, 2}, {1, 4, 1}, {5, 8, 1}}, 5, 4, 4},
};

START_TEST(what_is_alive_at_once_is_the_bound)
{
    struct mt_lifetime list[5];
    struct mt_packing p;
    memcpy(list, CASES[_i].list, sizeof list);
    ck_assert_int_eq(mt_packing_find(&p, list, CASES[_i].n, &err), MT_OK);
    ck_assert_uint_eq(p.alive, CASES[_i].alive);
    ck_assert(p.known);
    ck_assert_uint_eq(p.packed, CASES[_i].packed);
}
END_TEST

static struct mt_lifetime many[MT_PACKING_MOST + 1];

START_TEST(a_packing_is_never_below_the_bound)
{
    struct mt_packing p;
    uint32_t seed = 1;
    for (size_t i = 0; i < 500; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t from = (seed >> 8) % 1000;
        many[i] = (struct mt_lifetime){from, from + 1 + (seed >> 20) % 100, 1 + (seed >> 12) % 999};
    }
    ck_assert_int_eq(mt_packing_find(&p, many, 500, &err), MT_OK);
    ck_assert_uint_ge(p.packed, p.alive);
    ck_assert_uint_le(p.packed, p.alive + p.alive / 5);
}
END_TEST

START_TEST(too_many_have_the_bound_alone)
{
    struct mt_packing p;
    for (size_t i = 0; i <= MT_PACKING_MOST; i++) {
        many[i] = (struct mt_lifetime){(uint32_t)i, (uint32_t)i + 2, 512};
    }
    ck_assert_int_eq(mt_packing_find(&p, many, MT_PACKING_MOST + 1, &err), MT_OK);
    ck_assert(!p.known);
    ck_assert_uint_eq(p.alive, 1024);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("packing");
    tcase_add_loop_test(t, what_is_alive_at_once_is_the_bound, 0, (int)MT_COUNT(CASES));
    tcase_add_test(t, a_packing_is_never_below_the_bound);
    tcase_add_test(t, too_many_have_the_bound_alone);
    return unit_run_cases("packing", t);
}
