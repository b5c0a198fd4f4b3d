/* SPDX-License-Identifier: MIT */
/* Cells of the CSV export: quotes, formulas, and frames beyond what is kept. */
#include "verbs/convert/export.h"
#include "support/mem.h"

#include "make.h"
#include "print.h"
#include "unit.h"

static struct make m;

static char *csv(struct print *p)
{
    struct mt_export_options options = {.filtered = &m.all};
    struct mt_export_result result;
    struct mt_error err;
    print_begin(p);
    ck_assert_int_eq(mt_export_write(&m.s, MT_EXPORT_CSV, &options, p->r.out, &result, &err),
                     MT_OK);
    print_end(p);
    char *row = strchr(p->text, '\n'); /* behind the titles */
    ck_assert_ptr_nonnull(row);
    return row + 1;
}

static void one_event(const struct make_frame *frames, size_t n)
{
    make_begin(&m);
    make_event(&m, MT_ACTION_ALLOC, 0x200, 512, make_stack_of(&m, frames, n));
    make_end(&m);
}

START_TEST(cells)
{
    static const struct make_frame frames[] = {{"@x.py", 2, "f,g"}, {"=cmd", 1, "a \"b\""}};
    struct print p;
    one_event(frames, 2);
    const char *row = csv(&p);
    ck_assert_ptr_nonnull(strstr(row, ",\"'=cmd:1 a \"\"b\"\" < @x.py:2 f,g\"\n"));
    print_free(&p);
    make_free(&m);
    one_event(frames, 1);
    ck_assert_ptr_nonnull(strstr(csv(&p), ",\"'@x.py:2 f,g\"\n"));
    print_free(&p);
    make_free(&m);
}
END_TEST

/* 20 frames that name one text of 1 MiB: more than is kept. Each stands there all the same. */
START_TEST(long_names)
{
    enum { FRAMES = 20, LENGTH = 1 << 20 };
    char *name = mt_mem_alloc(LENGTH + 1, 1);
    struct make_frame frames[FRAMES];
    struct print p;
    ck_assert_ptr_nonnull(name);
    memset(name, 'n', LENGTH);
    name[LENGTH] = '\0';
    for (int i = 0; i < FRAMES; i++) {
        frames[FRAMES - 1 - i] = (struct make_frame){name, i, "f"}; /* outermost first */
    }
    one_event(frames, FRAMES);
    char *at = strchr(csv(&p), 'n');
    for (int i = 0; i < FRAMES; i++) {
        char tail[16];
        int n = snprintf(tail, sizeof tail, ":%d f%s", i, i + 1 < FRAMES ? " < " : "\n");
        ck_assert_ptr_nonnull(at);
        ck_assert_int_eq(memcmp(at, name, LENGTH), 0);
        ck_assert_int_eq(strncmp(at + LENGTH, tail, (size_t)n), 0);
        at += LENGTH + n;
    }
    ck_assert_int_eq(*at, '\0');
    mt_mem_free(name);
    print_free(&p);
    make_free(&m);
}
END_TEST

UNIT_MAIN("export_csv", cells, long_names)
