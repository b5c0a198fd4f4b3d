/* SPDX-License-Identifier: MIT */
/* The legend of an allocator's state: stacks that hold memory, then what is not in use. */
#include "draw/label.h"
#include "heap/stacks/frames.h"
#include "verbs/plots/segments/segment_picture.h"

static double key_row(struct mt_segment_picture *p, struct mt_box box, double y, uint32_t fill,
                      uint32_t stroke, bool hatched, const char *what, uint64_t bytes)
{
    const struct mt_theme *t = p->scene->theme;
    struct mt_mark *m = mt_scene_rect(p->scene, box.x + 0.5, y + 2.5, 12, 12, fill);
    m->pattern = hatched ? MT_HATCHED : MT_SOLID;
    m->stroke = stroke;
    struct mt_size_text size = mt_size_text(bytes, p->scene->style.size);
    double room = box.w - 32 - mt_text_px(size.s, 12, false);
    mt_scene_text_fit(p->scene, box.x + 22, y + 12, 12, t->text, room, false, what);
    mt_scene_text(p->scene, box.x + box.w, y + 12, 12, t->text, size.s)->anchor = MT_ANCHOR_END;
    return y + 21;
}

static double stack_row(struct mt_segment_picture *p, struct mt_box box, double y, size_t at,
                        const struct mt_label *label)
{
    const struct mt_holder *s = &p->holders.top[at];
    enum { ANY = 1000 }; /* the picture grows with its legend */
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    struct mt_buf tip = {0};
    mt_buf_printf(&tip, "%s asked for in %s %s", mt_size_text(s->bytes, p->scene->style.size).s,
                  mt_count_text(s->count).s, s->count == 1 ? "block" : "blocks");
    mt_label_frames(&tip, &p->scene->style, p->panel->snapshot, s->stack, 8);
    struct mt_legend_row row = {.color = p->holders.colors[at],
                                .label = label,
                                .largest = at == 0 && p->holders.n > 1,
                                .spare = ANY,
                                .bytes = s->bytes,
                                .share = in_use ? (double)s->bytes / (double)in_use : 0,
                                .tip = mt_scene_take(p->scene, &tip)};
    return y + mt_legend_row(p->scene, box, y, &row);
}

/* Of blocks without a stack all, some or none are older than the recording. */
static void name_stack(struct mt_label *l, const struct mt_plot_style *style,
                       const struct mt_segment_panel *panel, uint32_t stack)
{
    const struct mt_state *st = panel->state;
    size_t older = 0, recorded = 0;
    bool none = stack == 0 || panel->snapshot->stacks[stack].n == 0;
    mt_label_stack(l, style, panel->snapshot, stack);
    for (size_t i = 0; i < st->n_blocks && none; i++) {
        bool counts = st->blocks[i].state != MT_BLOCK_INACTIVE && st->blocks[i].stack == stack;
        older += counts && st->alloc_event[i] == MT_STATE_NO_EVENT;
        recorded += counts && st->alloc_event[i] != MT_STATE_NO_EVENT;
    }
    if (older > 0) {
        mt_buf_reset(&l->sub);
        mt_buf_text(&l->sub, mt_stackless_why(panel->snapshot,
                                              recorded ? MT_STACKLESS_ANY : MT_STACKLESS_OLDER));
    }
}

void mt_segment_labels(struct mt_label *labels, const struct mt_plot_style *style,
                       const struct mt_segment_panel *panel, const struct mt_holders *h)
{
    struct mt_label *each[MT_HOLDERS];
    uint32_t stacks[MT_HOLDERS];
    for (size_t i = 0; i < h->n; i++) {
        stacks[i] = h->top[i].stack;
        each[i] = &labels[i];
        name_stack(&labels[i], style, panel, stacks[i]);
    }
    mt_labels_distinguish(each, stacks, h->n, style, panel->snapshot);
}

static double stack_rows(struct mt_segment_picture *p, struct mt_box box, double y)
{
    const struct mt_holders *h = &p->holders;
    struct mt_label labels[MT_HOLDERS];
    mt_segment_labels(labels, &p->scene->style, p->panel, h);
    for (size_t i = 0; i < h->n; i++) {
        y = stack_row(p, box, y, i, &labels[i]);
        mt_label_release(&labels[i]);
    }
    return y;
}

static double others_row(struct mt_segment_picture *p, struct mt_box box, double y)
{
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    struct mt_label l = {.main = {0}};
    mt_buf_printf(&l.main, "[%s %s]", mt_count_text(p->holders.n_others).s,
                  p->holders.n_others == 1 ? "other" : "others");
    mt_buf_text(&l.sub, "stacks with less");
    struct mt_legend_row row = {.color = p->scene->theme->older,
                                .label = &l,
                                .bytes = p->holders.others.bytes,
                                .share =
                                    in_use ? (double)p->holders.others.bytes / (double)in_use : 0};
    y += mt_legend_row(p->scene, box, y, &row);
    mt_label_release(&l);
    return y;
}

/* The stacks have what they asked for; with this row they add up to the blocks. */
static double rounding_row(struct mt_segment_picture *p, struct mt_box box, double y)
{
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    struct mt_label l = {.main = {0}};
    mt_buf_text(&l.main, "lost to rounding");
    mt_buf_text(&l.sub, "blocks larger than what was asked for");
    struct mt_legend_row row = {.color = p->scene->theme->rounding,
                                .label = &l,
                                .bytes = p->holders.rounding,
                                .share = in_use ? (double)p->holders.rounding / (double)in_use : 0};
    y += mt_legend_row(p->scene, box, y, &row);
    mt_label_release(&l);
    return y;
}

const char *mt_segment_empty_name(const struct mt_state *st)
{
    for (size_t i = 0; i < st->n_segments; i++) {
        if (st->segments[i].pool.a || st->segments[i].pool.b) {
            return "free: empty segments";
        }
    }
    return "free: empty segments, can be given back";
}

/* The colour that most of the waiting memory has in the picture. */
static uint32_t waiting_color(const struct mt_segment_picture *p)
{
    const struct mt_state *st = p->panel->state;
    uint64_t bytes[MT_HOLDERS + 1] = {0};
    size_t most = p->holders.n;
    for (size_t i = 0; i < st->n_blocks; i++) {
        if (st->blocks[i].state == MT_BLOCK_PENDING) {
            bytes[mt_holders_index(&p->holders, st->blocks[i].stack)] += st->blocks[i].size;
        }
    }
    for (size_t i = 0; i < p->holders.n; i++) {
        most = bytes[i] > bytes[most] ? i : most;
    }
    return most < p->holders.n ? p->holders.colors[most] : p->scene->theme->older;
}

static double draw_keys(struct mt_segment_picture *p, struct mt_box box, double y)
{
    const struct mt_theme *t = p->scene->theme;
    if (p->sum.empty) {
        y = key_row(p, box, y, t->empty, t->frame, false, mt_segment_empty_name(p->panel->state),
                    p->sum.empty);
    }
    if (p->sum.free > p->sum.empty) {
        y = key_row(p, box, y, t->free, t->frame, false, "free: holes between blocks in use",
                    p->sum.free - p->sum.empty);
    }
    if (p->sum.pending) {
        y = key_row(p, box, y, waiting_color(p), t->trouble, true,
                    "of these freed, waiting for a stream", p->sum.pending);
    }
    if (p->gaps) {
        y = key_row(p, box, y, t->gap, t->faint, true, "addresses not mapped", p->gaps);
    }
    mt_scene_text_fit(p->scene, box.x, y + 14, 11, t->muted, box.w, false,
                      "Each pool: its segments by address, line after line");
    return y + 18;
}

double mt_segment_draw_legend(struct mt_segment_picture *p, struct mt_box box)
{
    double y = box.y + MT_LEGEND_HEAD_PX;
    if (p->holders.n > 0) {
        mt_legend_head(p->scene, box, "In use, as asked for");
        y = stack_rows(p, box, y);
        if (p->holders.n_others > 0) {
            y = others_row(p, box, y);
        }
        if (p->holders.rounding > 0) {
            y = rounding_row(p, box, y);
        }
        mt_legend_total(p->scene, box, y + 2, "TOTAL in use", p->sum.allocated + p->sum.pending);
        y += 42;
    }
    return draw_keys(p, box, y);
}
