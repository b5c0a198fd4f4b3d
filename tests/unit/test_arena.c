/* SPDX-License-Identifier: MIT */
/* The arena: alignment, large pieces, pieces that do not overlap; and growable arrays. */
#include <stdalign.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/vec.h"

#include "unit.h"

START_TEST(pieces)
{
    struct mt_arena a = {0};
    unsigned char *p[400];
    for (size_t i = 0; i < MT_COUNT(p); i++) {
        size_t size = i % 7 == 0 ? 70000 : i * 3;
        p[i] = mt_arena_alloc(&a, size);
        ck_assert_ptr_nonnull(p[i]);
        ck_assert_uint_eq((uintptr_t)p[i] % alignof(max_align_t), 0);
        memset(p[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < MT_COUNT(p); i++) {
        size_t size = i % 7 == 0 ? 70000 : i * 3;
        size_t same = 0;
        while (same < size && p[i][same] == (i & 0xff)) {
            same++;
        }
        ck_assert_uint_eq(same, size);
    }
    mt_arena_release(&a);
    ck_assert_ptr_null(a.chunks);
}
END_TEST

START_TEST(impossible_sizes)
{
    struct mt_arena a = {0};
    ck_assert_ptr_null(mt_arena_alloc(&a, SIZE_MAX));
    ck_assert_ptr_null(mt_arena_alloc(&a, SIZE_MAX - 40));
    ck_assert_ptr_null(mt_arena_copy(&a, "x", SIZE_MAX).p);
    mt_arena_release(&a);
}
END_TEST

START_TEST(copies)
{
    struct mt_arena a = {0};
    struct mt_str s = mt_arena_copy(&a, "a\0b", 3);
    ck_assert_uint_eq(s.n, 3);
    ck_assert_mem_eq(s.p, "a\0b", 4);
    s = mt_arena_copy(&a, NULL, 0);
    ck_assert_str_eq(s.p, "");
    mt_arena_release(&a);
}
END_TEST

START_TEST(vectors)
{
    MT_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert(mt_vec_push(&v, i));
    }
    ck_assert_uint_eq(v.n, 1000);
    ck_assert_uint_ge(v.cap, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(v.v[i], i);
    }
    ck_assert(!mt_vec_reserve(&v, SIZE_MAX / 2));
    ck_assert_uint_eq(v.n, 1000);
    mt_vec_release(&v);
    ck_assert_uint_eq(v.n + v.cap, 0);
}
END_TEST

UNIT_MAIN("arena", pieces, impossible_sizes, copies, vectors)
