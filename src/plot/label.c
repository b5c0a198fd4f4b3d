/* SPDX-License-Identifier: MIT */
/* Stacks in a line or two. Which frame stands for a stack is asked of memtool/frames.h, so that
 * all verbs agree on it. */
#include "label.h"

#include <memtool/frames.h>

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
    if (s.n > MOST_SHOWN) {
        s.n = MOST_SHOWN;
        while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80) { /* not inside a character */
            s.n--;
        }
    }
    return s;
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
        mt_buf_text(b, "(unknown frame)");
    }
}

/* Of the frames below the user's own only Python's say more than "memory was allocated". */
static bool is_python(const struct mt_snapshot *s, const struct mt_frame *f)
{
    return mt_str_ends(mt_snapshot_str(s, f->filename), MT_STR(".py"));
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
        mt_buf_text(&l->main, "(no stack)");
        mt_buf_text(&l->sub, s->n_stacks <= 1 ? "this file has no stacks"
                             : mt_frames_have_python(s)
                                 ? "no frames recorded, as in autograd's threads"
                                 : "no frames recorded");
        return;
    }
    uint32_t own = style->all_frames ? 0 : mt_stack_telling_frame(s, stack);
    add_frame(&l->main, style, s, frame_at(s, k, own));
    add_name(&l->name, mt_snapshot_str(s, frame_at(s, k, own)->name));
    add_place(&l->place, style, s, frame_at(s, k, own));
    uint32_t in = 0;
    while (in < own && !is_python(s, frame_at(s, k, in))) {
        in++;
    }
    if (in < own) {
        add_inner(&l->sub, style, s, frame_at(s, k, in));
        return;
    }
    uint32_t caller = own + 1;
    while (caller < k->n && !is_python(s, frame_at(s, k, caller))) {
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

static bool has_frame(const struct mt_snapshot *s, uint32_t stack, uint32_t frame)
{
    const struct mt_stack *k = stack_get(s, stack);
    for (uint32_t i = 0; k && i < k->n; i++) {
        if (s->stack_frames[k->first + i] == frame) {
            return true;
        }
    }
    return false;
}

/* How little a frame says of itself: a line of Python, a function, an offset in a library. */
static size_t dullness(const struct mt_snapshot *s, const struct mt_frame *f)
{
    struct mt_str name = mt_snapshot_str(s, f->name);
    return is_python(s, f) ? 0 : name.n && !mt_str_starts(name, MT_STR("+0x")) ? 1 : 2;
}

/* The frame that fewest of the others have, Python's before others; k->n when all have all. *alone:
 * no other has it. */
static uint32_t differing_frame(const struct mt_snapshot *s, const struct mt_stack *k,
                                const uint32_t *group, size_t n, size_t self, bool *alone)
{
    uint32_t best = k->n;
    size_t least = SIZE_MAX;
    for (uint32_t i = 0; i < k->n; i++) {
        size_t shared = 0;
        for (size_t j = 0; j < n; j++) {
            shared += j != self && has_frame(s, group[j], s->stack_frames[k->first + i]);
        }
        size_t cost = shared * 3 + dullness(s, frame_at(s, k, i));
        if (shared + 1 < n && cost < least) {
            least = cost;
            best = i;
            *alone = shared == 0;
        }
    }
    return best;
}

static void say_difference(struct mt_label *l, const struct mt_plot_style *style,
                           const struct mt_snapshot *s, const uint32_t *group, size_t n,
                           size_t self)
{
    const struct mt_stack *k = stack_get(s, group[self]);
    if (!k) {
        return;
    }
    bool alone = false;
    uint32_t i = differing_frame(s, k, group, n, self, &alone);
    if (i < k->n) {
        mt_buf_reset(&l->sub);
        mt_buf_text(&l->sub, "differs at ");
        add_frame(&l->sub, style, s, frame_at(s, k, i));
    }
    if (!alone) { /* a recursion that is deeper or less deep, where all frames are the same */
        mt_buf_printf(&l->sub, "%s%u frames deep", l->sub.n ? ", " : "", (unsigned)k->n);
    }
    mt_buf_text(&l->place, l->place.n ? ", " : "");
    mt_buf_str(&l->place, mt_buf_view(&l->sub));
}

void mt_labels_distinguish(struct mt_label *const *labels, const uint32_t *stacks, size_t n,
                           const struct mt_plot_style *style, const struct mt_snapshot *s)
{
    for (size_t i = 0; i < n && n <= MT_LABELS_MOST; i++) {
        struct mt_label *group[MT_LABELS_MOST] = {labels[i]};
        uint32_t ids[MT_LABELS_MOST] = {stacks[i]};
        size_t m = 1;
        for (size_t j = i + 1; j < n; j++) {
            if (mt_label_same(labels[i], labels[j])) {
                group[m] = labels[j];
                ids[m++] = stacks[j];
            }
        }
        for (size_t j = 0; j < m && m > 1; j++) {
            say_difference(group[j], style, s, ids, m, j);
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
        mt_buf_text(b, "\n(no stack)");
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
