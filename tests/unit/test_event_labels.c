/* SPDX-License-Identifier: MIT */
/* Labels of allocations and the forward pass of a stack. */
#include "heap/stacks/event_labels.h"

#include "made_trace.h"
#include "unit.h"

static void label(struct made *m, size_t event, const char *text)
{
    ck_assert(
        mt_builder_event_column(m->b, event, MT_COLUMN_USER_METADATA, mt_builder_cstr(m->b, text)));
}

static struct mt_str text_of(const struct mt_event_labels *l, size_t event)
{
    return mt_snapshot_str(l->snapshot, l->text[event]);
}

/* An annotation goes before what was said at the allocation; an address that is used again is
 * another allocation; an annotation of nothing alive is of none. */
START_TEST(labels_of_allocations)
{
    struct made m;
    struct mt_event_labels l;
    struct mt_error err;
    made_begin(&m);
    made_event(&m, MT_ACTION_ALLOC, 0, 512, 0);
    made_event(&m, MT_ACTION_ANNOTATE, 0, 512, 0);
    made_event(&m, MT_ACTION_FREE_REQUESTED, 0, 512, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 512, 0);
    made_event(&m, MT_ACTION_ANNOTATE, 0, 512, 0);
    made_event(&m, MT_ACTION_ALLOC, 0, 512, 0);
    made_event(&m, MT_ACTION_ALLOC, 4096, 512, 0);
    label(&m, 0, "at first");
    label(&m, 1, "annotated");
    label(&m, 4, "of nothing");
    label(&m, 5, "second");
    made_finish(&m);
    ck_assert_int_eq(mt_event_labels_init(&l, &m.s, &err), MT_OK);
    ck_assert(mt_str_equal(text_of(&l, 0), MT_STR("annotated")));
    ck_assert(mt_str_equal(text_of(&l, 5), MT_STR("second")));
    ck_assert_uint_eq(l.text[6], 0);
    ck_assert_uint_eq(l.alloc_of[2], 0);
    ck_assert_uint_eq(l.alloc_of[3], 0);
    ck_assert_uint_eq(l.alloc_of[4], MT_NO_ALLOC);
    ck_assert_uint_eq(mt_event_labels_live(&l, 0, MADE_BASE), 5);
    ck_assert_uint_eq(mt_event_labels_live(&l, 0, MADE_BASE + 4096), 6);
    ck_assert_uint_eq(mt_event_labels_live(&l, 1, MADE_BASE), MT_NO_ALLOC);
    mt_event_labels_release(&l);
    made_release(&m);
}
END_TEST

/* What is older than the trace has the label of its annotation, whatever comes to its address. */
START_TEST(labels_of_what_is_older)
{
    struct made m;
    struct mt_event_labels l;
    struct mt_error err;
    made_begin(&m);
    made_event(&m, MT_ACTION_ANNOTATE, 0, 512, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 512, 0);
    made_event(&m, MT_ACTION_ALLOC, 0, 512, 0);
    made_event(&m, MT_ACTION_ANNOTATE, 0, 512, 0);
    label(&m, 0, "older");
    label(&m, 3, "newer");
    made_finish(&m);
    ck_assert_int_eq(mt_event_labels_init(&l, &m.s, &err), MT_OK);
    uint32_t older = mt_event_labels_older(&l, 0, MADE_BASE, false);
    ck_assert(mt_str_equal(mt_snapshot_str(&m.s, older), MT_STR("older")));
    ck_assert(mt_str_equal(text_of(&l, 2), MT_STR("newer")));
    ck_assert_uint_eq(mt_event_labels_older(&l, 0, MADE_BASE + 4096, true), 0);
    mt_event_labels_release(&l);
    made_release(&m);
}
END_TEST

static void forward(struct made *m, size_t event, const char *line)
{
    struct mt_value text = {.kind = MT_VALUE_STR, .u.id = mt_builder_cstr(m->b, line)};
    struct mt_value key = {.kind = MT_VALUE_STR, .u.id = mt_builder_cstr(m->b, "forward_frames")};
    struct mt_value list = {
        .kind = MT_VALUE_LIST, .n = 1, .u.id = mt_builder_values(m->b, &text, 1)};
    uint32_t extra = mt_builder_extra(m->b, 0, &key, &list);
    ck_assert(extra && mt_builder_event_column(m->b, event, MT_COLUMN_EXTRA, extra));
}

START_TEST(forward_pass_of_a_stack)
{
    struct made m;
    bool several;
    made_begin(&m);
    uint32_t one = made_stack(&m, "backward", 1), two = made_stack(&m, "other", 2);
    uint32_t none = made_stack(&m, "none", 3);
    for (size_t i = 0; i < 5; i++) {
        made_event(&m, MT_ACTION_ALLOC, 4096 * i, 512, i < 2 ? one : i < 4 ? two : none);
    }
    forward(&m, 0, "  File \"/w/a.py\", line 3, in forward\n");
    forward(&m, 1, "  File \"/w/a.py\", line 3, in forward\n");
    forward(&m, 2, "  File \"/w/a.py\", line 3, in forward\n");
    forward(&m, 3, "  File \"/w/b.py\", line 4, in forward\n");
    made_finish(&m);
    ck_assert(mt_stack_forward(&m.s, one, &several) && !several);
    ck_assert(mt_stack_forward(&m.s, two, &several) && several);
    ck_assert(!mt_stack_forward(&m.s, none, &several));
    ck_assert(!mt_stack_forward(&m.s, 0, &several));
    made_release(&m);
}
END_TEST

START_TEST(places_in_tracebacks)
{
    static const struct {
        const char *line, *place;
    } CASES[] = {
        {"  File \"/w/fwd.py\", line 3, in forward\n    return x\n", "fwd.py:3 forward"},
        {"  File \"fwd.py\", line 3", "fwd.py:3"},
        {"File \"\", line 3, in f", NULL},
        {"no traceback", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        struct mt_buf b = {0};
        bool is = mt_traceback_place(&b, mt_str_from(CASES[i].line));
        ck_assert_msg(is == (CASES[i].place != NULL), "%s", CASES[i].line);
        ck_assert(!is || mt_str_equal(mt_buf_view(&b), mt_str_from(CASES[i].place)));
        mt_buf_release(&b);
    }
}
END_TEST

UNIT_MAIN("event_labels", labels_of_allocations, labels_of_what_is_older, forward_pass_of_a_stack,
          places_in_tracebacks)
