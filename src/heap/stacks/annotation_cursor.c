/* SPDX-License-Identifier: MIT */
/*
 * START and END pairs of annotations are matched by name as a stack (PyTorch writes no ids). An END
 * without a START is left out; a START without an END stays open, and is then no wiser than the
 * file.
 */
#include "heap/stacks/annotation_cursor.h"

#include <stdlib.h>

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

enum mt_status mt_annotation_cursor_init(struct mt_annotation_cursor *c,
                                         const struct mt_snapshot *s, int32_t device,
                                         struct mt_error *err)
{
    *c = (struct mt_annotation_cursor){.snapshot = s};
    MT_VEC(struct timed) all = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_annotations; i++) {
        const struct mt_annotation *a = &s->annotations[i];
        if (a->device == device || a->device < 0) {
            struct timed t = {a->time_us, (uint32_t)i};
            ok = mt_vec_push(&all, t);
        }
    }
    if (all.n) {
        qsort(all.v, all.n, sizeof *all.v, compare_timed);
    }
    /* Room for all to be open, so that moving cannot fail. */
    ok = ok && mt_vec_reserve(&c->order, all.n) && mt_vec_reserve(&c->open, all.n);
    for (size_t i = 0; ok && i < all.n; i++) {
        c->order.v[c->order.n++] = all.v[i].index;
    }
    mt_vec_release(&all);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_annotation_cursor_release(struct mt_annotation_cursor *c)
{
    mt_vec_release(&c->order);
    mt_vec_release(&c->open);
}

static void close_name(struct mt_annotation_cursor *c, uint32_t name)
{
    for (size_t i = c->open.n; i-- > 0;) {
        if (c->open.v[i] == name) {
            for (; i + 1 < c->open.n; i++) {
                c->open.v[i] = c->open.v[i + 1];
            }
            c->open.n--;
            return;
        }
    }
}

bool mt_annotation_cursor_move(struct mt_annotation_cursor *c, int64_t time_us)
{
    bool changed = false;
    while (c->next < c->order.n) {
        const struct mt_annotation *a = &c->snapshot->annotations[c->order.v[c->next]];
        if (time_us == MT_NO_TIME || a->time_us > time_us) {
            break;
        }
        if (mt_str_equal(mt_snapshot_str(c->snapshot, a->stage), MT_STR("START"))) {
            c->open.v[c->open.n++] = a->name;
        } else {
            close_name(c, a->name);
        }
        changed = true;
        c->next++;
    }
    return changed;
}
