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

/* ---- lines ---- */

enum {
    NUMBER = 8, /* columns of each part of a line */
    TIME = 10,
    STATEMENT = 46,
    ALIVE = 12,
    UNLABELLED = NUMBER + 1 + TIME + 2 + STATEMENT + 1 + ALIVE,
    LEAST_LABEL = 12
};

/* A terminal that has no room for the stack gets it on a second line; one that is narrower still
 * gets everything but number and statement there. */
enum layout { ONE_LINE, STACK_BELOW, ALL_BELOW };

static enum layout layout_of(const struct mt_report *r)
{
    return r->width == 0 || r->width > UNLABELLED + 2 + LEAST_LABEL ? ONE_LINE
           : r->width >= UNLABELLED                                 ? STACK_BELOW
                                                                    : ALL_BELOW;
}

void mt_listing_text_head(const struct mt_listing *x)
{
    FILE *out = x->r->out;
    enum layout layout = layout_of(x->r);
    fprintf(out, "\n%s", mt_color_begin(x->r, MT_COLOR_HEAD));
    if (layout == ALL_BELOW) {
        fprintf(out, "%*s  what happened\n%*s  time, alive, stack", NUMBER, "event", NUMBER, "");
    } else {
        fprintf(out, "%*s %*s  %-*s %*s", NUMBER, "event", TIME, "time", STATEMENT, "what happened",
                ALIVE, "alive");
        if (layout == STACK_BELOW) {
            fprintf(out, "\n%*s stack", NUMBER + 1 + TIME + 1, "");
        } else {
            fputs("  stack", out);
        }
    }
    fprintf(out, "%s\n", mt_color_end(x->r));
}

static void put_statement(const struct mt_listing *x, const char *statement, bool bad)
{
    fprintf(x->r->out, "%s%s%s", bad ? mt_color_begin(x->r, MT_COLOR_BAD) : "", statement,
            bad ? mt_color_end(x->r) : "");
}

/* Behind `used` columns of its line; without a terminal it has no end. */
static void put_label(const struct mt_listing *x, const char *label, int used)
{
    int room = x->r->width - used;
    mt_text_print_cut(x->r->out, label, x->r->width && room >= LEAST_LABEL ? room : INT32_MAX);
}

static void print_short(const struct mt_listing *x, const struct mt_step *at, const char *time,
                        const char *statement, const char *alive, const char *label)
{
    FILE *out = x->r->out;
    fprintf(out, "%*zu  ", NUMBER, at->index);
    put_statement(x, statement, at->event->action == MT_ACTION_OOM);
    int used = fprintf(out, "\n%*s  %s%s%s alive%s", NUMBER, "", time, *time ? ", " : "", alive,
                       *label ? ", " : "");
    put_label(x, label, used - 1);
    fputc('\n', out);
}

static void print_long(const struct mt_listing *x, const struct mt_step *at, const char *time,
                       const char *statement, const char *alive, const char *label)
{
    FILE *out = x->r->out;
    int pad = STATEMENT - mt_text_width(statement);
    bool below = layout_of(x->r) == STACK_BELOW;
    fprintf(out, "%*zu %*s  ", NUMBER, at->index, TIME, time);
    put_statement(x, statement, at->event->action == MT_ACTION_OOM);
    fprintf(out, "%*s %*s", pad > 0 ? pad : 0, "", ALIVE, alive);
    if (*label && below) {
        fprintf(out, "\n%*s", NUMBER + 1 + TIME + 2, "");
    } else if (*label) {
        fputs("  ", out);
    }
    put_label(x, label, below ? NUMBER + 1 + TIME + 2 : UNLABELLED + 2);
    fputc('\n', out);
}

void mt_listing_text_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    struct mt_size_text alive = mt_report_size(x->r, named->now->live_bytes);
    struct mt_size_text time = {""};
    struct mt_buf *b = &x->line;
    const char *label = e->stack ? mt_listing_label(x, e->stack) : "";
    if (e->time_us != MT_NO_TIME && x->first_us != MT_NO_TIME) {
        time = mt_duration_text(e->time_us - x->first_us);
    }
    mt_buf_reset(b);
    say(b, x, at, named);
    x->failed |= b->failed;
    if (!x->failed) {
        (layout_of(x->r) == ALL_BELOW ? print_short : print_long)(x, at, time.s, b->p, alive.s,
                                                                  label);
    }
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
