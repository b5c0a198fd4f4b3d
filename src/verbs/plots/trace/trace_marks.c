/* SPDX-License-Identifier: MIT */
/*
 * Capacity, out-of-memory events, the peak and the name of the line. The order is that of their
 * importance, because each label takes its place from the later ones.
 */
#include "verbs/plots/trace/trace_marks.h"

#include <stdio.h>

#include "verbs/plots/trace/trace_words.h"

typedef bool note_fn(struct mt_chart *c, const struct mt_note *n);

static bool note(struct mt_chart *c, note_fn *put, double x, double y, uint32_t color,
                 const char *what, uint64_t bytes)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%s %s", what, mt_size_text(bytes, c->scene->style.size).s);
    return put(c, &(struct mt_note){x, y, color, text});
}

/* Somewhere along the line; what has no room for the figures, which the headings give, has the
 * name.
 */
static void name_capacity(struct mt_chart *c, double x, double y)
{
    struct mt_buf b = {0};
    mt_trace_say_capacity(&b, c->panel, c->scene->style.size);
    const char *const texts[] = {b.p ? b.p : "", "process limit (inferred)"};
    struct mt_note n = {x, y, c->scene->theme->trouble, texts[0]};
    bool placed = b.failed;
    for (size_t i = 0; i < (c->panel->limit.below ? 2 : 1); i++) {
        n.text = texts[i];
        for (n.x = x; n.x < c->plot.x + c->plot.w && !placed; n.x += 60) {
            placed = mt_chart_note_near(c, &n);
        }
    }
    n.x = x;
    if (!placed) {
        mt_chart_note_anyhow(c, &n);
    }
    c->scene->failed |= b.failed;
    mt_buf_release(&b);
}

/* Where the memory ends: a line; of a limit that was inferred the range that it lies in. */
static void draw_capacity(struct mt_chart *c)
{
    const struct mt_theme *t = c->scene->theme;
    double bound = (double)mt_trace_bound(c->panel), right = c->plot.x + c->plot.w;
    if (bound == 0 || bound > c->y_max) {
        return;
    }
    double y = mt_chart_y(c, bound), x = c->plot.x + 10;
    if (c->panel->limit.below) {
        double low = mt_chart_y(c, (double)c->panel->limit.least);
        mt_scene_rect(c->scene, c->plot.x, y, c->plot.w, low - y, (t->trouble & 0xffffff00) | 0x16);
    }
    mt_scene_line(c->scene, c->plot.x, y, right, y, t->trouble, 1.5)->dash = 6;
    name_capacity(c, x, y);
}

static void draw_cross(struct mt_scene *s, double x, double y, uint32_t tip)
{
    mt_scene_rect(s, x - 7, y - 7, 14, 14, 0xffffff01)->tip = tip; /* something to point at */
    mt_scene_line(s, x - 5, y - 5, x + 5, y + 5, s->theme->trouble, 2.5);
    mt_scene_line(s, x - 5, y + 5, x + 5, y - 5, s->theme->trouble, 2.5);
}

static uint32_t oom_tip(struct mt_chart *c, const struct mt_timeline_oom *o)
{
    struct mt_size_format f = c->scene->style.size;
    struct mt_buf b = {0};
    mt_buf_printf(&b, "out of memory at event %s\nasked for %s\n", mt_count_text(o->event).s,
                  mt_size_text(o->asked, f).s);
    mt_buf_printf(&b, "%s alive, %s reserved, %s free on the device\na segment of %s more",
                  mt_size_text(o->live, f).s, mt_size_text(o->reserved, f).s,
                  o->device_free == MT_FREE_UNKNOWN ? "not known what"
                                                    : mt_size_text(o->device_free, f).s,
                  mt_size_text(o->need, f).s);
    mt_label_frames(&b, &c->scene->style, c->panel->snapshot,
                    c->panel->replay->events[o->event].stack, 8);
    return mt_scene_take(c->scene, &b);
}

/* What was asked for stands on what was reserved: only a segment more could have served it. A cross
 * marks the level that was refused, or the way to it at the upper edge. */
struct refused {
    double x, from, to;
    bool above; /* the picture */
};

static struct refused where_refused(const struct mt_chart *c, const struct mt_timeline_oom *o)
{
    enum { EDGE = 10 };
    double level = (double)o->reserved + (double)o->need, top = c->plot.y + EDGE;
    struct refused r = {mt_chart_x(c, o->x), mt_chart_y(c, (double)o->reserved),
                        mt_chart_y(c, level), level > c->y_max};
    r.to = r.above && r.from > top ? top : r.to;
    return r;
}

static void draw_oom(struct mt_chart *c, const struct mt_timeline_oom *o, bool named)
{
    struct mt_scene *s = c->scene;
    struct refused r = where_refused(c, o);
    char text[128];
    mt_scene_line(s, r.x, r.from, r.x, r.to, s->theme->trouble, 2)->dash = 3;
    mt_scene_line(s, r.x - 5, r.from, r.x + 5, r.from, s->theme->trouble, 2);
    draw_cross(s, r.x, r.to, oom_tip(c, o));
    if (named) {
        (void)snprintf(text, sizeof text, "out of memory: asked for %s%s",
                       mt_size_text(o->asked, s->style.size).s,
                       r.above ? ", above the picture" : "");
        mt_chart_note(c, &(struct mt_note){r.x, r.to, s->theme->trouble, text});
    }
}

static void draw_ooms(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    double last = 2;
    for (size_t i = t->ooms.n; i > 0; i--) { /* the last one killed it: it has the label */
        const struct mt_timeline_oom *o = &t->ooms.v[i - 1];
        if (last - o->x > 0.004) {
            draw_oom(c, o, i == t->ooms.n);
            last = o->x;
        }
    }
}

/* Keeps labels off the marks that they belong to. */
static void take_marks(struct mt_chart *c)
{
    enum { MOST_OOMS = 6 };
    const struct mt_timeline *t = c->panel->timeline;
    if (!t->flat && t->peak > 0) {
        double x = mt_chart_x(c, t->peak_x), y = mt_chart_y(c, (double)t->peak);
        mt_chart_take(c, (struct mt_box){x - 5, y - 5, 10, 10});
    }
    for (size_t i = t->ooms.n; i > 0 && t->ooms.n - i < MOST_OOMS; i--) {
        struct refused r = where_refused(c, &t->ooms.v[i - 1]);
        mt_chart_take(c, (struct mt_box){r.x - 5, r.to - 6, 10, r.from + 6 - r.to});
    }
}

static void draw_peak(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    const struct mt_theme *theme = c->scene->theme;
    double x = mt_chart_x(c, t->peak_x), y = mt_chart_y(c, (double)t->peak);
    if (t->flat || t->peak == 0) {
        return;
    }
    mt_scene_line(c->scene, x, y, x, c->plot.y + c->plot.h, theme->line & 0xffffff60, 1)->dash = 2;
    struct mt_mark *m = mt_scene_rect(c->scene, x - 4, y - 4, 8, 8, theme->background);
    m->round = true;
    m->stroke = theme->text;
    m->stroke_width = 2;
    note(c, mt_chart_note_anyhow, x, y, theme->text,
         mt_trace_is_part(c->panel) ? "at most" : "peak", t->peak);
}

/* With segments the line is what is in use: named at its highest, which is found in the trace, not
 * among the moments that are drawn. */
static void note_live(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    struct mt_step at, best;
    mt_replay_begin(c->panel->replay, &at);
    best = at;
    while (at.index + 1 < t->last && mt_replay_next(c->panel->replay, &at)) {
        bool before = at.index + 1 <= t->first;
        best = before || at.live_bytes > best.live_bytes ? at : best;
    }
    double x = mt_timeline_x(t, c->panel->replay, best.index);
    note(c, mt_chart_note_anyhow, mt_chart_x(c, x), mt_chart_y(c, (double)best.live_bytes),
         c->scene->theme->line, "in use, at most", best.live_bytes);
}

/* The name alone, somewhere on the line; the headings say how high it went. */
static bool name_line(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    for (double share = 0.9; share > 0; share -= 0.1) {
        size_t i = 0;
        while (i + 1 < t->samples.n && t->samples.v[i + 1].x <= share) {
            i++;
        }
        double y = mt_chart_y(c, (double)t->samples.v[i].reserved);
        struct mt_note n = {mt_chart_x(c, share), y, c->scene->theme->line, "reserved"};
        if (mt_chart_note_near(c, &n)) {
            return true;
        }
    }
    return false;
}

/* The line's name: in the middle of the stretch that ends the picture, if that is its highest. */
static void note_line(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    if (c->panel->options->subject != MT_TIMELINE_MEMORY) {
        note_live(c);
        return;
    }
    if (t->reserved_peak == 0 || t->samples.n == 0) {
        return;
    }
    double x01 = t->reserved_peak_x, y = mt_chart_y(c, (double)t->reserved_peak);
    if (t->samples.v[t->samples.n - 1].reserved == t->reserved_peak) {
        x01 = (x01 + 1) / 2;
    }
    uint32_t color = c->scene->theme->line;
    double x = mt_chart_x(c, x01);
    if (!note(c, mt_chart_note_near, x, y, color, "reserved", t->reserved_peak) && !name_line(c)) {
        note(c, mt_chart_note, x, y, color, "reserved", t->reserved_peak);
    }
}

void mt_trace_marks(struct mt_chart *c)
{
    take_marks(c);
    draw_capacity(c);
    draw_ooms(c);
    draw_peak(c);
    note_line(c);
}
