/* SPDX-License-Identifier: MIT */
/* Rows of tables that would be called the same: the frame at which their stacks differ is named. */
#include <stdlib.h>

#include "snapshot/model/builder.h"
#include "heap/stacks/frames.h"
#include "print/report.h"

#include "print.h"
#include "unit.h"

enum { INNER = 7, DEEPEST = 8 };

/* Frames of one file: "model.py:7 allocate", called by lines 1 .. of "main.py", which may recurse.
 */
struct file {
    struct mt_builder *b;
    struct mt_snapshot s;
};

static void file_begin(struct file *f)
{
    *f = (struct file){.b = mt_builder_new(1)};
    ck_assert_ptr_nonnull(f->b);
}

static uint32_t add_stack(struct file *f, int caller, size_t times)
{
    uint32_t frames[DEEPEST];
    struct mt_frame inner = {.name = mt_builder_cstr(f->b, "allocate"),
                             .filename = mt_builder_cstr(f->b, "/home/me/model.py"),
                             .line = INNER};
    struct mt_frame outer = {.name = mt_builder_cstr(f->b, "run"),
                             .filename = mt_builder_cstr(f->b, "/home/me/main.py"),
                             .line = caller};
    frames[0] = mt_builder_frame(f->b, &inner);
    for (size_t i = 1; i <= times; i++) {
        frames[i] = mt_builder_frame(f->b, &outer);
    }
    return mt_builder_stack(f->b, frames, times + 1);
}

static void file_end(struct file *f)
{
    struct mt_error err;
    ck_assert_int_eq(mt_builder_finish(f->b, &f->s, &err), MT_OK);
}

static void add_row(struct mt_table *t, const struct mt_report *r, const struct file *f,
                    uint32_t stack)
{
    struct mt_buf b = {0};
    mt_stack_label_inner(&b, &f->s, stack, r);
    mt_table_stack(t, &b, 0, &f->s, stack);
    mt_buf_release(&b);
}

/* Prints n rows; the stack 0 is of no frames. */
static void print_rows(struct print *p, const struct file *const *files, const uint32_t *stacks,
                       size_t n, int width, char separator)
{
    struct mt_error err;
    struct mt_table *t = mt_table_new();
    print_begin(p);
    p->r.width = width;
    p->r.separator = separator;
    mt_table_column(t, "stack", MT_LEFT);
    for (size_t i = 0; i < n; i++) {
        add_row(t, &p->r, files[i], stacks[i]);
    }
    ck_assert_int_eq(mt_table_print(t, &p->r, 0, &err), MT_OK);
    print_end(p);
    mt_table_free(t);
}

START_TEST(of_one_file)
{
    struct file f;
    struct print p;
    file_begin(&f);
    uint32_t stacks[] = {add_stack(&f, 1, 1), add_stack(&f, 2, 1), 0, 0, add_stack(&f, 1, 1)};
    const struct file *files[] = {&f, &f, &f, &f, &f};
    file_end(&f);
    print_rows(&p, files, stacks, MT_COUNT(stacks), 0, 0);
    ck_assert_str_eq(p.text, "stack\n"
                             "model.py:7 allocate, differs at main.py:1 run\n"
                             "model.py:7 allocate, differs at main.py:2 run\n"
                             "(no stack: older than the trace, or not from Python)\n"
                             "(no stack: older than the trace, or not from Python)\n"
                             "model.py:7 allocate, differs at main.py:1 run\n");
    print_free(&p);
    print_rows(&p, files + 1, stacks + 1, 1, 0, 0); /* nothing else is called so */
    ck_assert_str_eq(p.text, "stack\nmodel.py:7 allocate\n");
    print_free(&p);
    print_rows(&p, files, stacks, 2, 0, ','); /* a program's rows keep their names */
    ck_assert_str_eq(p.text, "stack\nmodel.py:7 allocate\nmodel.py:7 allocate\n");
    print_free(&p);
    mt_snapshot_release(&f.s);
}
END_TEST

/* A recursion has the same frames, more or fewer times. */
START_TEST(by_depth)
{
    struct file f;
    struct print p;
    file_begin(&f);
    uint32_t stacks[] = {add_stack(&f, 1, 1), add_stack(&f, 1, 3)};
    const struct file *files[] = {&f, &f};
    file_end(&f);
    print_rows(&p, files, stacks, 2, 0, 0);
    ck_assert_str_eq(p.text, "stack\n"
                             "model.py:7 allocate, 2 frames deep\n"
                             "model.py:7 allocate, 4 frames deep\n");
    print_free(&p);
    mt_snapshot_release(&f.s);
}
END_TEST

/* As in compare: ids of frames are those of either file. */
START_TEST(of_two_files)
{
    struct file f[2];
    struct print p;
    uint32_t stacks[2];
    const struct file *files[] = {&f[0], &f[1]};
    file_begin(&f[0]);
    stacks[0] = add_stack(&f[0], 1, 1);
    file_end(&f[0]);
    file_begin(&f[1]);
    (void)add_stack(&f[1], 9, 1);
    stacks[1] = add_stack(&f[1], 2, 1);
    file_end(&f[1]);
    print_rows(&p, files, stacks, 2, 0, 0);
    ck_assert_str_eq(p.text, "stack\n"
                             "model.py:7 allocate, differs at main.py:1 run\n"
                             "model.py:7 allocate, differs at main.py:2 run\n");
    print_free(&p);
    mt_snapshot_release(&f[0].s);
    mt_snapshot_release(&f[1].s);
}
END_TEST

/* A narrow terminal cuts labels, but not what tells them apart. */
START_TEST(never_cut_off)
{
    struct file f;
    struct print p;
    file_begin(&f);
    uint32_t stacks[] = {add_stack(&f, 1, 1), add_stack(&f, 2, 1)};
    const struct file *files[] = {&f, &f};
    file_end(&f);
    print_rows(&p, files, stacks, 2, 30, 0);
    ck_assert_str_eq(p.text, "stack\n"
                             "model.py:7 allocate, differs\nat main.py:1 run\n"
                             "model.py:7 allocate, differs\nat main.py:2 run\n");
    print_free(&p);
    mt_snapshot_release(&f.s);
}
END_TEST

/* A hundred thousand stacks of one name take as long as their frames. */
START_TEST(many_of_one_name)
{
    enum { MANY = 100000 };
    struct file f;
    file_begin(&f);
    struct mt_stack_of *group = calloc(MANY, sizeof *group);
    struct mt_stack_difference *differ = calloc(MANY, sizeof *differ);
    for (int i = 0; i < MANY; i++) {
        group[i] = (struct mt_stack_of){&f.s, add_stack(&f, i + 1, 1)};
    }
    file_end(&f);
    ck_assert(mt_stack_differences(group, MANY, differ));
    for (int i = 0; i < MANY; i++) {
        ck_assert_uint_eq(differ[i].frame, 1);
        ck_assert(differ[i].alone);
    }
    free(group);
    free(differ);
    mt_snapshot_release(&f.s);
}
END_TEST

UNIT_MAIN("stack_apart", of_one_file, by_depth, of_two_files, never_cut_off, many_of_one_name)
