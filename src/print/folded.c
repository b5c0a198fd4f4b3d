/* SPDX-License-Identifier: MIT */
/*
 * Folded lines as `_memory_viz.py` writes them: prefix;state;outermost;...;innermost bytes. A stack
 * is formatted once and kept. Names pass mt_text_safe, which leaves printable text as it is, so
 * that a name cannot end a line or play with the terminal.
 */
#include <inttypes.h>

#include "print/folded.h"
#include "heap/stacks/fold.h"
#include "torch/keys.h"

struct folding {
    const struct mt_report *r;
    const struct mt_snapshot *s;
    const char *prefix;
    bool by_segment;
    struct mt_arena arena;
    struct mt_str *stacks; /* by stack id; .p NULL: not formatted yet */
    struct mt_buf scratch;
    bool failed;
};

/* What stands behind the last '/': other separators count as part of the name, as in the peer. */
static struct mt_str file_part(struct mt_str path)
{
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '/') {
        at--;
    }
    return (struct mt_str){path.p + at, path.n - at};
}

static void add_frames(struct mt_buf *b, const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *list = &s->stacks[stack];
    bool first = true;
    for (uint32_t i = list->n; i-- > 0;) {
        const struct mt_frame *f = &s->frames[s->stack_frames[list->first + i]];
        if (mt_fold_hides(s, f)) {
            continue;
        }
        mt_buf_text(b, first ? "" : ";");
        mt_text_safe(b, file_part(mt_snapshot_str(s, f->filename)));
        mt_buf_char(b, ':');
        mt_frame_line_text(b, s, f);
        mt_buf_char(b, ':');
        mt_text_safe(b, mt_snapshot_str(s, f->name));
        first = false;
    }
}

static const char *stack_text(struct folding *f, uint32_t stack)
{
    if (!f->stacks[stack].p) {
        mt_buf_reset(&f->scratch);
        add_frames(&f->scratch, f->s, stack);
        struct mt_str text = mt_buf_view(&f->scratch);
        f->stacks[stack] = mt_arena_copy(&f->arena, text.p, text.n);
        f->failed |= f->scratch.failed || !f->stacks[stack].p;
    }
    return f->stacks[stack].p ? f->stacks[stack].p : "";
}

/* C++ writers may have written a number as negative; then so does the peer. */
static void print_number(FILE *out, uint64_t n, bool negative)
{
    negative ? fprintf(out, "%" PRId64, (int64_t)n) : fprintf(out, "%" PRIu64, n);
}

static void print_state(struct folding *f, const struct mt_block *b)
{
    static const char *const words[] = {"inactive", "active_allocated", "active_pending_free", "?"};
    if (b->state_name) {
        struct mt_buf text = {0};
        mt_text_safe(&text, mt_snapshot_str(f->s, b->state_name));
        fputs(mt_buf_view(&text).p, f->r->out);
        f->failed |= text.failed;
        mt_buf_release(&text);
    } else {
        fputs(words[b->state <= MT_BLOCK_OTHER ? b->state : MT_BLOCK_OTHER], f->r->out);
    }
}

static bool print_line(void *ctx, const struct mt_fold_line *line)
{
    static const char *const what[] = {"", "<non-python>", "<no-context>", "<gaps>"};
    struct folding *f = ctx;
    FILE *out = f->r->out;
    const struct mt_segment *segment = line->segment;
    const struct mt_stream *stream = &f->s->streams[segment->stream];
    fprintf(out, "%sstream_", f->prefix);
    print_number(out, stream->handle, stream->negative);
    if (f->by_segment) {
        fputs(";seg_", out);
        print_number(out, segment->addr, segment->present & MT_PRESENT_NEGATIVE_ADDR_SEGMENT);
    }
    fputc(';', out);
    print_state(f, line->block);
    fprintf(out, ";%s %" PRId64 "\n",
            line->what == MT_FOLD_STACK ? stack_text(f, line->stack) : what[line->what],
            line->bytes);
    return !f->failed;
}

static enum mt_status folding_begin(struct folding *f, const struct mt_report *r,
                                    const struct mt_snapshot *s, struct mt_error *err)
{
    *f = (struct folding){.r = r, .s = s, .prefix = ""};
    f->stacks = mt_mem_zalloc(s->n_stacks ? s->n_stacks : 1, sizeof *f->stacks);
    return f->stacks ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status folding_end(struct folding *f, struct mt_error *err)
{
    mt_mem_free(f->stacks);
    mt_arena_release(&f->arena);
    mt_buf_release(&f->scratch);
    return f->failed ? mt_fail_nomem(err) : MT_OK;
}

enum mt_status mt_report_folded(const struct mt_report *r, const struct mt_snapshot *s,
                                struct mt_filtered *filter, bool by_segment, struct mt_error *err)
{
    struct folding f;
    MT_TRY(folding_begin(&f, r, s, err));
    f.by_segment = by_segment;
    (void)mt_fold_each(s, filter, print_line, &f);
    return folding_end(&f, err);
}

enum mt_status mt_report_folded_some(const struct mt_report *r, const struct mt_snapshot *s,
                                     const uint32_t *segments, size_t n, const char *prefix,
                                     struct mt_error *err)
{
    struct folding f;
    MT_TRY(folding_begin(&f, r, s, err));
    f.by_segment = true;
    f.prefix = prefix;
    for (size_t i = 0; i < n && !f.failed; i++) {
        (void)mt_fold_segment(s, &s->segments[segments[i]], NULL, print_line, &f);
    }
    return folding_end(&f, err);
}
