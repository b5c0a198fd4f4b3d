/* SPDX-License-Identifier: MIT */
/* The trace as CSV (RFC 4180): one row an event, with what was alive and reserved after it. Text
 * that a spreadsheet would take for a formula gets an apostrophe in front, as in all CSV of
 * memtool. */
#include "exporters.h"

#include <inttypes.h>
#include <string.h>

#include <memtool/report.h>

static void put_text(struct mt_exporter *x)
{
    struct mt_str text = mt_buf_view(&x->text);
    bool formula = text.n > 0 && strchr("=+-@\t\r", text.p[0]);
    bool quote = formula;
    for (size_t i = 0; i < text.n; i++) {
        quote |= text.p[i] == ',' || text.p[i] == '"' || text.p[i] == '\n' || text.p[i] == '\r';
    }
    mt_sink_text(x->sink, quote ? "\"" : "");
    mt_sink_text(x->sink, formula ? "'" : "");
    for (size_t i = 0; i < text.n; i++) {
        mt_sink_text(x->sink, text.p[i] == '"' ? "\"" : "");
        mt_sink_char(x->sink, text.p[i]);
    }
    mt_sink_text(x->sink, quote ? "\"" : "");
}

static void put_action(struct mt_exporter *x, const struct mt_event *e)
{
    static const char *const actions[] = {
#define X(name, word) word,
        MT_ACTION_MAP(X)
#undef X
    };
    uint32_t name = x->s->event_shapes[e->shape].action_name;
    mt_buf_reset(&x->text);
    mt_text_safe(&x->text, name ? mt_snapshot_str(x->s, name) : mt_str_from(actions[e->action]));
    put_text(x);
}

/* All frames, innermost first. */
static void put_stack(struct mt_exporter *x, uint32_t id)
{
    const struct mt_stack *stack = &x->s->stacks[id];
    mt_buf_reset(&x->text);
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct mt_frame *f = &x->s->frames[x->s->stack_frames[stack->first + i]];
        mt_buf_text(&x->text, i ? " < " : "");
        mt_text_safe(&x->text, mt_snapshot_str(x->s, f->filename));
        mt_buf_printf(&x->text, ":%" PRId32 " ", f->line);
        mt_text_safe(&x->text, mt_snapshot_str(x->s, f->name));
    }
    put_text(x);
}

static void put_row(struct mt_exporter *x, int32_t device, const struct mt_step *at)
{
    const struct mt_event *e = at->event;
    mt_sink_i64(x->sink, device);
    mt_sink_char(x->sink, ',');
    mt_sink_u64(x->sink, at->index);
    mt_sink_char(x->sink, ',');
    if (e->time_us != MT_NO_TIME) {
        mt_sink_i64(x->sink, e->time_us);
    }
    mt_sink_char(x->sink, ',');
    put_action(x, e);
    char numbers[160];
    snprintf(numbers, sizeof numbers,
             ",0x%" PRIx64 ",%" PRIu64 ",0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",", e->addr, e->size,
             x->s->streams[e->stream].handle, at->live_bytes, at->reserved_bytes);
    mt_sink_text(x->sink, numbers);
    put_stack(x, e->stack);
    mt_sink_text(x->sink, "\n");
}

enum mt_status mt_export_csv(struct mt_exporter *x, struct mt_error *err)
{
    mt_sink_text(x->sink, "device,event,time_us,action,address,size_bytes,stream,live_bytes,"
                          "reserved_bytes,stack\n");
    for (size_t d = 0; d < x->devices.ids.n; d++) {
        struct mt_replay r;
        struct mt_step at;
        MT_TRY(mt_replay_init(&r, x->s, x->devices.ids.v[d], err));
        for (mt_replay_begin(&r, &at); mt_replay_next(&r, &at) && !mt_sink_failed(x->sink);) {
            if (mt_filtered_event(x->o->filtered, r.device, at.index)) {
                put_row(x, r.device, &at);
            }
        }
        mt_replay_release(&r);
    }
    return MT_OK;
}
