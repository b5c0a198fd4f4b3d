/* SPDX-License-Identifier: MIT */
/*
 * Call stacks for people: the frame that says most, and the stack in lines, in which internal
 * frames are folded unless --all-frames asks for them. Which those are, frames.c of the analysis
 * says.
 */
#include "heap/stacks/event_labels.h"
#include "heap/stacks/frames.h"
#include "print/report_json.h"
#include "print/report.h"
#include "torch/keys.h"

#include <string.h>

static void add_name(struct mt_buf *b, struct mt_str name)
{
    struct mt_buf text = {0};
    mt_name_short(&text, name);
    mt_text_safe(b, mt_buf_view(&text));
    b->failed |= text.failed;
    mt_buf_release(&text);
}

/* Appends what a line has room for; a frame may stand in each of a million. */
static void add_cut(struct mt_buf *b, struct mt_str s, struct mt_str shown,
                    void (*add)(struct mt_buf *b, struct mt_str s))
{
    bool end = shown.p + shown.n == s.p + s.n;
    mt_buf_text(b, shown.n < s.n && end ? "..." : "");
    add(b, shown);
    mt_buf_text(b, shown.n < s.n && !end ? "..." : "");
}

void mt_text_limited(struct mt_buf *b, struct mt_str s)
{
    add_cut(b, s, mt_str_head(s, MT_ASKED_BYTES), mt_text_safe);
}

static void add_frame(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_frame *f,
                      bool full_path)
{
    struct mt_str file = mt_snapshot_str(s, f->filename);
    struct mt_str name = mt_snapshot_str(s, f->name);
    struct mt_str shown = full_path ? file : mt_str_basename(file);
    bool has_place = shown.n > 0 && mt_frame_has_file(s, f);
    if (has_place) {
        add_cut(b, shown, mt_str_tail(shown, MT_ASKED_BYTES), mt_text_safe);
        if (f->line > 0) {
            mt_buf_printf(b, ":%d", (int)f->line);
        }
    }
    if (name.n) {
        mt_buf_text(b, has_place ? " " : "");
        add_cut(b, name, mt_str_head(name, MT_ASKED_BYTES), add_name);
    } else if (!has_place) {
        mt_buf_text(b, MT_NO_FRAME_NAME);
    }
}

static const struct mt_frame *frame_at(const struct mt_snapshot *s, uint32_t stack, uint32_t i)
{
    return &s->frames[s->stack_frames[s->stacks[stack].first + i]];
}

/* Index of the innermost frame at or behind `from` that is the user's, or is `telling`; the stack's
 * length when there is none. */
static uint32_t next_user_frame(const struct mt_snapshot *s, uint32_t stack, uint32_t from,
                                uint32_t telling)
{
    while (from < s->stacks[stack].n && from != telling &&
           mt_frame_is_internal(s, frame_at(s, stack, from))) {
        from++;
    }
    return from;
}

void mt_frame_label(struct mt_buf *b, const struct mt_snapshot *s, uint32_t frame,
                    const struct mt_report *r)
{
    if (frame) {
        add_frame(b, s, &s->frames[frame], r->full_path);
    } else {
        mt_buf_text(b, MT_NO_STACK);
    }
}

void mt_stack_label(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                    const struct mt_report *r)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    if (n == 0) {
        mt_buf_text(b, MT_NO_STACK);
        return;
    }
    uint32_t i = r->all_frames ? 0 : mt_stack_telling_frame(s, stack);
    add_frame(b, s, frame_at(s, stack, i), r->full_path);
}

/* "(no stack: older than the trace)"; a file without any says so elsewhere, once. */
static void add_no_stack(struct mt_buf *b, const struct mt_snapshot *s, enum mt_stackless age)
{
    mt_buf_add(b, MT_NO_STACK, sizeof MT_NO_STACK - 2); /* the bracket is closed below */
    if (s->n_stack_frames > 0) {
        mt_buf_printf(b, ": %s", mt_stackless_why(s, age));
    }
    mt_buf_char(b, ')');
}

static struct mt_str forward_line(const struct mt_snapshot *s, const struct mt_value *lines,
                                  uint32_t i)
{
    const struct mt_value *v = &s->values[lines->u.id + i];
    return v->kind == MT_VALUE_STR ? mt_snapshot_str(s, v->u.id) : MT_STR("");
}

void mt_stack_label_forward(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack)
{
    bool several;
    const struct mt_value *lines = mt_stack_forward(s, stack, &several);
    struct mt_buf place = {0};
    if (lines && mt_traceback_place(&place, forward_line(s, lines, lines->n - 1))) {
        mt_buf_text(b, ", of ");
        mt_text_safe(b, mt_buf_view(&place));
        mt_buf_text(b, several ? " and others" : "");
    }
    b->failed |= place.failed;
    mt_buf_release(&place);
}

/* The forward pass that memory of a backward pass belongs to, outermost call first as Python prints
 * it. */
static void add_forward_lines(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                              int indent)
{
    bool several;
    const struct mt_value *lines = mt_stack_forward(s, stack, &several);
    const char *head = several ? "forward, one of several:" : "forward:";
    for (uint32_t i = 0; lines && i < lines->n; i++) {
        struct mt_buf place = {0};
        if (mt_traceback_place(&place, forward_line(s, lines, i))) {
            mt_buf_printf(b, "%*s%*s  ", indent, "", (int)strlen(head), i ? "" : head);
            mt_text_safe(b, mt_buf_view(&place));
            mt_buf_char(b, '\n');
        }
        b->failed |= place.failed;
        mt_buf_release(&place);
    }
}

/* " (einsum)": the library's function that the user's line called. */
static void add_callee(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack)
{
    uint32_t n = s->stacks[stack].n;
    const struct mt_frame *inner = frame_at(s, stack, 0);
    uint32_t user = next_user_frame(s, stack, 0, UINT32_MAX);
    struct mt_str name = mt_snapshot_str(s, inner->name);
    struct mt_str file = mt_str_basename(mt_snapshot_str(s, inner->filename));
    bool python = mt_frame_is_python(s, inner);
    if (python && mt_str_equal(name, MT_STR("forward"))) {
        name = (struct mt_str){file.p, file.n - 3}; /* linear.py says more */
    }
    if (user > 0 && user < n && python && name.n) {
        mt_buf_text(b, " (");
        mt_text_limited(b, name);
        mt_buf_text(b, ")");
    }
}

void mt_stack_label_aged(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                         const struct mt_report *r, enum mt_stackless age)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    if (n == 0) {
        add_no_stack(b, s, age);
        return;
    }
    mt_stack_label(b, s, stack, r);
    if (!r->all_frames) {
        add_callee(b, s, stack);
    }
    mt_stack_label_forward(b, s, stack);
}

void mt_stack_label_inner(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                          const struct mt_report *r)
{
    mt_stack_label_aged(b, s, stack, r, MT_STACKLESS_ANY);
}

void mt_stack_label_long(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                         const struct mt_report *r)
{
    mt_stack_label_aged(b, s, stack, r, MT_STACKLESS_RECORDED);
}

void mt_stack_lines(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack,
                    const struct mt_report *r, int indent)
{
    uint32_t n = stack ? s->stacks[stack].n : 0;
    uint32_t left = r->stack_lines > 0 ? (uint32_t)r->stack_lines : UINT32_MAX;
    uint32_t telling = n ? mt_stack_telling_frame(s, stack) : 0;
    if (n == 0) {
        mt_buf_printf(b, "%*s" MT_NO_STACK "\n", indent, "");
    }
    for (uint32_t i = 0; i < n && left > 0; i++) {
        uint32_t user = r->all_frames ? i : next_user_frame(s, stack, i, telling);
        if (user > i) { /* folded frames do not count as lines */
            mt_buf_printf(b, "%*s(%u internal frame%s)\n", indent, "", user - i,
                          user - i == 1 ? "" : "s");
            i = user - 1;
            continue;
        }
        left--;
        mt_buf_printf(b, "%*s", indent, "");
        add_frame(b, s, frame_at(s, stack, i), r->full_path);
        mt_buf_char(b, '\n');
    }
    add_forward_lines(b, s, stack, indent);
}

void mt_out_frames(struct mt_out o, const struct mt_snapshot *s, uint32_t stack)
{
    struct mt_out frames = mt_out_array(o, "frames");
    for (uint32_t i = 0; stack && i < s->stacks[stack].n; i++) {
        const struct mt_frame *f = frame_at(s, stack, i);
        struct mt_out one = mt_out_object(frames, NULL);
        mt_out_str(one, "name", mt_snapshot_str(s, f->name));
        mt_out_str(one, "filename", mt_snapshot_str(s, f->filename));
        if (f->present >> MT_FRAME_KEY_line & 1) {
            mt_out_i64(one, "line", f->line);
        } else {
            mt_out_null(one, "line");
        }
    }
}

void mt_out_forward(struct mt_out o, const struct mt_snapshot *s, uint32_t stack)
{
    bool several;
    const struct mt_value *lines = mt_stack_forward(s, stack, &several);
    struct mt_out list = lines ? mt_out_array(o, "forward_frames") : o;
    for (uint32_t i = 0; lines && i < lines->n; i++) {
        mt_out_str(list, NULL, forward_line(s, lines, i));
    }
}
