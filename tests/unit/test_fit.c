/* SPDX-License-Identifier: MIT */
/*
 * Fits: two lists of calls are aligned as a difference tool would, sizes go on the law that they
 * meet, and real recordings predict what PyTorch reserved.
 */
#include "unit.h"

#include <stdio.h>

#include "snapshot/read/read.h"
#include "verbs/fit/fit_core.h"
#include "verbs/fit/sizes.h"

static struct mt_error err;

/* ---- alignment ---- */

static struct calls calls_of(const char *letters)
{
    struct calls c = {{0}, 0, 0};
    for (const char *at = letters; *at; at++) {
        struct call one = {(uint64_t)*at, 1, 0};
        ck_assert(mt_vec_push(&c.list, one));
    }
    return c;
}

static const struct {
    const char *base, *other;
    size_t common;
} PAIRS[] = {{"abc", "abc", 3},  {"abc", "xabc", 3},         {"abc", "abxc", 3},
             {"abc", "abcx", 3}, {"abcabba", "cbabac", 4},   {"abc", "xyz", 0},
             {"a", "a", 1},      {"aaaabaaaa", "aaaa", 4},   {"abababab", "babababa", 7},
             {"ab", "ba", 1},    {"abcdefgh", "abxefyzh", 5}};

START_TEST(the_longest_common_sequence_is_found)
{
    struct calls base = calls_of(PAIRS[_i].base), other = calls_of(PAIRS[_i].other);
    uint32_t match[16];
    size_t n, counted = 0, last = 0;
    ck_assert_int_eq(mt_fit_align(&base, &other, match, &n, &err), MT_OK);
    ck_assert_uint_eq(n, PAIRS[_i].common);
    for (size_t i = 0; i < base.list.n; i++) {
        if (match[i] != NO_CALL) {
            ck_assert_uint_eq(base.list.v[i].key, other.list.v[match[i]].key);
            ck_assert(counted == 0 || match[i] > last);
            last = match[i];
            counted++;
        }
    }
    ck_assert_uint_eq(counted, n);
    mt_vec_release(&base.list);
    mt_vec_release(&other.list);
}
END_TEST

/* Two that stay and two that grow, of one key; the larger program has two calls more. */
START_TEST(sizes_tell_which_calls_are_pairs)
{
    static const uint64_t small[] = {500, 4000, 500, 4000},
                          large[] = {500, 8000, 500, 24, 500, 8000};
    static const uint32_t wanted[] = {0, 1, 2, NO_CALL, NO_CALL, 3};
    struct calls base = {{0}, 0, 8}, other = {{0}, 0, 4};
    uint32_t match[6];
    size_t n;
    for (size_t i = 0; i < MT_COUNT(large); i++) {
        struct call one = {1, large[i], 0};
        ck_assert(mt_vec_push(&base.list, one));
    }
    for (size_t i = 0; i < MT_COUNT(small); i++) {
        struct call one = {1, small[i], 0};
        ck_assert(mt_vec_push(&other.list, one));
    }
    ck_assert_int_eq(mt_fit_align(&base, &other, match, &n, &err), MT_OK);
    ck_assert_uint_eq(n, 4);
    for (size_t i = 0; i < MT_COUNT(wanted); i++) {
        ck_assert_uint_eq(match[i], wanted[i]);
    }
    mt_vec_release(&base.list);
    mt_vec_release(&other.list);
}
END_TEST

static const struct {
    const char *texts[3];
    size_t n;
    uint64_t sizes[3]; /* 0: none */
} NAMES[] = {
    {{"b2.pickle", "b3.pickle", "b10.pickle"}, 3, {2, 3, 10}},
    {{"run7-seq64-1.gz", "run7-seq128-1.gz", ""}, 2, {64, 128, 0}},
    {{"a2-b3", "a4-b6", ""}, 2, {0, 0, 0}},                /* two numbers change */
    {{"b2", "b2", ""}, 2, {0, 0, 0}},                      /* none does */
    {{"b2", "c3", ""}, 2, {0, 0, 0}},                      /* other words */
    {{"b0", "b3", ""}, 2, {0, 0, 0}},                      /* no size */
    {{"b2", "b9999999999999999999999", ""}, 2, {0, 0, 0}}, /* too large */
};

START_TEST(sizes_are_the_number_that_changes)
{
    struct mt_str texts[3];
    uint64_t sizes[3];
    for (size_t i = 0; i < 3; i++) {
        texts[i] = mt_str_from(NAMES[_i].texts[i]);
    }
    bool found = mt_fit_sizes_in(texts, NAMES[_i].n, sizes);
    ck_assert(found == (NAMES[_i].sizes[0] > 0));
    for (size_t i = 0; found && i < NAMES[_i].n; i++) {
        ck_assert_uint_eq(sizes[i], NAMES[_i].sizes[i]);
    }
}
END_TEST

/* ---- laws ---- */

/* A fit of one call with these sizes, by programs of these sizes. */
static void one_call(struct mt_fit *f, const uint64_t *at, const uint64_t *sizes, size_t n)
{
    *f = (struct mt_fit){.n = n, .base = n - 1};
    for (size_t i = 0; i < n; i++) {
        struct call one = {1, sizes[i], 0};
        f->order[i] = i;
        f->recordings[i] = (struct mt_fit_recording){.size = at[i], .used = true};
        ck_assert(mt_vec_push(&f->calls[i].list, one));
    }
    ck_assert_int_eq(mt_fit_find_laws(f, &err), MT_OK);
}

static void release(struct mt_fit *f)
{
    for (size_t i = 0; i < f->n; i++) {
        mt_vec_release(&f->calls[i].list);
    }
    mt_mem_free(f->laws);
    mt_mem_free(f->like);
    mt_mem_free(f->mispaired);
}

static const struct {
    size_t n;
    uint64_t at[4], sizes[4];
    enum mt_fit_law law;
    uint64_t at_100; /* 0: in a range */
} LAWS[] = {
    {3, {2, 3, 4}, {512, 512, 512}, MT_FIT_CONSTANT, 512},
    {3, {2, 3, 8}, {2100, 3100, 8100}, MT_FIT_LINEAR, 100100},
    {2, {2, 3}, {2000, 3000}, MT_FIT_LINEAR, 100000},
    {2, {2, 3}, {4000, 9000}, MT_FIT_QUADRATIC, 10000000},
    {4, {1, 2, 3, 4}, {7, 14, 23, 34}, MT_FIT_QUADRATIC, 10402},
    {3, {2, 4, 8}, {200010, 400123, 800000}, MT_FIT_STEPS, 9999847},
    {3, {2, 3, 4}, {1000, 5000, 2000}, MT_FIT_UNKNOWN, 0},
    {2, {2, 3}, {2000, 1000}, MT_FIT_UNKNOWN, 0},
    {2, {2, 3}, {2000, 2500}, MT_FIT_UNCONFIRMED, 51000},
};

START_TEST(sizes_go_on_the_law_that_they_meet)
{
    struct mt_fit f;
    one_call(&f, LAWS[_i].at, LAWS[_i].sizes, LAWS[_i].n);
    uint64_t middle = mt_fit_size_of(&f, 0, 100, GUESS_MIDDLE);
    ck_assert_int_eq(f.laws[0], LAWS[_i].law);
    if (LAWS[_i].at_100) {
        ck_assert_uint_eq(middle, LAWS[_i].at_100);
    }
    ck_assert_uint_le(mt_fit_size_of(&f, 0, 100, GUESS_LOW), middle);
    ck_assert_uint_ge(mt_fit_size_of(&f, 0, 100, GUESS_HIGH), middle);
    release(&f);
}
END_TEST

/* ---- real recordings ---- */

START_TEST(predictions_are_what_pytorch_reserved)
{
    static const uint64_t sizes[] = {2, 3, 4, 8};
    struct mt_snapshot s[4];
    struct mt_fit_input inputs[4];
    struct mt_read_options o = {.hash_seed = 1};
    for (size_t i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, "testdata/fit/lstm_%d.pickle.gz", (int)sizes[i]);
        ck_assert_int_eq(mt_snapshot_read(path, &o, &s[i], &err), MT_OK);
        inputs[i] = (struct mt_fit_input){&s[i], sizes[i]};
    }
    struct mt_fit *f;
    struct mt_fit_run run, next;
    struct mt_fit_question q = {.settings = NULL};
    ck_assert_int_eq(mt_fit_new(inputs, 4, -1, 211, &f, &err), MT_OK);
    ck_assert_uint_eq(mt_fit_base(f), 3);
    ck_assert_int_eq(mt_fit_predict(f, 16, &q, &run, &err), MT_OK);
    ck_assert(run.known);
    ck_assert_uint_eq(run.reserved, 1918894080);
    ck_assert_uint_eq(run.requested, 1559064456);
    ck_assert_int_eq(mt_fit_predict(f, 48, &q, &run, &err), MT_OK);
    ck_assert_uint_eq(run.reserved, 4445962240);
    q.limit = 2147483648;
    ck_assert_int_eq(mt_fit_largest(f, &q, &run, &next, &err), MT_OK);
    ck_assert_uint_eq(run.size + 1, next.size);
    ck_assert_uint_le(run.reserved, q.limit);
    q.limit = 1024;
    ck_assert_int_eq(mt_fit_largest(f, &q, &run, &next, &err), MT_OK);
    ck_assert_uint_eq(run.size, 0);
    ck_assert_uint_eq(next.size, 1);
    mt_fit_free(f);
    for (size_t i = 0; i < 4; i++) {
        mt_snapshot_release(&s[i]);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("fit");
    tcase_add_loop_test(t, the_longest_common_sequence_is_found, 0, (int)MT_COUNT(PAIRS));
    tcase_add_test(t, sizes_tell_which_calls_are_pairs);
    tcase_add_loop_test(t, sizes_are_the_number_that_changes, 0, (int)MT_COUNT(NAMES));
    tcase_add_loop_test(t, sizes_go_on_the_law_that_they_meet, 0, (int)MT_COUNT(LAWS));
    tcase_add_test(t, predictions_are_what_pytorch_reserved);
    tcase_set_timeout(t, 60);
    return unit_run_cases("fit", t);
}
