/* SPDX-License-Identifier: MIT */
/* Exports by call stack as text: folded lines, and speedscope's JSON. */
#include "verbs/convert/exporters.h"

#include <inttypes.h>

#include "heap/stacks/frames.h"
#include <memtool/version.h>

/* ---- folded ---- */

static void folded_line(struct mt_exporter *x, const struct mt_profile_row *row)
{
    const struct mt_stack *stack = &x->s->stacks[row->stack];
    mt_buf_reset(&x->text);
    for (uint32_t i = stack->n; i > 0; i--) {
        mt_exporter_frame(x, &x->s->frames[x->s->stack_frames[stack->first + i - 1]], &x->text);
        mt_buf_text(&x->text, i > 1 ? ";" : "");
    }
    if (stack->n == 0) {
        mt_buf_text(&x->text, MT_NO_STACK);
    }
    mt_buf_printf(&x->text, " %" PRIu64 "\n", row->live_bytes);
    mt_sink_str(x->sink, mt_buf_view(&x->text));
}

enum mt_status mt_export_folded(struct mt_exporter *x, struct mt_error *err)
{
    for (size_t d = 0; d < x->devices.ids.n; d++) {
        struct mt_profile p;
        enum mt_status status = mt_exporter_profile(x, d, &p, err);
        for (size_t i = 0; status == MT_OK && i < p.rows.n; i++) {
            if (p.rows.v[i].live_bytes) {
                folded_line(x, &p.rows.v[i]);
            }
        }
        mt_profile_release(&p);
        MT_TRY(status);
    }
    return MT_OK;
}

/* ---- speedscope ---- */

struct speedscope {
    struct mt_exporter *x;
    struct mt_profile *profiles; /* one a device */
    uint32_t *index;             /* by frame id: place in the file, 0 = not used */
    uint32_t n;
};

/* Frames that a sample refers to; place 0 is for stacks that were not recorded. */
static void mark_frames(struct speedscope *f, const struct mt_profile *p)
{
    const struct mt_snapshot *s = f->x->s;
    for (size_t i = 0; i < p->rows.n; i++) {
        const struct mt_stack *stack = &s->stacks[p->rows.v[i].stack];
        for (uint32_t k = 0; k < stack->n; k++) {
            f->index[s->stack_frames[stack->first + k]] = 1;
        }
    }
}

static void write_frames(struct speedscope *f)
{
    struct mt_sink *sink = f->x->sink;
    const struct mt_snapshot *s = f->x->s;
    mt_sink_text(sink, "\"shared\":{\"frames\":[\n{\"name\":\"" MT_NO_STACK "\"}");
    for (size_t i = 1; i < s->n_frames && !mt_sink_failed(sink); i++) {
        if (!f->index[i]) {
            continue;
        }
        f->index[i] = ++f->n;
        mt_sink_text(sink, ",\n{\"name\":");
        mt_sink_json_str(sink, mt_snapshot_str(s, s->frames[i].name));
        mt_sink_text(sink, ",\"file\":");
        mt_sink_json_str(sink, mt_snapshot_str(s, s->frames[i].filename));
        mt_sink_text(sink, ",\"line\":");
        mt_sink_i64(sink, s->frames[i].line);
        mt_sink_char(sink, '}');
    }
    mt_sink_text(sink, "]}");
}

static void write_sample(struct speedscope *f, uint32_t id)
{
    struct mt_sink *sink = f->x->sink;
    const struct mt_stack *stack = &f->x->s->stacks[id];
    mt_sink_char(sink, '[');
    for (uint32_t i = stack->n; i > 0; i--) {
        mt_sink_u64(sink, f->index[f->x->s->stack_frames[stack->first + i - 1]]);
        mt_sink_text(sink, i > 1 ? "," : "");
    }
    mt_sink_text(sink, stack->n ? "]" : "0]");
}

static uint64_t row_bytes(const struct mt_profile_row *row, bool live)
{
    return live ? row->live_bytes : row->alloc_bytes;
}

static void write_profile(struct speedscope *f, const struct mt_profile *p, bool live)
{
    struct mt_sink *sink = f->x->sink;
    const char *comma = "";
    mt_sink_text(sink, "\"unit\":\"bytes\",\"startValue\":0,\"endValue\":");
    mt_sink_u64(sink, live ? p->live_bytes : p->alloc_bytes);
    mt_sink_text(sink, ",\"samples\":[");
    for (size_t i = 0; i < p->rows.n; i++) {
        if (row_bytes(&p->rows.v[i], live)) {
            mt_sink_text(sink, comma);
            write_sample(f, p->rows.v[i].stack);
            comma = ",\n";
        }
    }
    mt_sink_text(sink, "],\"weights\":[");
    comma = "";
    for (size_t i = 0; i < p->rows.n; i++) {
        if (row_bytes(&p->rows.v[i], live)) {
            mt_sink_text(sink, comma);
            mt_sink_u64(sink, row_bytes(&p->rows.v[i], live));
            comma = ",";
        }
    }
    mt_sink_text(sink, "]}");
}

/* Two profiles a device: alive at the moment, and handed out by the trace. */
static void write_device(struct speedscope *f, size_t d)
{
    struct mt_sink *sink = f->x->sink;
    for (int live = 1; live >= 0; live--) {
        mt_sink_text(sink, d || !live ? ",\n" : "\n");
        mt_sink_text(sink, "{\"type\":\"sampled\",\"name\":\"");
        mt_sink_text(sink, live ? "alive, at " : "handed out in all");
        mt_sink_text(sink, live ? mt_moment_name(f->x->o->at.kind) : "");
        mt_sink_text(sink, ", device ");
        mt_sink_i64(sink, f->x->devices.ids.v[d]);
        mt_sink_text(sink, "\",");
        write_profile(f, &f->profiles[d], live != 0);
    }
}

static enum mt_status write_all(struct speedscope *f, struct mt_error *err)
{
    struct mt_sink *sink = f->x->sink;
    size_t n = f->x->devices.ids.n;
    for (size_t d = 0; d < n; d++) {
        MT_TRY(mt_exporter_profile(f->x, d, &f->profiles[d], err));
        mark_frames(f, &f->profiles[d]);
    }
    mt_sink_text(sink, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                       "\"exporter\":\"memtool@" MT_VERSION "\",\n");
    write_frames(f);
    mt_sink_text(sink, ",\n\"profiles\":[");
    for (size_t d = 0; d < n; d++) {
        write_device(f, d);
    }
    mt_sink_text(sink, "]}\n");
    return MT_OK;
}

enum mt_status mt_export_speedscope(struct mt_exporter *x, struct mt_error *err)
{
    struct speedscope f = {.x = x};
    f.profiles = mt_mem_zalloc(x->devices.ids.n, sizeof *f.profiles);
    f.index = mt_mem_zalloc(x->s->n_frames, sizeof *f.index);
    enum mt_status status = f.profiles && f.index ? write_all(&f, err) : mt_fail_nomem(err);
    for (size_t d = 0; f.profiles && d < x->devices.ids.n; d++) {
        mt_profile_release(&f.profiles[d]);
    }
    mt_mem_free(f.profiles);
    mt_mem_free(f.index);
    return status;
}
