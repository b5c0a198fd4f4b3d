/* SPDX-License-Identifier: MIT */
/* Tables: alignment, cutting, rules, colours, CSV with its quotes and guards. */
#include "print/report.h"

#include "print.h"
#include "unit.h"

static struct mt_table *sample(void)
{
    struct mt_table *t = mt_table_new();
    ck_assert_ptr_nonnull(t);
    mt_table_column(t, "size", MT_RIGHT);
    mt_table_column(t, "n", MT_RIGHT);
    mt_table_column(t, "stack", MT_LEFT);
    mt_table_size(t, 1536);
    mt_table_count(t, 12345);
    mt_table_cell(t, "train.py:%d forward", 42);
    mt_table_size(t, 7);
    mt_table_count(t, 1);
    mt_table_cell(t, "é, \"x\"");
    mt_table_rule(t);
    mt_table_delta(t, -1024);
    mt_table_count(t, 0);
    mt_table_cell(t, "TOTAL");
    return t;
}

static void print_table(struct print *p, struct mt_table *t, int indent)
{
    struct mt_error err;
    ck_assert_int_eq(mt_table_print(t, &p->r, indent, &err), MT_OK);
    print_end(p);
    mt_table_free(t);
}

START_TEST(aligned)
{
    struct print p;
    print_begin(&p);
    print_table(&p, sample(), 2);
    ck_assert_str_eq(p.text, "       size       n  stack\n"
                             "   1.50 KiB  12,345  train.py:42 forward\n"
                             "        7 B       1  é, \"x\"\n"
                             "  --------------------------------------\n"
                             "  -1.00 KiB       0  TOTAL\n");
    print_free(&p);
}
END_TEST

START_TEST(cut_to_the_terminal)
{
    struct print p;
    print_begin(&p);
    p.r.width = 40;
    struct mt_table *t = sample();
    mt_table_cell(t, "%s", "");
    mt_table_cell(t, "%s", "");
    mt_table_cell(t, "a stack that is longer than there is room");
    print_table(&p, t, 0);
    ck_assert_ptr_nonnull(strstr(p.text, " 1.50 KiB  12,345  train.py:42 forward\n"));
    ck_assert_ptr_nonnull(strstr(p.text, "\n                   a stack that is long…\n"));
    ck_assert_ptr_nonnull(strstr(p.text, "\n----------------------------------------\n"));
    print_free(&p);
}
END_TEST

/* Where the cut would leave too little, the row goes on below. */
START_TEST(folded_on_a_narrow_terminal)
{
    struct print p;
    print_begin(&p);
    p.r.width = 30;
    print_table(&p, sample(), 0);
    ck_assert_str_eq(p.text, "     size       n\n"
                             "    stack\n"
                             " 1.50 KiB  12,345\n"
                             "    train.py:42 forward\n"
                             "      7 B       1\n"
                             "    é, \"x\"\n"
                             "------------------------------\n"
                             "-1.00 KiB       0\n"
                             "    TOTAL\n");
    print_free(&p);
}
END_TEST

/* Sentences lose nothing, and an empty cell in front of them leaves no blanks behind a line. */
START_TEST(sentences_are_wrapped)
{
    struct print p;
    print_begin(&p);
    p.r.width = 34;
    struct mt_table *t = mt_table_new();
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    mt_table_wrap(t);
    mt_table_cell(t, "free");
    mt_table_cell(t, "5.0 %%");
    mt_table_cell(t, "beside live blocks in a segment");
    mt_table_cell(t, "kept");
    mt_table_cell(t, "%s", "");
    mt_table_cell(t, "in the cache");
    print_table(&p, t, 0);
    ck_assert_str_eq(p.text, "free  5.0 %  beside live blocks in\n"
                             "             a segment\n"
                             "kept         in the cache\n");
    print_free(&p);
}
END_TEST

START_TEST(folded_sentences_are_wrapped)
{
    struct print p;
    print_begin(&p);
    p.r.width = 20;
    struct mt_table *t = mt_table_new();
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    mt_table_cell(t, "free");
    mt_table_cell(t, "%s", "");
    mt_table_cell(t, "beside live blocks, averylongwordindeed");
    print_table(&p, t, 0);
    ck_assert_str_eq(p.text, "free\n"
                             "    beside live\n"
                             "    blocks,\n"
                             "    averylongwordin…\n");
    print_free(&p);
}
END_TEST

START_TEST(colored)
{
    struct print p;
    struct mt_table *t = mt_table_new();
    mt_table_column(t, "a", MT_LEFT);
    mt_table_column(t, "b", MT_LEFT);
    mt_table_cell_color(t, MT_COLOR_BAD, "x");
    mt_table_cell(t, "y");
    print_begin(&p);
    p.r.color = true;
    print_table(&p, t, 0);
    ck_assert_str_eq(p.text, "\033[1ma\033[0m  \033[1mb\033[0m\n\033[31mx\033[0m  y\n");
    print_free(&p);
}
END_TEST

START_TEST(as_csv)
{
    struct print p;
    print_begin(&p);
    p.r.separator = ',';
    p.r.color = true;
    p.r.width = 20;
    print_table(&p, sample(), 4);
    ck_assert_str_eq(p.text, "size,n,stack\n"
                             "1536,12345,train.py:42 forward\n"
                             "7,1,\"é, \"\"x\"\"\"\n"
                             "-1024,0,TOTAL\n");
    print_free(&p);
}
END_TEST

/* Programs read the names: one style, whatever people see; bars have no column. */
START_TEST(names_in_csv)
{
    struct print p;
    print_begin(&p);
    p.r.separator = ',';
    struct mt_table *t = mt_table_new();
    mt_table_column(t, "LARGEST HOLE", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "GROWTH/STEP", MT_RIGHT);
    mt_table_size(t, 1536);
    mt_table_cell(t, "%s", "#####");
    mt_table_cell(t, "-");
    print_table(&p, t, 2);
    ck_assert_str_eq(p.text, "largest_hole,growth_step\n1536,\n");
    print_free(&p);
    print_begin(&p);
    p.r.separator = '\t';
    t = sample();
    mt_table_names(t, "size_bytes,,stack");
    print_table(&p, t, 0);
    ck_assert_ptr_nonnull(strstr(p.text, "size_bytes\tstack\n1536\ttrain.py:42 forward\n"));
    print_free(&p);
}
END_TEST

START_TEST(formulas_are_guarded)
{
    static const char *const cells[][2] = {{"=1+1", "'=1+1"},      {"@SUM(A1)", "'@SUM(A1)"},
                                           {"-cmd", "'-cmd"},      {"+x", "'+x"},
                                           {"-12.5 %", "-12.5 %"}, {"+3", "+3"},
                                           {"=a\tb", "\"'=a\tb\""}};
    for (size_t i = 0; i < MT_COUNT(cells); i++) {
        struct print p;
        char want[64];
        struct mt_table *t = mt_table_new();
        mt_table_column(t, "x", MT_LEFT);
        mt_table_cell(t, "%s", cells[i][0]);
        print_begin(&p);
        p.r.separator = '\t';
        print_table(&p, t, 0);
        snprintf(want, sizeof want, "x\n%s\n", cells[i][1]);
        ck_assert_str_eq(p.text, want);
        print_free(&p);
    }
}
END_TEST

START_TEST(long_and_empty)
{
    struct print p;
    char longer[1000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct mt_table *t = mt_table_new();
    mt_table_column(t, "", MT_LEFT);
    mt_table_cell(t, "%s", longer);
    print_begin(&p);
    print_table(&p, t, 0);
    ck_assert_uint_eq(p.n, sizeof longer);
    print_free(&p);
    print_begin(&p);
    print_table(&p, mt_table_new(), 0);
    ck_assert_uint_eq(p.n, 0);
    print_free(&p);
}
END_TEST

UNIT_MAIN("table", aligned, cut_to_the_terminal, folded_on_a_narrow_terminal, sentences_are_wrapped,
          folded_sentences_are_wrapped, colored, as_csv, names_in_csv, formulas_are_guarded,
          long_and_empty)
