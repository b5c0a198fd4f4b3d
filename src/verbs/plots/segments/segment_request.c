/* SPDX-License-Identifier: MIT */
/* The request that was refused at the moment of the picture: why, in words, and its size to scale.
 */
#include "verbs/plots/segments/segment_picture.h"
#include "verbs/plots/trace/trace_words.h"

const struct mt_event *mt_segment_oom(const struct mt_segment_panel *panel)
{
    size_t done = panel->state->events_done;
    if (!panel->replay || done == 0 || done > panel->replay->n) {
        return NULL;
    }
    const struct mt_event *e = &panel->replay->events[done - 1];
    return e->action == MT_ACTION_OOM ? e : NULL;
}

/* The last out-of-memory event before the state that is no part of it; SIZE_MAX: none. */
static size_t earlier_oom(const struct mt_segment_panel *panel)
{
    size_t done = panel->state->events_done;
    if (!panel->replay || done > panel->replay->n || mt_segment_oom(panel)) {
        return SIZE_MAX;
    }
    while (done > 0 && panel->replay->events[done - 1].action != MT_ACTION_OOM) {
        done--;
    }
    return done > 0 ? done - 1 : SIZE_MAX;
}

bool mt_segment_say_earlier(struct mt_buf *b, const struct mt_segment_panel *panel,
                            struct mt_size_format f)
{
    struct mt_error err;
    struct mt_state st;
    struct mt_state_sum sum = {0};
    size_t at = earlier_oom(panel);
    if (at == SIZE_MAX) {
        return false;
    }
    if (mt_state_at(panel->snapshot, panel->state->device, at + 1, &st, &err) != MT_OK) {
        b->failed = true;
        return false;
    }
    for (size_t i = 0; i < st.n_segments; i++) {
        mt_state_add_segment(&st, i, &sum);
    }
    const struct mt_replay *r = panel->replay;
    size_t later = panel->state->events_done - at - 1, next = at + 1;
    while (next < r->n && r->events[next].action != MT_ACTION_OOM) {
        next++;
    }
    mt_buf_printf(b, "Out of memory %s %s before this state, at event %s: %s was asked for",
                  mt_count_text(later).s, later == 1 ? "event" : "events", mt_count_text(at).s,
                  mt_size_text(r->events[at].size, f).s);
    mt_buf_printf(b, " \xc2\xb7 then %s of the %s reserved was free, in holes of at most %s",
                  mt_size_text(sum.free, f).s, mt_size_text(sum.reserved, f).s,
                  mt_size_text(sum.largest_hole, f).s);
    if (next < r->n) {
        mt_buf_printf(b, " \xc2\xb7 --at %zu draws that", at);
    } else {
        mt_buf_text(b, " \xc2\xb7 --at oom draws that");
    }
    mt_state_release(&st);
    return true;
}

double mt_segment_say_refusal(struct mt_segment_picture *p, const struct mt_event *oom, double y,
                              double room)
{
    struct mt_size_format f = p->scene->style.size;
    struct mt_buf b = {0};
    mt_buf_printf(
        &b, "%s was asked for%s", mt_size_text(oom->size, f).s,
        mt_oom_hole(p->panel->state, oom) < oom->size ? ", more than any hole it could use" : "");
    y = mt_scene_text_lines(p->scene, MT_SEGMENT_MARGIN, y + 19, 12.5, p->scene->theme->trouble,
                            room, false, &b);
    mt_buf_reset(&b);
    mt_oom_say_refusal(&b, p->panel->snapshot, oom, f);
    y = mt_scene_text_lines(p->scene, MT_SEGMENT_MARGIN, y + 19, 12.5, p->scene->theme->trouble,
                            room, false, &b);
    mt_buf_release(&b);
    return y;
}

/* A bar that goes on beyond the line: torn off at its right end. */
static void draw_torn(struct mt_segment_picture *p, double height, uint32_t fill)
{
    enum { TEETH = 2 };
    double right = p->x + p->w, tooth = height / TEETH;
    struct mt_mark *m = mt_scene_polygon(p->scene, fill);
    m->stroke = p->scene->theme->trouble;
    m->stroke_width = 1;
    mt_scene_point(p->scene, p->x, p->y);
    for (int i = 0; i <= TEETH * 2; i++) {
        mt_scene_point(p->scene, right - (i % 2 ? 7 : 0), p->y + tooth * i / 2);
    }
    mt_scene_point(p->scene, p->x, p->y + height);
}

void mt_segment_draw_request(struct mt_segment_picture *p, const struct mt_event *e)
{
    const struct mt_theme *t = p->scene->theme;
    struct mt_buf b = {0};
    double w = (double)e->size / p->rows.bytes_per_px, height = p->bar > 22   ? 22
                                                                : p->bar < 18 ? 18
                                                                              : p->bar;
    bool whole = w <= p->w;
    uint32_t fill = (t->trouble & 0xffffff00) | 0x28;
    mt_buf_text(&b, "the request");
    mt_scene_text_buf(p->scene, MT_SEGMENT_MARGIN + 8, p->y + 11, 12.5, t->trouble,
                      MT_SEGMENT_LABEL_W - 12, true, &b);
    if (whole) {
        struct mt_mark *m = mt_scene_rect(p->scene, p->x, p->y, w, height, fill);
        m->stroke = t->trouble;
        m->stroke_width = 1;
    } else {
        draw_torn(p, height, fill);
    }
    mt_buf_reset(&b);
    mt_buf_printf(&b, "%s", mt_size_text(e->size, p->scene->style.size).s);
    if (!whole) {
        double times = w / p->w;
        if (times < 100) {
            mt_buf_printf(&b, ", %.1f times the length of this line", times);
        } else {
            mt_buf_printf(&b, ", %s times the length of this line",
                          mt_count_text((uint64_t)times).s);
        }
    }
    double text = mt_text_px(b.p ? b.p : "", 12, true);
    bool beside = whole && w + 8 + text <= p->w;
    mt_scene_text_buf(p->scene, beside ? p->x + w + 8 : p->x + p->w / 2 - text / 2,
                      p->y + height / 2 + 4.5, 12, t->trouble, text + 1, true, &b);
    mt_buf_release(&b);
    p->y += height + MT_SEGMENT_GROUP_SPACE;
}
