/* SPDX-License-Identifier: MIT */
/* Comparing ranks: who is odd and why, from figures and stacks put in by hand. */
#include <stdlib.h>
#include <string.h>

#include "torch/keys.h"
#include "verbs/ranks/ranks.h"
#include "verbs/ranks/print.h"

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static struct mt_ranks r;
static struct mt_ranks_result x;
static struct mt_error err;

static void setup(void)
{
    ck_assert_int_eq(mt_ranks_init(&r, 1, &err), MT_OK);
}

static void teardown(void)
{
    mt_ranks_result_release(&x);
    mt_ranks_release(&r);
}

static uint32_t stack(const char *name)
{
    struct mt_frame f = {mt_builder_cstr(r.table, name), mt_builder_cstr(r.table, "train.py"), 1, 0,
                         (1u << MT_FRAME_KEY_COUNT) - 1};
    uint32_t frame = mt_builder_frame(r.table, &f);
    return mt_builder_stack(r.table, &frame, 1);
}

/* A rank whose only memory is `count` allocations of `mib` MiB each in the stack. */
static size_t add(const char *file, const char *name, uint64_t mib, uint64_t count)
{
    size_t i = mt_ranks_of_file(&r, mt_str_from(file));
    ck_assert_uint_ne(i, SIZE_MAX);
    bool weak;
    struct mt_rank *rank = &r.ranks.v[i];
    rank->rank = mt_rank_number(rank->file, &weak);
    rank->known |= 1u << MT_RANK_PEAK | 1u << MT_RANK_RESERVED | 1u << MT_RANK_OOMS;
    rank->figure[MT_RANK_PEAK] += mib * count * MIB;
    rank->figure[MT_RANK_RESERVED] += mib * count * MIB;
    rank->knows_stacks = true;
    ck_assert(mt_rank_add_stack(&r, i, name ? stack(name) : 0, mib * count * MIB, count));
    return i;
}

static void compare(void)
{
    ck_assert_int_eq(mt_ranks_compare(&r, 0.05, &x, &err), MT_OK);
}

static const struct mt_rank_outlier *only_outlier(int64_t rank)
{
    compare();
    ck_assert_uint_eq(x.outliers.n, 1);
    ck_assert_int_eq(r.ranks.v[x.outliers.v[0].index].rank, rank);
    return &x.outliers.v[0];
}

START_TEST(alike)
{
    for (int i = 0; i < 5; i++) {
        char file[16];
        snprintf(file, sizeof file, "rank%d", i);
        add(file, "f", 100 + (uint64_t)i % 2, 1); /* 1 % apart */
    }
    compare();
    ck_assert_uint_eq(x.outliers.n, 0);
    ck_assert_uint_eq(x.figure[MT_RANK_PEAK].median, 100 * MIB);
    ck_assert_uint_eq(x.figure[MT_RANK_PEAK].max, 101 * MIB);
}
END_TEST

START_TEST(longer_inputs)
{
    add("rank0", "f", 10, 4);
    add("rank1", "f", 10, 4);
    add("rank2", "f", 20, 4);
    const struct mt_rank_outlier *o = only_outlier(2);
    ck_assert_uint_eq(o->odd, MT_ODD_HIGH);
    ck_assert_uint_eq(o->larger, 40 * MIB);
    ck_assert_uint_eq(o->more + o->alone, 0);
    ck_assert(o->factor > 1.99 && o->factor < 2.01);
}
END_TEST

START_TEST(kept_memory)
{
    add("rank0", "f", 10, 4);
    add("rank1", "f", 10, 9);
    add("rank2", "f", 10, 4);
    const struct mt_rank_outlier *o = only_outlier(1);
    ck_assert_uint_eq(o->more, 50 * MIB);
    ck_assert_uint_eq(o->larger + o->alone, 0);
    ck_assert_uint_eq(o->stacks.v[0].median_count, 4);
}
END_TEST

/* The output layer on the last rank alone is what pipelines look like; on another rank it is not.
 */
START_TEST(last_stage)
{
    const char *odd = _i ? "rank2" : "rank1";
    for (int i = 0; i < 3; i++) {
        char file[16];
        snprintf(file, sizeof file, "rank%d", i);
        add(file, "block", 10, 4);
    }
    add(odd, "cross_entropy", 10, 2);
    const struct mt_rank_outlier *o = only_outlier(_i ? 2 : 1);
    ck_assert_uint_eq(o->alone, 20 * MIB);
    ck_assert_int_eq(o->last_stage, _i);
}
END_TEST

START_TEST(less_work)
{
    add("rank0", "f", 10, 4);
    add("rank1", "f", 10, 4);
    add("rank2", "f", 10, 1);
    const struct mt_rank_outlier *o = only_outlier(2);
    ck_assert_uint_eq(o->odd, MT_ODD_LOW);
    ck_assert_int_eq(o->delta, -30 * (int64_t)MIB);
}
END_TEST

/* Contexts of the other ranks on the device of rank 0. */
START_TEST(outside)
{
    for (int i = 0; i < 4; i++) {
        char file[16];
        snprintf(file, sizeof file, "rank%d", i);
        size_t at = add(file, "f", 10, 4);
        r.ranks.v[at].knows_outside = true;
        r.ranks.v[at].outside_bytes = i == 0 ? 4096 * MIB : 600 * MIB;
        r.ranks.v[at].figure[MT_RANK_OOMS] = 1;
    }
    const struct mt_rank_outlier *o = only_outlier(0);
    ck_assert_uint_eq(o->odd, MT_ODD_OUTSIDE);
    ck_assert_uint_eq(o->outside_median, 600 * MIB);
}
END_TEST

START_TEST(other_oddities)
{
    static const unsigned want[] = {MT_ODD_GROWS, MT_ODD_OOM, MT_ODD_TWO_DEVICES, MT_ODD_RESERVED,
                                    MT_ODD_HIGH | MT_ODD_UNEXPLAINED};
    for (int i = 0; i < 4; i++) {
        char file[16];
        snprintf(file, sizeof file, "rank%d", i);
        size_t at = add(file, "f", 10, 4);
        r.ranks.v[at].knows_growth = true;
    }
    struct mt_rank *odd = &r.ranks.v[3];
    switch (_i) {
    case 0: odd->bytes_per_step = 200000; break;
    case 1: odd->figure[MT_RANK_OOMS] = 2; break;
    case 2: odd->second_bytes = MIB; break;
    case 3: odd->figure[MT_RANK_RESERVED] *= 2; break;
    default: add("rank3", NULL, 10, 2);
    }
    ck_assert_uint_eq(only_outlier(3)->odd, want[_i]);
}
END_TEST

START_TEST(stacks_over_all)
{
    add("rank0", "f", 10, 1);
    add("rank1", "f", 30, 1);
    add("rank1", "g", 5, 1);
    add("rank2", "f", 20, 1);
    compare();
    ck_assert_uint_eq(x.stacks.n, 2);
    ck_assert_uint_eq(x.stacks.v[0].min, 10 * MIB);
    ck_assert_uint_eq(x.stacks.v[0].median, 20 * MIB);
    ck_assert_uint_eq(x.stacks.v[0].max, 30 * MIB);
    ck_assert_uint_eq(x.stacks.v[0].max_index, 1);
    ck_assert_uint_eq(x.stacks.v[1].ranks, 1);
    ck_assert_uint_eq(x.stacks.v[1].median, 0);
}
END_TEST

static const struct {
    const char *path;
    int64_t number;
    bool weak;
} numbers[] = {
    {"rank3.pickle", 3, false},
    {"dumps/rank_12_memory.pickle", 12, false},
    {"oom_rank-7_snap.pickle", 7, false},
    {"Rank05.pickle", 5, false},
    {"rank1/iteration_40.pickle", 1, false},
    {"rank1/x_rank2.pickle", 2, false},
    {"mem.4.pickle", 4, true},
    {"job17/snap.pickle", -1, true},
    {"ranking.pickle", -1, true},
    {"dumps/it100.json", -1, true},
    {"step_20.pickle", -1, true},
    {"rank99999999999999999999.pickle", -1, true},
    {"", -1, true},
};

START_TEST(number_in_name)
{
    bool weak = false;
    ck_assert_int_eq(mt_rank_number(mt_str_from(numbers[_i].path), &weak), numbers[_i].number);
    ck_assert_int_eq(weak, numbers[_i].weak);
}
END_TEST

/* A second result of one verb for a file is refused; numbers that are none are not known. */
START_TEST(results)
{
    static const char second[] =
        "{\"memtool\":\"1\",\"schema\":\"peak/1\",\"file\":\"a\",\"devices\":[{\"at\":\"peak\","
        "\"peak_requested_bytes\":5,\"stacks\":[{\"bytes\":4,\"count\":1,\"frames\":[{\"name\":"
        "\"f\",\"filename\":\"x\",\"line\":1}]}],\"others_bytes\":1}]}\n";
    static const char text[] =
        "{\"memtool\":\"1\",\"schema\":\"peak/1\",\"file\":\"a\",\"rank\":9,\"devices\":[{\"at\":"
        "\"peak\",\"peak_requested_bytes\":7,\"stacks\":[{\"bytes\":7,\"count\":2,\"frames\":[]}"
        "]}]} {\"memtool\":\"1\",\"schema\":\"stats/1\",\"file\":\"b\",\"devices\":[{"
        "\"reserved_bytes\":-4,\"allocated_bytes\":1e99,\"trace\":{\"actions\":{\"oom\":2}}}]}";
    ck_assert(mt_is_rank_results(mt_str_from(text)));
    ck_assert_int_eq(mt_ranks_read_results(&r, mt_str_from(text), &err), MT_OK);
    ck_assert_uint_eq(r.ranks.n, 2);
    ck_assert_int_eq(r.ranks.v[0].rank, 9);
    ck_assert_uint_eq(r.ranks.v[0].figure[MT_RANK_PEAK], 7);
    ck_assert_uint_eq(r.ranks.v[0].stacks.n, 1);
    ck_assert_uint_eq(r.ranks.v[0].stacks.v[0].stack, 0);
    ck_assert_uint_eq(r.ranks.v[1].known, 1u << MT_RANK_OOMS);
    ck_assert_uint_eq(r.ranks.v[1].figure[MT_RANK_OOMS], 2);
    ck_assert_int_eq(mt_ranks_read_results(&r, mt_str_from(second), &err), MT_FORMAT);
}
END_TEST

START_TEST(median_of_an_even_number)
{
    add("rank0", "f", 10, 1);
    add("rank1", "f", 20, 1);
    add("rank2", "f", 40, 1);
    add("rank3", "f", 90, 1);
    compare();
    ck_assert_uint_eq(x.figure[MT_RANK_PEAK].median, 30 * MIB);
    ck_assert_uint_eq(x.figure[MT_RANK_PEAK].lower, 20 * MIB);
    ck_assert_uint_eq(x.stacks.v[0].median, 30 * MIB);
}
END_TEST

START_TEST(missing_ranks)
{
    add("rank1", "f", 10, 1);
    add("rank2", "f", 10, 1);
    add("rank6", "f", 10, 1);
    ck_assert(mt_ranks_lose(&r, MT_STR("dir/rank4.pickle")));
    ck_assert(mt_ranks_lose(&r, MT_STR("dir/other.pickle")));
    ck_assert_int_eq(r.lost.v[0].rank, 4);
    ck_assert_int_eq(r.lost.v[1].rank, -1);
    ck_assert(mt_ranks_find_gaps(&r, 0));
    static const struct mt_rank_gap want[] = {{0, 0}, {3, 3}, {5, 5}};
    ck_assert_uint_eq(r.gaps.n, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(r.gaps.v[i].from, want[i].from);
        ck_assert_int_eq(r.gaps.v[i].to, want[i].to);
    }
}
END_TEST

/* The files of one node begin higher: nothing is missing in front, unless the size is told. */
START_TEST(missing_in_front)
{
    add("rank8", "f", 10, 1);
    add("rank9", "f", 10, 1);
    ck_assert(mt_ranks_find_gaps(&r, 0));
    ck_assert_uint_eq(r.gaps.n, 0);
    ck_assert(mt_ranks_find_gaps(&r, 12));
    ck_assert_uint_eq(r.gaps.n, 2);
    ck_assert_int_eq(r.gaps.v[0].to, 7);
    ck_assert_int_eq(r.gaps.v[1].to, 11);
}
END_TEST

START_TEST(who_died_first)
{
    add("rank0", "f", 10, 1);
    size_t late = add("rank1", "f", 10, 1), early = add("rank2", "f", 10, 1);
    size_t next;
    ck_assert_uint_eq(mt_ranks_first_oom(&r, &next), SIZE_MAX);
    r.ranks.v[late].first_oom_us = 50;
    r.ranks.v[early].first_oom_us = 40;
    ck_assert_uint_eq(mt_ranks_first_oom(&r, &next), early);
    ck_assert_uint_eq(next, late);
    r.ranks.v[0].first_oom_us = 40;
    ck_assert_uint_eq(mt_ranks_first_oom(&r, &next), SIZE_MAX); /* nobody was first */
}
END_TEST

static const char *const bad_results[] = {"{", "[]", "{}", "{\"memtool\":\"1\"} x", "{\"a\":1}"};

START_TEST(broken_results)
{
    struct mt_str text = mt_str_from(bad_results[_i]);
    ck_assert_int_eq(mt_ranks_read_results(&r, text, &err), MT_FORMAT);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("ranks");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, alike);
    tcase_add_test(t, longer_inputs);
    tcase_add_test(t, kept_memory);
    tcase_add_loop_test(t, last_stage, 0, 2);
    tcase_add_test(t, less_work);
    tcase_add_test(t, outside);
    tcase_add_loop_test(t, other_oddities, 0, 5);
    tcase_add_test(t, stacks_over_all);
    tcase_add_loop_test(t, number_in_name, 0, (int)MT_COUNT(numbers));
    tcase_add_test(t, results);
    tcase_add_test(t, median_of_an_even_number);
    tcase_add_test(t, missing_ranks);
    tcase_add_test(t, missing_in_front);
    tcase_add_test(t, who_died_first);
    tcase_add_loop_test(t, broken_results, 0, (int)MT_COUNT(bad_results));
    return unit_run_cases("ranks", t);
}
