/* SPDX-License-Identifier: MIT */
/* Marks of annotations: by event, with the borders of --annotation, from both sources. */
#include "heap/walk/replay.h"

#include "verbs/plots/page/page_marks.h"

#include "make.h"
#include "unit.h"

enum { FIRST_US = 1000, STEP_US = 100, EVENTS = 4 };

/* device < 0: the file tells none */
static void annotate(struct make *m, const char *stage, const char *name, int32_t device,
                     int64_t time_us)
{
    uint32_t all = (1u << MT_ANNOTATION_KEY_COUNT) - 1;
    struct mt_annotation a = {
        .name = mt_builder_cstr(m->b, name),
        .stage = mt_builder_cstr(m->b, stage),
        .device = device < 0 ? 0 : device,
        .time_us = time_us,
        .present = device < 0 ? all & ~(1u << MT_ANNOTATION_KEY_device) : all,
    };
    ck_assert(mt_builder_annotation(m->b, &a));
}

/* Events at 1000, 1100, 1200 and 1300 us; the third is a mark of its own. */
static void add_events(struct make *m)
{
    for (int i = 0; i < EVENTS; i++) {
        m->time_us = FIRST_US + STEP_US * i;
        bool mark = i == 2;
        make_event(m, mark ? MT_ACTION_USER_DEFINED : MT_ACTION_ALLOC, 4096u * (unsigned)(i + 1),
                   512, mark ? make_stack(m, "own", 0, "START") : 0);
    }
}

static void check_mark(const struct make *m, const struct mt_page_mark *mark, const char *name,
                       uint32_t event, bool begins)
{
    ck_assert_text(mt_snapshot_str(&m->s, mark->name), name);
    ck_assert_msg(mark->event == event, "%s at %u", name, mark->event);
    ck_assert_int_eq(mark->begins, begins);
}

static void find(struct make *m, struct mt_page_marks *marks)
{
    struct mt_replay r;
    struct mt_error err;
    make_end(m);
    ck_assert_int_eq(mt_replay_init(&r, &m->s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_page_marks_find(marks, &r, &err), MT_OK);
    mt_replay_release(&r);
}

START_TEST(marks_stand_at_events)
{
    struct make m;
    struct mt_page_marks marks = {0};
    make_begin(&m);
    add_events(&m);
    annotate(&m, "END", "late", 0, 1300); /* not in the order of time */
    annotate(&m, "START", "late", 0, 1250);
    annotate(&m, "START", "all", -1, 900);
    annotate(&m, "START", "exact", 0, 1100);
    annotate(&m, "END", "exact", 0, 1100);
    annotate(&m, "START", "other", 1, 1100);
    annotate(&m, "START", "untimed", 0, MT_NO_TIME);
    annotate(&m, "END", "all", -1, INT64_MAX);
    find(&m, &marks);
    ck_assert_uint_eq(marks.v.n, 7);
    check_mark(&m, &marks.v.v[0], "all", 0, true);
    check_mark(&m, &marks.v.v[1], "exact", 1, true); /* the event of its microsecond is inside */
    check_mark(&m, &marks.v.v[2], "exact", 2, false);
    check_mark(&m, &marks.v.v[3], "own", 2, true);
    check_mark(&m, &marks.v.v[4], "late", 3, true);
    check_mark(&m, &marks.v.v[5], "late", 4, false);
    check_mark(&m, &marks.v.v[6], "all", 4, false);
    mt_vec_release(&marks.v);
    make_free(&m);
}
END_TEST

START_TEST(no_events_no_marks)
{
    struct make m;
    struct mt_page_marks marks = {0};
    make_begin(&m);
    annotate(&m, "START", "all", 0, 900);
    find(&m, &marks);
    ck_assert_uint_eq(marks.v.n, 0);
    mt_vec_release(&marks.v);
    make_free(&m);
}
END_TEST

UNIT_MAIN("page_marks", marks_stand_at_events, no_events_no_marks)
