/* SPDX-License-Identifier: MIT */
/*
 * Annotations come with a time (external_annotations) or as events of their own (user_defined, in
 * nightly builds of 2024). Both become marks at events here, with the borders that --annotation
 * has: an event in the very microsecond of the END is inside. The viewer pairs them.
 */
#include "verbs/plots/page/page_marks.h"

#include <stdlib.h>

#include "torch/keys.h"
#include "heap/walk/timeline.h"

static bool is_start(const struct mt_snapshot *s, uint32_t stage)
{
    return mt_str_equal(mt_snapshot_str(s, stage), MT_STR("START"));
}

static bool push(struct mt_page_marks *m, struct mt_page_mark mark)
{
    mark.order = m->v.n;
    return mt_vec_push(&m->v, mark);
}

static bool add_annotation(struct mt_page_marks *m, const struct mt_replay *r,
                           const struct mt_annotation *a)
{
    bool has_device = a->present & (1u << MT_ANNOTATION_KEY_device);
    if ((has_device && a->device >= 0 && a->device != r->device) || a->time_us == MT_NO_TIME) {
        return true;
    }
    bool begins = is_start(r->snapshot, a->stage);
    int64_t time_us = begins || a->time_us == INT64_MAX ? a->time_us : a->time_us + 1;
    return push(m, (struct mt_page_mark){
                       .name = a->name,
                       .event = (uint32_t)mt_timeline_event_at(r, time_us),
                       .begins = begins,
                       .time_us = a->time_us,
                   });
}

/* The name is the file name of the only frame, START or END its name. */
static bool add_event(struct mt_page_marks *m, const struct mt_replay *r, size_t i)
{
    const struct mt_snapshot *s = r->snapshot;
    const struct mt_stack *stack = &s->stacks[r->events[i].stack];
    if (r->events[i].action != MT_ACTION_USER_DEFINED || stack->n == 0) {
        return true;
    }
    const struct mt_frame *frame = &s->frames[s->stack_frames[stack->first]];
    bool begins = is_start(s, frame->name);
    return push(m, (struct mt_page_mark){
                       .name = frame->filename,
                       .event = (uint32_t)(begins ? i : i + 1),
                       .begins = begins,
                       .time_us = r->events[i].time_us,
                   });
}

static int compare_marks(const void *a, const void *b)
{
    const struct mt_page_mark *x = a;
    const struct mt_page_mark *y = b;
    if (x->event != y->event) {
        return x->event < y->event ? -1 : 1;
    }
    if (x->time_us != y->time_us) {
        return x->time_us < y->time_us ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

enum mt_status mt_page_marks_find(struct mt_page_marks *m, const struct mt_replay *r,
                                  struct mt_error *err)
{
    const struct mt_snapshot *s = r->snapshot;
    bool ok = true;
    for (size_t i = 0; i < s->n_annotations && r->n && ok; i++) {
        ok = add_annotation(m, r, &s->annotations[i]);
    }
    for (size_t i = 0; i < r->n && ok; i++) {
        ok = add_event(m, r, i);
    }
    if (m->v.n) {
        qsort(m->v.v, m->v.n, sizeof *m->v.v, compare_marks);
    }
    return ok ? MT_OK : mt_fail_nomem(err);
}
