/* SPDX-License-Identifier: MIT */
/* Stacks in a line or two. Which frame stands for a stack is asked of heap/stacks/frames.h, so that
 * all verbs agree on it. */
#include "draw/label.h"
#include "heap/stacks/frames.h"
#include "support/utf8.h"

static const struct mt_str CALLED_AT = MT_STR_INIT("called at ");

static const struct mt_frame *frame_at(const struct mt_snapshot *s, const struct mt_stack *k,
                                       uint32_t i)
{
    return &s->frames[s->stack_frames[k->first + i]];
}

static const struct mt_stack *stack_get(const struct mt_snapshot *s, uint32_t stack)
{
    return stack > 0 && stack < s->n_stacks && s->stacks[stack].n > 0 ? &s->stacks[stack] : NULL;
}

/* Bytes of a name that a picture holds. Each shape repeats the names of its stack, so a made-up
 * file with names of megabytes would make pictures of gigabytes. */
enum { MOST_SHOWN = 1000 };

static struct mt_str shown_part(struct mt_str s)
{
    return s.n > MOST_SHOWN ? (struct mt_str){s.p, mt_utf8_cut(s.p, MOST_SHOWN)} : s;
}

static void add_name(struct mt_buf *b, struct mt_str name)
{
    mt_name_short(b, shown_part(name));
    mt_buf_text(b, name.n > MOST_SHOWN ? "..." : "");
}

static void add_text(struct mt_buf *b, struct mt_str s)
{
    mt_buf_str(b, shown_part(s));
    mt_buf_text(b, s.n > MOST_SHOWN ? "..." : "");
}

/* "file.py:12". A C++ frame without debug information has no file. */
static void add_place(struct mt_buf *b, const struct mt_plot_style *style,
                      const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str file = mt_snapshot_str(s, f->filename);
    if (!mt_frame_has_file(s, f)) {
        return;
    }
    add_text(b, style->full_path ? file : mt_str_basename(file));
    if (f->line > 0) {
        mt_buf_printf(b, ":%d", (int)f->line);
    }
}

static void add_frame(struct mt_buf *b, const struct mt_plot_style *style,
                      const struct mt_snapshot *s, const struct mt_frame *f)
{
    size_t before = b->n;
    add_place(b, style, s, f);
    struct mt_str name = mt_snapshot_str(s, f->name);
    if (name.n) {
        mt_buf_text(b, b->n > before ? " " : "");
        add_name(b, name);
    } else if (b->n == before) {
        mt_buf_text(b, MT_NO_FRAME_NAME);
    }
}

/* "cross_entropy, functional.py:3504". */
static void add_inner(struct mt_buf *b, const struct mt_plot_style *style,
                      const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_buf place = {0};
    add_place(&place, style, s, f);
    add_text(b, mt_snapshot_str(s, f->name));
    mt_buf_text(b, b->n && place.n ? ", " : "");
    mt_buf_str(b, mt_buf_view(&place));
    b->failed |= place.failed;
    mt_buf_release(&place);
}

void mt_label_stack(struct mt_label *l, const struct mt_plot_style *style,
                    const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *k = stack_get(s, stack);
    *l = (struct mt_label){.main = {0}};
    if (!k) {
        mt_buf_text(&l->main, MT_NO_STACK);
        mt_buf_text(&l->sub, mt_stackless_why(s, MT_STACKLESS_RECORDED));
        return;
    }
    uint32_t own = style->all_frames ? 0 : mt_stack_telling_frame(s, stack);
    add_frame(&l->main, style, s, frame_at(s, k, own));
    add_name(&l->name, mt_snapshot_str(s, frame_at(s, k, own)->name));
    add_place(&l->place, style, s, frame_at(s, k, own));
    uint32_t in = 0;
    /* of the frames below the user's own only Python's say more than "memory was allocated" */
    while (in < own && !mt_frame_is_python(s, frame_at(s, k, in))) {
        in++;
    }
    if (in < own) {
        add_inner(&l->sub, style, s, frame_at(s, k, in));
        return;
    }
    uint32_t caller = own + 1;
    while (caller < k->n && !mt_frame_is_python(s, frame_at(s, k, caller))) {
        caller++;
    }
    if (caller < k->n) {
        mt_buf_str(&l->sub, CALLED_AT);
        add_frame(&l->sub, style, s, frame_at(s, k, caller));
    }
}

bool mt_label_same(const struct mt_label *a, const struct mt_label *b)
{
    return mt_str_equal(mt_buf_view(&a->main), mt_buf_view(&b->main)) &&
           mt_str_equal(mt_buf_view(&a->sub), mt_buf_view(&b->sub));
}

bool mt_label_differs_by_caller(const struct mt_label *a, const struct mt_label *b)
{
    return mt_str_equal(mt_buf_view(&a->main), mt_buf_view(&b->main)) &&
           mt_str_starts(mt_buf_view(&a->sub), CALLED_AT) &&
           mt_str_starts(mt_buf_view(&b->sub), CALLED_AT);
}

static void say_difference(struct mt_label *l, const struct mt_plot_style *style,
                           const struct mt_snapshot *s, const struct mt_stack *k,
                           const struct mt_stack_difference *d)
{
    if (d->frame < k->n) {
        mt_buf_reset(&l->sub);
        mt_buf_text(&l->sub, "differs at ");
        add_frame(&l->sub, style, s, frame_at(s, k, d->frame));
    }
    if (!d->alone) { /* a recursion that is deeper or less deep, where all frames are the same */
        mt_buf_printf(&l->sub, "%s%u frames deep", l->sub.n ? ", " : "", (unsigned)k->n);
    }
    mt_buf_text(&l->place, l->place.n ? ", " : "");
    mt_buf_str(&l->place, mt_buf_view(&l->sub));
}

void mt_labels_distinguish(struct mt_label *const *labels, const uint32_t *stacks, size_t n,
                           const struct mt_plot_style *style, const struct mt_snapshot *s)
{
    struct mt_stack_difference differ[MT_LABELS_MOST];
    for (size_t i = 0; i < n && n <= MT_LABELS_MOST; i++) {
        struct mt_label *group[MT_LABELS_MOST] = {labels[i]};
        struct mt_stack_of ids[MT_LABELS_MOST] = {{s, stacks[i]}};
        size_t m = 1;
        for (size_t j = i + 1; j < n && stack_get(s, stacks[i]); j++) {
            if (stack_get(s, stacks[j]) && mt_label_same(labels[i], labels[j])) {
                group[m] = labels[j];
                ids[m++] = (struct mt_stack_of){s, stacks[j]};
            }
        }
        if (m > 1 && !mt_stack_differences(ids, m, differ)) {
            labels[i]->main.failed = true;
            return;
        }
        for (size_t j = 0; j < m && m > 1; j++) {
            say_difference(group[j], style, s, stack_get(s, ids[j].stack), &differ[j]);
        }
    }
}

bool mt_label_failed(const struct mt_label *l)
{
    return l->main.failed || l->sub.failed || l->name.failed || l->place.failed;
}

void mt_label_release(struct mt_label *l)
{
    mt_buf_release(&l->main);
    mt_buf_release(&l->sub);
    mt_buf_release(&l->name);
    mt_buf_release(&l->place);
}

void mt_label_frames(struct mt_buf *b, const struct mt_plot_style *style,
                     const struct mt_snapshot *s, uint32_t stack, size_t max)
{
    const struct mt_stack *k = stack_get(s, stack);
    if (!k) {
        mt_buf_text(b, "\n" MT_NO_STACK);
        return;
    }
    for (uint32_t i = 0; i < k->n && i < max; i++) {
        mt_buf_char(b, '\n');
        add_frame(b, style, s, frame_at(s, k, i));
    }
    if (k->n > max) {
        mt_buf_printf(b, "\n(%u more)", k->n - (unsigned)max);
    }
}

void mt_label_event(struct mt_buf *b, size_t event)
{
    if (event == SIZE_MAX) {
        mt_buf_text(b, "the start");
    } else {
        mt_buf_printf(b, "event %s", mt_count_text(event).s);
    }
}
