/* SPDX-License-Identifier: MIT */
/* The legend of an allocator's state: stacks that hold memory, then what is not in use. */
#include "segment_picture.h"

#include "label.h"

static double key_row(struct mt_segment_picture *p, struct mt_box box, double y, uint32_t fill,
                      uint32_t stroke, bool hatched, const char *what, uint64_t bytes)
{
    const struct mt_theme *t = p->scene->theme;
    struct mt_mark *m = mt_scene_rect(p->scene, box.x + 0.5, y + 2.5, 12, 12, fill);
    m->pattern = hatched ? MT_HATCHED : MT_SOLID;
    m->stroke = stroke;
    mt_scene_text(p->scene, box.x + 22, y + 12, 12, t->text, what);
    mt_scene_text(p->scene, box.x + box.w, y + 12, 12, t->text,
                  mt_size_text(bytes, p->scene->style.size).s)
        ->anchor = MT_ANCHOR_END;
    return y + 21;
}

static double stack_row(struct mt_segment_picture *p, struct mt_box box, double y,
                        const struct mt_holder *s, uint32_t color, const struct mt_label *label)
{
    enum { ANY = 1000 }; /* the picture grows with its legend */
    uint64_t in_use = p->sum.allocated + p->sum.pending;
    struct mt_buf tip = {0};
    mt_buf_printf(&tip, "%s in %s %s", mt_size_text(s->bytes, p->scene->style.size).s,
                  mt_count_text(s->count).s, s->count == 1 ? "block" : "blocks");
    mt_label_frames(&tip, &p->scene->style, p->panel->snapshot, s->stack, 8);
    struct mt_legend_row row = {.color = color,
                                .label = label,
                                .spare = ANY,
                                .bytes = s->bytes,
                                .share = in_use ? (double)s->bytes / (double)in_use : 0,
                                .tip = mt_scene_take(p->scene, &tip)};
    return y + mt_legend_row(p->scene, box, y, &row);
}

static double stack_rows(struct mt_segment_picture *p, struct mt_box box, double y)
{
    const struct mt_holders *h = &p->holders;
    struct mt_label labels[MT_HOLDERS], *each[MT_HOLDERS];
    uint32_t stacks[MT_HOLDERS];
    for (size_t i = 0; i < h->n; i++) {
        stacks[i] = h->top[i].stack;
        each[i] = &labels[i];
        mt_label_stack(&labels[i], &p->scene->style, p->panel->snapshot, stacks[i]);
    }
    mt_labels_distinguish(each, stacks, h->n, &p->scene->style, p->panel->snapshot);
    for (size_t i = 0; i < h->n; i++) {
        y = stack_row(p, box, y, &h->top[i], h->colors[i], &labels[i]);
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

static double draw_keys(struct mt_segment_picture *p, struct mt_box box, double y)
{
    const struct mt_theme *t = p->scene->theme;
    if (p->sum.free) {
        y = key_row(p, box, y, t->free, t->frame, false, "free, kept by the allocator",
                    p->sum.free);
    }
    if (p->sum.pending) {
        y = key_row(p, box, y, t->older, t->trouble, true, "freed, waiting for another stream",
                    p->sum.pending);
    }
    if (p->holders.rounding) {
        y = key_row(p, box, y, t->rounding, 0, false, "lost to rounding, in use",
                    p->holders.rounding);
    }
    if (p->gaps) {
        y = key_row(p, box, y, t->gap, t->faint, true, "addresses not mapped", p->gaps);
    }
    return y;
}

double mt_segment_draw_legend(struct mt_segment_picture *p, struct mt_box box)
{
    double y = box.y + MT_LEGEND_HEAD_PX;
    if (p->holders.n > 0) {
        mt_legend_head(p->scene, box, "In use");
        y = stack_rows(p, box, y);
        if (p->holders.n_others > 0) {
            y = others_row(p, box, y);
        }
        mt_legend_total(p->scene, box, y + 2, "TOTAL in use", p->sum.allocated + p->sum.pending);
        y += 42;
    }
    return draw_keys(p, box, y);
}
