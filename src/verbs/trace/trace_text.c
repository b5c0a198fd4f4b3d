/* SPDX-License-Identifier: MIT */
/* One event of a trace, as a statement for people and as a line of CSV. */
#include <inttypes.h>
#include <limits.h>

#include "support/checked.h"
#include "verbs/trace/trace_report.h"

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

static void say_alloc(struct mt_buf *b, const struct mt_event *e, const struct mt_named *n,
                      const char *size)
{
    add_alloc(b, n, e->addr);
    if (n->segment != MT_NO_NAME) {
        mt_buf_printf(b, " = s%u[%" PRIu64 ":%s]", n->segment, n->offset, size);
    } else {
        mt_buf_printf(b, " = MEM[0x%" PRIx64 ":%s]", e->addr, size);
    }
}

static void say_segment(struct mt_buf *b, const struct mt_event *e, const struct mt_named *n,
                        const char *size)
{
    bool takes = e->action == MT_ACTION_SEGMENT_ALLOC || e->action == MT_ACTION_SEGMENT_MAP;
    bool maps = e->action == MT_ACTION_SEGMENT_MAP || e->action == MT_ACTION_SEGMENT_UNMAP;
    if (takes) {
        add_segment(b, n, e->addr);
        mt_buf_printf(b, " %s %s(0x%" PRIx64 ", %s)", maps && n->offset ? "+=" : "=",
                      maps ? "map" : "cudaMalloc", e->addr, size);
        return;
    }
    mt_buf_text(b, maps ? "unmap(" : "cudaFree(");
    add_segment(b, n, e->addr);
    if (maps) {
        mt_buf_printf(b, "[%" PRIu64 ":%s])", n->offset, size);
    } else {
        mt_buf_printf(b, ") # %s", size);
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
        mt_text_limited(b, mt_snapshot_str(x->s, column[index]));
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
        mt_text_limited(b, mt_snapshot_str(x->s, f->name));
        mt_buf_char(b, ' ');
        mt_text_limited(b, mt_snapshot_str(x->s, f->filename));
    }
}

static void say_free(struct mt_buf *b, const struct mt_event *e, const struct mt_named *n,
                     const char *size)
{
    bool asked = e->action == MT_ACTION_FREE_REQUESTED;
    if (e->action == MT_ACTION_FREE_COMPLETED) {
        mt_buf_text(b, "# free completed for ");
        add_alloc(b, n, e->addr);
        mt_buf_printf(b, " %s", size);
        return;
    }
    mt_buf_text(b, "del ");
    add_alloc(b, n, e->addr);
    mt_buf_printf(b, " # %s%s", size, asked && !n->at_once ? ", pending" : "");
}

static void say(struct mt_buf *b, struct mt_listing *x, const struct mt_step *at,
                const struct mt_named *n)
{
    const struct mt_event *e = at->event;
    struct mt_size_text size = mt_report_size(x->r, e->size);
    switch (e->action) {
    case MT_ACTION_ALLOC: say_alloc(b, e, n, size.s); break;
    case MT_ACTION_FREE_REQUESTED:
    case MT_ACTION_FREE_COMPLETED:
    case MT_ACTION_FREE: say_free(b, e, n, size.s); break;
    case MT_ACTION_SEGMENT_ALLOC:
    case MT_ACTION_SEGMENT_FREE:
    case MT_ACTION_SEGMENT_MAP:
    case MT_ACTION_SEGMENT_UNMAP: say_segment(b, e, n, size.s); break;
    case MT_ACTION_OOM:
        mt_buf_printf(b, "raise OOM # %s asked, %s free", size.s,
                      e->addr == MT_FREE_UNKNOWN ? "not known what was"
                                                 : mt_report_size(x->r, e->addr).s);
        break;
    case MT_ACTION_SNAPSHOT: mt_buf_printf(b, "# snapshot, %s active", size.s); break;
    case MT_ACTION_ANNOTATE: say_annotate(b, x, at, n); break;
    case MT_ACTION_USER_DEFINED: say_user_defined(b, x, e); break;
    default:
        mt_buf_printf(b, "# %s 0x%" PRIx64 " %s", mt_listing_action(x, e), e->addr, size.s);
        break;
    }
}

/* ---- lines ---- */

enum {
    NUMBER = 8, /* columns of each part of a line */
    TIME = 10,
    FRONT = NUMBER + 1 + TIME + 2,
    STATEMENT = 46,
    ALIVE = 12,
    EXACT = 15, /* what the exact bytes of a size may take */
    LEAST_LABEL = 12
};

/* A terminal that has no room for the stack gets it on a second line; one that is narrower still
 * gets everything but number and statement there. */
enum layout { ONE_LINE, STACK_BELOW, ALL_BELOW };

struct shape {
    int statement, alive; /* columns */
    int unlabelled;       /* all of a line but its stack */
    enum layout layout;
};

static struct shape shape_of(const struct mt_report *r)
{
    int more = r->size.exact ? EXACT : 0;
    struct shape x = {.statement = STATEMENT + more, .alive = ALIVE + more};
    x.unlabelled = FRONT + x.statement + 1 + x.alive;
    x.layout = r->width == 0 || r->width > x.unlabelled + 2 + LEAST_LABEL ? ONE_LINE
               : r->width >= x.unlabelled                                 ? STACK_BELOW
                                                                          : ALL_BELOW;
    return x;
}

void mt_listing_text_head(const struct mt_listing *x)
{
    FILE *out = x->r->out;
    struct shape shape = shape_of(x->r);
    fprintf(out, "\n%s", mt_color_begin(x->r, MT_COLOR_HEAD));
    if (shape.layout == ALL_BELOW) {
        fprintf(out, "%*s  what happened\n%*s  time, alive, stack", NUMBER, "event", NUMBER, "");
    } else {
        fprintf(out, "%*s %*s  %-*s %*s", NUMBER, "event", TIME, "time", shape.statement,
                "what happened", shape.alive, "alive");
        if (shape.layout == STACK_BELOW) {
            fprintf(out, "\n%*s stack", FRONT - 1, "");
        } else {
            fputs("  stack", out);
        }
    }
    fprintf(out, "%s\n", mt_color_end(x->r));
}

/* From `column` on; what the terminal has no room for goes on below. */
static void put_statement(const struct mt_listing *x, const char *statement, bool bad, int column)
{
    int width = x->r->width > 0 ? x->r->width : INT_MAX;
    fputs(bad ? mt_color_begin(x->r, MT_COLOR_BAD) : "", x->r->out);
    mt_text_print_wrapped(x->r->out, statement, column, column + 2, width);
    fputs(bad ? mt_color_end(x->r) : "", x->r->out);
}

static void print_short(const struct mt_listing *x, const struct mt_step *at, const char *time,
                        const char *statement, const char *alive, const char *label)
{
    FILE *out = x->r->out;
    struct mt_buf rest = {0};
    fprintf(out, "%*zu  ", NUMBER, at->index);
    put_statement(x, statement, at->event->action == MT_ACTION_OOM, NUMBER + 2);
    fprintf(out, "\n%*s  ", NUMBER, "");
    mt_buf_printf(&rest, "%s%s%s alive%s%s", time, *time ? ", " : "", alive, *label ? ", " : "",
                  label);
    mt_text_print_wrapped(out, mt_buf_view(&rest).p, NUMBER + 2, NUMBER + 2, x->r->width);
    fputc('\n', out);
    mt_buf_release(&rest);
}

/* A statement may take the free columns in front of the amount alive; where it is longer still, the
 * amount stands on a line of its own, so that its column never breaks. */
static void print_long(const struct mt_listing *x, const struct mt_step *at, const char *time,
                       const char *statement, const char *alive, const char *label)
{
    FILE *out = x->r->out;
    struct shape shape = shape_of(x->r);
    int over = mt_text_width(time) - TIME, room = shape.statement + 1 + shape.alive;
    fprintf(out, "%*zu %*s  ", NUMBER, at->index, TIME, time);
    put_statement(x, statement, at->event->action == MT_ACTION_OOM, FRONT);
    int pad = room - (over > 0 ? over : 0) - mt_text_width(statement);
    if (pad <= mt_text_width(alive)) {
        fprintf(out, "\n%*s", FRONT, "");
        pad = room;
    }
    fprintf(out, "%*s", pad, alive);
    if (*label && shape.layout == STACK_BELOW) {
        fprintf(out, "\n%*s", FRONT, "");
        mt_text_print_cut(out, label, x->r->width - FRONT);
    } else if (*label) {
        fputs("  ", out);
        mt_text_print_cut(out, label, x->r->width ? x->r->width - shape.unlabelled - 2 : INT_MAX);
    }
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
        time = mt_duration_text(mt_time_between(x->first_us, e->time_us));
    }
    mt_buf_reset(b);
    say(b, x, at, named);
    x->failed |= b->failed;
    if (!x->failed) {
        (shape_of(x->r).layout == ALL_BELOW ? print_short : print_long)(x, at, time.s, b->p,
                                                                        alive.s, label);
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
