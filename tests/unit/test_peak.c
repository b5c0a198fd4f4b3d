/* SPDX-License-Identifier: MIT */
/* The peak and who holds it: rows add up, whatever they are grouped by. */
#include "heap/findings/peak.h"

#include "make.h"
#include "unit.h"

struct scene {
    struct make m;
    struct mt_replay r;
    struct mt_rules *rules;
    uint32_t model, data, old;
};

/* Two lines of code, one block that is older than the trace, the peak at event 2. */
static void scene_begin(struct scene *x)
{
    struct mt_error err;
    make_begin(&x->m);
    x->m.time_us = 1000;
    x->model = make_stack(&x->m, "/p/model.py", 10, "forward");
    x->data = make_stack(&x->m, "/p/data.py", 20, "load");
    x->old = make_stack(&x->m, "/p/old.py", 30, "init");
    make_event(&x->m, MT_ACTION_SEGMENT_ALLOC, 0x200000, 5120, 0);
    make_event(&x->m, MT_ACTION_ALLOC, 0x200000, 3000, x->model);
    make_event(&x->m, MT_ACTION_ALLOC, 0x201000, 1000, x->data);
    make_event(&x->m, MT_ACTION_FREE_REQUESTED, 0x200000, 3000, 0);
    make_event(&x->m, MT_ACTION_FREE_COMPLETED, 0x200000, 3000, 0);
    make_event(&x->m, MT_ACTION_ALLOC, 0x200000, 500, x->model);
    make_segment(&x->m, 0x100000, 0);
    make_block(&x->m, 512, MT_BLOCK_ALLOCATED, 300, x->old);
    make_segment(&x->m, 0x200000, 0);
    make_block(&x->m, 512, MT_BLOCK_ALLOCATED, 500, x->model);
    make_block(&x->m, 0xe00, MT_BLOCK_INACTIVE, 0, 0);
    make_block(&x->m, 1024, MT_BLOCK_ALLOCATED, 1000, x->data);
    make_end(&x->m);
    ck_assert_int_eq(mt_replay_init(&x->r, &x->m.s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_rules_new(MT_STR(""), &x->rules, &err), MT_OK);
}

static void scene_end(struct scene *x)
{
    mt_rules_free(x->rules);
    mt_replay_release(&x->r);
    make_free(&x->m);
}

static struct mt_peak look(struct scene *x, enum mt_peak_by by, struct mt_moment at,
                           struct mt_filtered *f)
{
    struct mt_peak_options o = {.at = at, .by = by, .rules = x->rules};
    struct mt_peak p;
    struct mt_error err;
    ck_assert_int_eq(mt_peak_find(&p, &x->m.s, &x->r, f, &o, &err), MT_OK);
    uint64_t rows = 0;
    uint64_t categories = 0;
    for (size_t i = 0; i < p.rows.n; i++) {
        rows += p.rows.v[i].bytes;
    }
    for (int c = 0; c < MT_CATEGORY_COUNT; c++) {
        categories += p.by_category[c];
    }
    ck_assert_uint_eq(rows, p.bytes);
    ck_assert_uint_eq(categories, p.bytes);
    return p;
}

START_TEST(at_the_peak)
{
    struct scene x;
    scene_begin(&x);
    struct mt_peak p = look(&x, MT_BY_STACK, (struct mt_moment){0}, NULL);
    ck_assert_uint_eq(p.bytes, 3000 + 1000 + 300);
    ck_assert_uint_eq(p.events_done, 3);
    ck_assert_int_eq(p.since_us, 2);
    ck_assert_uint_eq(p.preexisting_bytes, 300);
    ck_assert_uint_eq(p.reserved_bytes, 5120 + 512);
    ck_assert_uint_eq(p.rows.n, 3);
    ck_assert_uint_eq(p.rows.v[0].key, x.model);
    ck_assert_uint_eq(p.rows.v[2].key, x.old);
    ck_assert_uint_eq(p.rows.v[2].preexisting, 300);
    mt_peak_release(&p);
    scene_end(&x);
}
END_TEST

START_TEST(at_other_moments)
{
    struct scene x;
    scene_begin(&x);
    static const struct {
        struct mt_moment at;
        uint64_t bytes;
    } CASES[] = {{{.kind = MT_AT_END}, 1800},
                 {{.kind = MT_AT_START}, 300},
                 {{.kind = MT_AT_EVENT, .event = 3}, 4300}, /* pending still counts */
                 {{.kind = MT_AT_EVENT, .event = 4}, 1300},
                 {{.kind = MT_AT_TIME, .time_us = 1}, 3300}};
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        struct mt_peak p = look(&x, MT_BY_STACK, CASES[i].at, NULL);
        ck_assert_uint_eq(p.bytes, CASES[i].bytes);
        mt_peak_release(&p);
    }
    scene_end(&x);
}
END_TEST

START_TEST(every_way_to_group)
{
    struct scene x;
    scene_begin(&x);
    static const size_t ROWS[] = {[MT_BY_STACK] = 3,    [MT_BY_FILE] = 3,   [MT_BY_LINE] = 3,
                                  [MT_BY_FUNCTION] = 3, [MT_BY_FOLDER] = 1, [MT_BY_ANNOTATION] = 1,
                                  [MT_BY_STREAM] = 1,   [MT_BY_POOL] = 1,   [MT_BY_CATEGORY] = 1};
    for (int by = MT_BY_STACK; by <= MT_BY_CATEGORY; by++) {
        struct mt_peak p = look(&x, (enum mt_peak_by)by, (struct mt_moment){0}, NULL);
        ck_assert_uint_eq(p.bytes, 4300);
        ck_assert_uint_eq(p.rows.n, ROWS[by]);
        mt_peak_release(&p);
    }
    scene_end(&x);
}
END_TEST

/* The peak of what passes: only small requests, so event 5 is the highest. */
START_TEST(filtered)
{
    struct scene x;
    scene_begin(&x);
    struct mt_filter f;
    struct mt_filtered passing;
    struct mt_error err;
    mt_filter_init(&f);
    f.size_max = 600;
    ck_assert_int_eq(mt_filtered_init(&passing, &f, &x.m.s, &err), MT_OK);
    struct mt_peak p = look(&x, MT_BY_STACK, (struct mt_moment){0}, &passing);
    ck_assert_uint_eq(p.bytes, 800);
    ck_assert_uint_eq(p.events_done, 6);
    ck_assert_uint_eq(p.left_out, 1);
    mt_peak_release(&p);
    mt_filtered_release(&passing);
    scene_end(&x);
}
END_TEST

UNIT_MAIN("peak", at_the_peak, at_other_moments, every_way_to_group, filtered)
