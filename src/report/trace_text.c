/* SPDX-License-Identifier: MIT */
/* One event of a trace, as a statement for people and as a line of CSV. */
#include <inttypes.h>

#include "trace_report.h"

/* "a", or the address where it has no name. */
static void add_alloc(struct mt_buf *b, const struct mt_named *n, uint64_t addr)
{
    if (n->alloc != MT_NO_NAME) {
        mt_buf_text(b, mt_alloc_name_text(n->alloc).s);
    } else {
        mt_buf_printf(b, "0x%" PRIx64, addr);
    }
}

static void add_segment(struct mt_buf *b, const struct mt_named *n, uint64_t addr)
{
    if (n->segment != MT_NO_NAME) {
        mt_buf_printf(b, "s%u", n->segment);
    } else {
        mt_buf_printf(b, "0x%" PRIx64, addr);
    }
}

static struct mt_size_text size(uint64_t bytes)
{
    return mt_size_peer_text((double)bytes);
}

static void say_alloc(struct mt_buf *b, const struct mt_event *e, const struct mt_named *n)
{
    add_alloc(b, n, e->addr);
    if (n->segment != MT_NO_NAME) {
        mt_buf_printf(b, " = s%u[%" PRIu64 ":%s]", n->segment, n->offset, size(e->size).s);
    } else {
        mt_buf_printf(b, " = MEM[0x%" PRIx64 ":%s]", e->addr, size(e->size).s);
    }
}

static void say_segment(struct mt_buf *b, const struct mt_event *e, const struct mt_named *n)
{
    bool takes = e->action == MT_ACTION_SEGMENT_ALLOC || e->action == MT_ACTION_SEGMENT_MAP;
    bool maps = e->action == MT_ACTION_SEGMENT_MAP || e->action == MT_ACTION_SEGMENT_UNMAP;
    if (takes) {
        add_segment(b, n, e->addr);
        mt_buf_printf(b, " %s %s(0x%" PRIx64 ", %s)", maps && n->offset ? "+=" : "=",
                      maps ? "map" : "cudaMalloc", e->addr, size(e->size).s);
        return;
    }
    mt_buf_text(b, maps ? "unmap(" : "cudaFree(");
    add_segment(b, n, e->addr);
    if (maps) {
        mt_buf_printf(b, "[%" PRIu64 ":%s])", n->offset, size(e->size).s);
    } else {
        mt_buf_printf(b, ") # %s", size(e->size).s);
    }
}

static void say_annotate(struct mt_buf *b, const struct mt_listing *x, const struct mt_step *at,
                         const struct mt_named *n)
{
    const uint32_t *column = x->s->columns[MT_COLUMN_USER_METADATA];
    mt_buf_text(b, "# annotate ");
    add_alloc(b, n, at->event->addr);
    if (column) {
        size_t index = (size_t)(at->event - x->s->events);
        mt_buf_text(b, ": ");
        mt_text_safe(b, mt_snapshot_str(x->s, column[index]));
    }
}

/* user_defined: the annotation's name is the file name of its only frame, START or END its name. */
static void say_user_defined(struct mt_buf *b, const struct mt_listing *x, const struct mt_event *e)
{
    const struct mt_stack *stack = &x->s->stacks[e->stack];
    mt_buf_text(b, "# user_defined");
    if (stack->n) {
        const struct mt_frame *f = &x->s->frames[x->s->stack_frames[stack->first]];
        mt_buf_char(b, ' ');
        mt_text_safe(b, mt_snapshot_str(x->s, f->name));
        mt_buf_char(b, ' ');
        mt_text_safe(b, mt_snapshot_str(x->s, f->filename));
    }
}

static void say_free(struct mt_buf *b, const struct mt_event *e, const struct mt_named *n)
{
    bool asked = e->action == MT_ACTION_FREE_REQUESTED;
    if (e->action == MT_ACTION_FREE_COMPLETED) {
        mt_buf_text(b, "# free completed for ");
        add_alloc(b, n, e->addr);
        mt_buf_printf(b, " %s", size(e->size).s);
        return;
    }
    mt_buf_text(b, "del ");
    add_alloc(b, n, e->addr);
    mt_buf_printf(b, " # %s%s", size(e->size).s, asked && !n->at_once ? ", pending" : "");
}

static void say(struct mt_buf *b, struct mt_listing *x, const struct mt_step *at,
                const struct mt_named *n)
{
    const struct mt_event *e = at->event;
    switch (e->action) {
    case MT_ACTION_ALLOC: say_alloc(b, e, n); break;
    case MT_ACTION_FREE_REQUESTED:
    case MT_ACTION_FREE_COMPLETED:
    case MT_ACTION_FREE: say_free(b, e, n); break;
    case MT_ACTION_SEGMENT_ALLOC:
    case MT_ACTION_SEGMENT_FREE:
    case MT_ACTION_SEGMENT_MAP:
    case MT_ACTION_SEGMENT_UNMAP: say_segment(b, e, n); break;
    case MT_ACTION_OOM:
        mt_buf_printf(b, "raise OutOfMemoryError # %s asked, %s free", size(e->size).s,
                      size(e->addr).s);
        break;
    case MT_ACTION_SNAPSHOT: mt_buf_printf(b, "# snapshot, %s active", size(e->size).s); break;
    case MT_ACTION_ANNOTATE: say_annotate(b, x, at, n); break;
    case MT_ACTION_USER_DEFINED: say_user_defined(b, x, e); break;
    default:
        mt_buf_printf(b, "# %s 0x%" PRIx64 " %s", mt_listing_action(x, e), e->addr,
                      size(e->size).s);
        break;
    }
}

enum {
    STATEMENT = 46,   /* columns of the statement */
    BEFORE_LABEL = 83 /* columns of all that stands before the label */
};

void mt_listing_text_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    struct mt_size_text time = {""};
    struct mt_buf b = {0};
    const char *label = e->stack ? mt_listing_label(x, e->stack) : "";
    if (e->time_us != MT_NO_TIME && x->first_us != MT_NO_TIME) {
        time = mt_duration_text(e->time_us - x->first_us);
    }
    say(&b, x, at, named);
    int pad = STATEMENT - mt_text_width(mt_buf_view(&b).p);
    int room = x->r->width ? x->r->width - BEFORE_LABEL : 0; /* on a terminal, for the label */
    bool bad = e->action == MT_ACTION_OOM;
    fprintf(x->r->out, "%8zu %10s  %s%s%s%*s %12s%s", at->index, time.s,
            bad ? mt_color_begin(x->r, MT_COLOR_BAD) : "", mt_buf_view(&b).p,
            bad ? mt_color_end(x->r) : "", pad > 0 ? pad : 0, "",
            mt_report_size(x->r, named->now->live_bytes).s, *label ? "  " : "");
    mt_text_print_cut(x->r->out, label, room > 12 ? room : INT32_MAX);
    fputc('\n', x->r->out);
    x->failed |= b.failed;
    mt_buf_release(&b);
}

/* ---- CSV ---- */

static void csv_place(const struct mt_listing *x, const struct mt_event *e)
{
    char sep = x->r->separator;
    if (e->time_us != MT_NO_TIME) {
        fprintf(x->r->out, "%" PRId64, e->time_us);
    }
    fputc(sep, x->r->out);
}

static void csv_names(struct mt_listing *x, const struct mt_step *at, const struct mt_named *n)
{
    char sep = x->r->separator;
    bool block =
        at->kind == MT_STEP_ALLOC || at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED;
    if (block && n->alloc != MT_NO_NAME) {
        fputs(mt_alloc_name_text(n->alloc).s, x->r->out);
    }
    fputc(sep, x->r->out);
    if (n->segment != MT_NO_NAME && at->kind != MT_STEP_OTHER) {
        fprintf(x->r->out, "s%u%c%" PRIu64, n->segment, sep, n->offset);
    } else {
        fputc(sep, x->r->out);
    }
    fputc(sep, x->r->out);
}

void mt_listing_csv_event(struct mt_listing *x, const struct mt_step *at,
                          const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    FILE *out = x->r->out;
    char sep = x->r->separator;
    fprintf(out, "%d%c%zu%c", (int)x->l->replay->device, sep, at->index, sep);
    csv_place(x, e);
    mt_csv_text(x->r, mt_listing_action(x, e));
    fprintf(out, "%c0x%" PRIx64 "%c%" PRIu64 "%c0x%" PRIx64 "%c", sep, e->addr, sep, e->size, sep,
            x->s->streams[e->stream].handle, sep);
    csv_names(x, at, named);
    fprintf(out, "%" PRIu64 "%c%" PRIu64 "%c", at->live_bytes, sep, at->reserved_bytes, sep);
    mt_csv_text(x->r, e->stack ? mt_listing_label(x, e->stack) : "");
    fputc('\n', out);
}
