/* SPDX-License-Identifier: MIT */
/*
 * START and END pairs of annotations are matched by name as a stack (PyTorch writes no ids). An END
 * without a START is left out; a START without an END stays open, and is then no wiser than the
 * file.
 */
#include "heap/walk/annotation_cursor.h"

#include <stdlib.h>

#include "support/hash.h"

struct timed {
    int64_t time_us;
    uint32_t index;
};

static int compare_timed(const void *a, const void *b)
{
    const struct timed *x = a;
    const struct timed *y = b;
    if (x->time_us != y->time_us) {
        return x->time_us < y->time_us ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* The annotations that are wanted, by time. */
static bool sorted_marks(struct mt_annotation_cursor *c, const struct mt_snapshot *s,
                         const struct timed *all, size_t n)
{
    bool ok = mt_vec_reserve(&c->marks, n);
    for (size_t i = 0; ok && i < n; i++) {
        const struct mt_annotation *a = &s->annotations[all[i].index];
        bool start = mt_str_equal(mt_snapshot_str(s, a->stage), MT_STR("START"));
        c->marks.v[c->marks.n++] = (struct mt_annotation_mark){
            a->name, start ? MT_ANNOTATION_START : 0, a->time_us, false};
    }
    return ok;
}

/* Finds the START of each END: the last of its name that is open. */
static bool pair_marks(struct mt_annotation_cursor *c)
{
    struct mt_idmap last = {0};    /* name -> the last START that is open, + 1 */
    MT_VEC(uint32_t) before = {0}; /* the one of the same name before a START, + 1 */
    bool ok = mt_vec_reserve(&before, c->marks.n);
    size_t kept = 0;
    for (size_t i = 0; ok && i < c->marks.n; i++) {
        struct mt_annotation_mark m = c->marks.v[i];
        uint32_t *found = mt_idmap_find(&last, m.name);
        uint32_t open = found ? *found : 0;
        if (m.start == MT_ANNOTATION_START) {
            before.v[kept] = open;
            ok = mt_idmap_put(&last, m.name, (uint32_t)kept + 1);
        } else if (open) {
            m.start = open - 1;
            *found = before.v[m.start];
        } else {
            continue;
        }
        c->marks.v[kept++] = m;
    }
    c->marks.n = ok ? kept : 0;
    mt_vec_release(&before);
    mt_idmap_release(&last);
    return ok;
}

enum mt_status mt_annotation_cursor_init(struct mt_annotation_cursor *c,
                                         const struct mt_snapshot *s, int32_t device,
                                         mt_annotation_wanted *wanted, const void *context,
                                         struct mt_error *err)
{
    *c = (struct mt_annotation_cursor){0};
    MT_VEC(struct timed) all = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_annotations; i++) {
        const struct mt_annotation *a = &s->annotations[i];
        if ((a->device == device || a->device < 0) && (!wanted || wanted(context, a->name))) {
            struct timed t = {a->time_us, (uint32_t)i};
            ok = mt_vec_push(&all, t);
        }
    }
    if (all.n) {
        qsort(all.v, all.n, sizeof *all.v, compare_timed);
    }
    ok = ok && sorted_marks(c, s, all.v, all.n) && pair_marks(c) &&
         mt_vec_reserve(&c->open, c->marks.n); /* so that moving cannot fail */
    mt_vec_release(&all);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_annotation_cursor_release(struct mt_annotation_cursor *c)
{
    mt_vec_release(&c->marks);
    mt_vec_release(&c->open);
}

static void pass(struct mt_annotation_cursor *c, size_t at)
{
    const struct mt_annotation_mark *m = &c->marks.v[at];
    if (m->start == MT_ANNOTATION_START) {
        c->open.v[c->open.n++] = (uint32_t)at;
        return;
    }
    c->marks.v[m->start].ended = true;
    while (c->open.n && c->marks.v[c->open.v[c->open.n - 1]].ended) {
        c->open.n--;
    }
}

bool mt_annotation_cursor_move(struct mt_annotation_cursor *c, int64_t time_us)
{
    size_t before = c->next;
    while (c->next < c->marks.n && time_us != MT_NO_TIME &&
           c->marks.v[c->next].time_us <= time_us) {
        pass(c, c->next++);
    }
    return c->next != before;
}

uint32_t mt_annotation_cursor_name(const struct mt_annotation_cursor *c)
{
    return c->open.n ? c->marks.v[c->open.v[c->open.n - 1]].name : 0;
}

struct mt_str mt_annotation_plain(struct mt_str name)
{
    while (name.n && (name.p[0] == '#' || name.p[0] == ' ')) {
        name.p++;
        name.n--;
    }
    while (name.n && (name.p[name.n - 1] == '#' || name.p[name.n - 1] == ' ')) {
        name.n--;
    }
    return name;
}
