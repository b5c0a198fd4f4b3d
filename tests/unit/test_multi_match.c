/* SPDX-License-Identifier: MIT */
/* The word search against a naive one. */
#include "triage/log/multi_match.h"

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

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 32u) : c;
}

static bool stands_at(struct mt_str text, size_t at, struct mt_str word)
{
    size_t i = 0;
    while (i < word.n && at + i < text.n &&
           lower((unsigned char)text.p[at + i]) == (unsigned char)word.p[i]) {
        i++;
    }
    return i == word.n;
}

/* The first hit as the header has it, by trying every word everywhere. */
static bool find_naively(struct mt_str text, const struct mt_str *words, size_t n, size_t from,
                         struct mt_multi_hit *hit)
{
    for (size_t at = from; at < text.n; at++) {
        size_t best = MT_MULTI_NONE;
        for (size_t i = 0; i < n; i++) {
            if (stands_at(text, at, words[i]) &&
                (best == MT_MULTI_NONE || words[i].n > words[best].n)) {
                best = i;
            }
        }
        if (best != MT_MULTI_NONE) {
            *hit = (struct mt_multi_hit){at, best};
            return true;
        }
    }
    return false;
}

static void compare_with_naive(const struct mt_str *words, size_t n, const char *letters)
{
    char text[64];
    uint32_t seed = 1;
    struct mt_multi m;
    struct mt_error err;
    ck_assert_int_eq(mt_multi_init(&m, words, n, &err), MT_OK);
    for (int round = 0; round < 20000; round++) {
        size_t length = (size_t)round % sizeof text;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = letters[(seed >> 16) % strlen(letters)];
        }
        struct mt_str s = {text, length};
        for (size_t from = 0; from <= length; from++) {
            struct mt_multi_hit a = {0}, b = {0};
            bool found = mt_multi_find(&m, s, from, &a);
            ck_assert_int_eq(found, find_naively(s, words, n, from, &b));
            ck_assert_uint_eq(a.at, b.at);
            ck_assert_uint_eq(a.which, b.which);
            from = found ? a.at : length;
        }
    }
    mt_multi_release(&m);
}

START_TEST(random_texts_as_a_naive_search)
{
    static const struct mt_str six[] = {MT_STR_INIT("ababab"),     MT_STR_INIT("abbaab:a"),
                                        MT_STR_INIT("bbbbbbbbbb"), MT_STR_INIT("a:abab"),
                                        MT_STR_INIT("abbaab"),     MT_STR_INIT("babbababba")};
    static const struct mt_str four[] = {MT_STR_INIT("abba"), MT_STR_INIT("abbaab:a"),
                                         MT_STR_INIT("bb::")};
    static const struct mt_str long_ones[] = {MT_STR_INIT("abababababababab"),
                                              MT_STR_INIT("babababababababa"),
                                              MT_STR_INIT("aaaaaaaaaaaaab")};
    compare_with_naive(six, MT_COUNT(six), "abAB:");
    compare_with_naive(four, MT_COUNT(four), "abB:!");
    compare_with_naive(long_ones, MT_COUNT(long_ones), "ab");
}
END_TEST

UNIT_MAIN("multi_match", every_place_and_case, longest_then_first, look_alike_bytes,
          random_texts_as_a_naive_search)
