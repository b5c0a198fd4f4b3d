/* SPDX-License-Identifier: MIT */
/* The trace as CSV (RFC 4180): one row an event, with what was alive and reserved after it. Text
 * that a spreadsheet would take for a formula gets an apostrophe in front, as in all CSV of
 * memtool. */
#include "verbs/convert/exporters.h"

#include <inttypes.h>
#include <string.h>

#include "support/arena.h"
#include "print/report.h"
#include "support/units.h"

/* Text of frames is made once and kept up to this many bytes in all, a bound for files whose many
 * frames name one long string. What is beyond is made each time. */
#define MAX_KEPT (16 * MT_MIB)

/* A text as it stands in a cell, without the quotes around it. */
struct cell {
    struct mt_str text; /* quotes doubled; .p NULL: not made yet */
    bool quote;         /* it needs quotes around it */
    bool formula;       /* at the start of a cell */
};

struct csv {
    struct mt_exporter *x;
    struct cell *frames; /* by frame id */
    struct mt_arena arena;
    size_t kept;
    struct mt_buf doubled; /* scratch */
    bool failed;           /* memory ran out */
};

static bool may_go_on(const struct csv *c)
{
    return !c->failed && !mt_sink_failed(c->x->sink);
}

/* Of the text in x->text, which is safe: it holds no NUL. Valid until the next one is made. */
static struct cell make_cell(struct csv *c)
{
    struct mt_str rest = mt_buf_view(&c->x->text);
    struct cell cell = {.formula = rest.n > 0 && strchr("=+-@\t\r", rest.p[0]),
                        .quote = rest.n > 0 && strpbrk(rest.p, ",\"\n\r")};
    mt_buf_reset(&c->doubled);
    mt_buf_add(&c->doubled, "", 0);
    while (rest.n > 0) {
        const char *mark = memchr(rest.p, '"', rest.n);
        size_t n = mark ? (size_t)(mark - rest.p) + 1 : rest.n;
        mt_buf_add(&c->doubled, rest.p, n);
        mt_buf_text(&c->doubled, mark ? "\"" : "");
        rest = (struct mt_str){rest.p + n, rest.n - n};
    }
    c->failed |= c->x->text.failed || c->doubled.failed;
    cell.text = mt_buf_view(&c->doubled);
    return cell;
}

static struct cell frame_cell(struct csv *c, uint32_t id)
{
    struct cell *known = &c->frames[id];
    if (known->text.p) {
        return *known;
    }
    const struct mt_exporter *x = c->x;
    const struct mt_frame *f = &x->s->frames[id];
    struct mt_buf *text = &c->x->text;
    mt_buf_reset(text);
    mt_text_safe(text, mt_snapshot_str(x->s, f->filename));
    mt_buf_printf(text, ":%" PRId32 " ", f->line);
    mt_text_safe(text, mt_snapshot_str(x->s, f->name));
    struct cell cell = make_cell(c);
    if (!c->failed && cell.text.n < MAX_KEPT - c->kept) {
        *known = cell;
        known->text = mt_arena_copy(&c->arena, cell.text.p, cell.text.n);
        c->kept += cell.text.n;
    }
    return cell;
}

static void begin_cell(struct csv *c, bool quote, bool formula)
{
    mt_sink_text(c->x->sink, quote || formula ? "\"" : "");
    mt_sink_text(c->x->sink, formula ? "'" : "");
}

static void put_action(struct csv *c, const struct mt_event *e)
{
    static const char *const actions[] = {
#define X(name, word) word,
        MT_ACTION_MAP(X)
#undef X
    };
    struct mt_exporter *x = c->x;
    uint32_t name = x->s->event_shapes[e->shape].action_name;
    if (!name) {
        mt_sink_text(x->sink, actions[e->action]);
        return;
    }
    mt_buf_reset(&x->text);
    mt_text_safe(&x->text, mt_snapshot_str(x->s, name));
    struct cell cell = make_cell(c);
    begin_cell(c, cell.quote, cell.formula);
    mt_sink_str(x->sink, cell.text);
    mt_sink_text(x->sink, cell.quote || cell.formula ? "\"" : "");
}

/* All frames, innermost first. */
static void put_stack(struct csv *c, uint32_t id)
{
    const struct mt_stack *stack = &c->x->s->stacks[id];
    const uint32_t *frames = MT_PART(c->x->s->stack_frames, stack->first);
    bool quote = false;
    for (uint32_t i = 0; i < stack->n && !quote; i++) {
        struct cell cell = frame_cell(c, frames[i]);
        quote = cell.quote || (i == 0 && cell.formula);
    }
    begin_cell(c, quote, stack->n && frame_cell(c, frames[0]).formula);
    for (uint32_t i = 0; i < stack->n && may_go_on(c); i++) {
        mt_sink_text(c->x->sink, i ? " < " : "");
        mt_sink_str(c->x->sink, frame_cell(c, frames[i]).text);
    }
    mt_sink_text(c->x->sink, quote ? "\"" : "");
}

static void put_row(struct csv *c, int32_t device, const struct mt_step *at)
{
    struct mt_exporter *x = c->x;
    const struct mt_event *e = at->event;
    mt_sink_i64(x->sink, device);
    mt_sink_char(x->sink, ',');
    mt_sink_u64(x->sink, at->index);
    mt_sink_char(x->sink, ',');
    if (e->time_us != MT_NO_TIME) {
        mt_sink_i64(x->sink, e->time_us);
    }
    mt_sink_char(x->sink, ',');
    put_action(c, e);
    char numbers[160];
    snprintf(numbers, sizeof numbers,
             ",0x%" PRIx64 ",%" PRIu64 ",0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",", e->addr, e->size,
             x->s->streams[e->stream].handle, at->live_bytes, at->reserved_bytes);
    mt_sink_text(x->sink, numbers);
    put_stack(c, e->stack);
    mt_sink_text(x->sink, "\n");
}

static enum mt_status put_rows(struct csv *c, struct mt_error *err)
{
    struct mt_exporter *x = c->x;
    for (size_t d = 0; d < x->devices.ids.n; d++) {
        struct mt_replay r;
        struct mt_step at;
        MT_TRY(mt_replay_init(&r, x->s, x->devices.ids.v[d], err));
        for (mt_replay_begin(&r, &at); mt_replay_next(&r, &at) && may_go_on(c);) {
            if (mt_filtered_event(x->o->filtered, r.device, at.index)) {
                put_row(c, r.device, &at);
            }
        }
        mt_replay_release(&r);
    }
    return MT_OK;
}

enum mt_status mt_export_csv(struct mt_exporter *x, struct mt_error *err)
{
    struct csv c = {.x = x};
    c.frames = mt_mem_zalloc(x->s->n_frames ? x->s->n_frames : 1, sizeof *c.frames);
    mt_sink_text(x->sink, "device,event,time_us,action,address,size_bytes,stream,live_bytes,"
                          "reserved_bytes,stack\n");
    enum mt_status status = c.frames ? put_rows(&c, err) : mt_fail_nomem(err);
    if (status == MT_OK && c.failed) {
        status = mt_fail_nomem(err);
    }
    mt_mem_free(c.frames);
    mt_arena_release(&c.arena);
    mt_buf_release(&c.doubled);
    return status;
}
