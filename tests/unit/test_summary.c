/* SPDX-License-Identifier: MIT */
/* PyTorch's cells, its counters from a replay, and its tables out of logs. */
#include "verbs/summary/summary.h"

#include "make.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

START_TEST(cells)
{
    static const struct {
        uint64_t value, pref;
        bool bytes;
        const char *want;
    } CASES[] = {
        {0, 0, true, "     0 B  "},
        {786431, 786431, true, "786431 B  "},
        {786432, 786432, true, "   768 KiB"},
        {805306367, 805306367, true, "786431 KiB"},
        {805306368, 805306368, true, "   768 MiB"},
        {UINT64_C(824633720832), UINT64_C(824633720832), true, "   768 GiB"},
        {5 * MIB, 2048 * MIB, true, "     5 MiB"},
        {1000, 2048 * MIB, true, "     0 MiB"},
        {749999, 749999, false, " 749999   "},
        {750000, 750000, false, "    750 K "},
        {0, 0, false, "      0   "},
        {12, 750000, false, "      0 K "},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        ck_assert_str_eq(mt_summary_cell(CASES[i].value, CASES[i].pref, CASES[i].bytes).s,
                         CASES[i].want);
    }
}
END_TEST

static uint64_t stat(const struct mt_summary *x, enum mt_stat_kind k, enum mt_stat_column c)
{
    return x->stats[k][MT_SLOT_ALL].v[c];
}

/* A segment of 20 MiB, three blocks, one freed in the middle and one at the end. */
static void make_run(struct make *m, enum mt_block_state last)
{
    make_begin(m);
    make_event(m, MT_ACTION_SEGMENT_ALLOC, 0x10000000, 20 * MIB, 0);
    make_event(m, MT_ACTION_ALLOC, 0x10000000, 4 * MIB, 0);
    make_event(m, MT_ACTION_ALLOC, 0x10400000, 6 * MIB - 100, 0);
    make_event(m, MT_ACTION_ALLOC, 0x10a00000, 2 * MIB, 0);
    make_event(m, MT_ACTION_FREE_REQUESTED, 0x10400000, 6 * MIB - 100, 0);
    make_event(m, MT_ACTION_FREE_COMPLETED, 0x10400000, 6 * MIB - 100, 0);
    make_segment(m, 0x10000000, 0);
    make_block(m, 4 * MIB, MT_BLOCK_ALLOCATED, 4 * MIB, 0);
    make_block(m, 6 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_block(m, 2 * MIB, last, 2 * MIB, 0);
    make_block(m, 8 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(m);
}

static enum mt_status find(struct mt_summary *x, struct make *m, struct mt_error *err)
{
    struct mt_totals t;
    ck_assert_int_eq(mt_totals_find(&t, &m->s, &m->all, 0, err), MT_OK);
    enum mt_status status = mt_summary_find(x, &m->s, &t, 0, err);
    mt_totals_release(&t);
    return status;
}

START_TEST(counters_of_a_whole_trace)
{
    struct make m;
    struct mt_summary x;
    struct mt_error err;
    make_run(&m, MT_BLOCK_ALLOCATED);
    ck_assert_int_eq(find(&x, &m, &err), MT_OK);
    ck_assert(x.proved);
    ck_assert_uint_eq(stat(&x, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_CURRENT), 6 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_PEAK), 12 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_TOTAL_FREED), 6 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_REQUESTED_BYTES, MT_STAT_COLUMN_PEAK), 12 * MIB - 100);
    ck_assert_uint_eq(stat(&x, MT_STAT_ALLOCATION, MT_STAT_COLUMN_TOTAL_ALLOC), 3);
    /* 16 when the first was cut, down to 10 and 8, and 6 more when the middle came back. */
    ck_assert_uint_eq(stat(&x, MT_STAT_INACTIVE_SPLIT_BYTES, MT_STAT_COLUMN_CURRENT), 14 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_INACTIVE_SPLIT_BYTES, MT_STAT_COLUMN_PEAK), 16 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_INACTIVE_SPLIT_BYTES, MT_STAT_COLUMN_TOTAL_ALLOC), 22 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_INACTIVE_SPLIT_BYTES, MT_STAT_COLUMN_TOTAL_FREED), 8 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_INACTIVE_SPLIT, MT_STAT_COLUMN_CURRENT), 2);
    ck_assert_uint_eq(stat(&x, MT_STAT_SEGMENT, MT_STAT_COLUMN_PEAK), 1);
    ck_assert(x.ooms_known);
    make_free(&m);
}
END_TEST

/* The layout of the file is not what the trace leads to: only what is there now is told. */
START_TEST(counters_without_proof)
{
    struct make m;
    struct mt_summary x;
    struct mt_error err;
    make_run(&m, MT_BLOCK_INACTIVE);
    ck_assert_int_eq(find(&x, &m, &err), MT_OK);
    ck_assert(!x.proved);
    ck_assert_uint_eq(stat(&x, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_CURRENT), 4 * MIB);
    ck_assert_uint_eq(stat(&x, MT_STAT_ALLOCATED_BYTES, MT_STAT_COLUMN_PEAK), 0);
    make_free(&m);
}
END_TEST

static struct mt_logged logged(const char *text)
{
    struct mt_logged l;
    struct mt_error err;
    ck_assert_int_eq(mt_logged_find(&l, mt_str_from(text), &err), MT_OK);
    return l;
}

START_TEST(a_table_in_a_log)
{
    struct mt_logged l =
        logged("starting\n"
               "10:00 | I | |   PyTorch CUDA memory summary, device ID 3                 |\r\n"
               "10:00 | I | |            CUDA OOMs: 2            |        cudaMalloc retries: 7    "
               "     |\n"
               "10:00 | I | | Allocated memory      |    768 MiB |   2048 MB  |   5120 KiB |  12 B "
               "     |\n"
               "10:00 | I | |       from large pool |    762 MiB |   2048 MiB |   5120 MiB |   "
               "4352 MiB |\n"
               "a line of another thread\n"
               "10:00 | I | | Allocations           |    1200    |    3000    |    1500 K  |    "
               "oops    |\n");
    ck_assert_uint_eq(l.tables.n, 1);
    const struct mt_logged_table *t = &l.tables.v[0];
    ck_assert_uint_eq(t->line, 2);
    ck_assert_uint_eq(t->device, 3);
    ck_assert_uint_eq(t->ooms.value, 2);
    ck_assert_uint_eq(t->retries.value, 7);
    const struct mt_logged_value *row = t->cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL];
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_CURRENT]), 768 * MIB);
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_PEAK]), 2048 * MIB);
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_TOTAL_FREED]), 12);
    row = t->cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_LARGE];
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_CURRENT]), 762 * MIB);
    row = t->cells[MT_STAT_ALLOCATION][MT_SLOT_ALL];
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_TOTAL_ALLOC]), 1500000);
    ck_assert(!row[MT_STAT_COLUMN_TOTAL_FREED].present);
    ck_assert(!t->cells[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL][0].present);
    mt_logged_release(&l);
}
END_TEST

START_TEST(lines_of_trainers)
{
    struct mt_logged l = logged(
        "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1024.5 | max allocated: 2048.0 | "
        "reserved: 4096.0 | max reserved: 4096.0\n"
        "[INFO] MA 1.5 GB         Max_MA 2.0 GB         CA 3.25 GB         Max_CA 4 GB\n"
        "[INFO] MA nothing        Max_MA 2.0 GB\n");
    ck_assert_uint_eq(l.tables.n, 2);
    const struct mt_logged_value *row = l.tables.v[0].cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL];
    ck_assert(l.tables.v[0].kind == MT_LOGGED_STEP);
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_CURRENT]), 1024 * MIB + MIB / 2);
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_PEAK]), 2048 * MIB);
    row = l.tables.v[1].cells[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL];
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_CURRENT]), 1536 * MIB);
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_PEAK]), 2048 * MIB);
    row = l.tables.v[1].cells[MT_STAT_RESERVED_BYTES][MT_SLOT_ALL];
    ck_assert_uint_eq(mt_logged_bytes(&row[MT_STAT_COLUMN_CURRENT]), 3328 * MIB);
    mt_logged_release(&l);
}
END_TEST

START_TEST(no_tables)
{
    static const char *const TEXTS[] = {
        "",
        "|||||||\n",
        "nothing\n",
        "PyTorch CUDA memory summary, device ID 0\n",
        "| Allocated memory | 1 B | 1 B | 1 B | 1 B |\n", /* without a title */
        "PyTorch CUDA memory summary, device ID 99999999999999999999\n| | | | | |\n",
    };
    for (size_t i = 0; i < MT_COUNT(TEXTS); i++) {
        struct mt_logged l = logged(TEXTS[i]);
        ck_assert_uint_eq(l.tables.n, 0);
        mt_logged_release(&l);
    }
}
END_TEST

UNIT_MAIN("summary", cells, counters_of_a_whole_trace, counters_without_proof, a_table_in_a_log,
          lines_of_trainers, no_tables)
