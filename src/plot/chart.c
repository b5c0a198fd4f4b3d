/* SPDX-License-Identifier: MIT */
/* The frame around a timeline: axes, strips of annotations, the legend. */
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <memtool/compiler.h>

#include "axis.h"

#define SMALL 11.0
#define NORMAL 12.0

double mt_chart_x(const struct mt_chart *c, double x01)
{
    return c->plot.x + (c->plot.w - c->margin) * x01;
}

double mt_chart_y(const struct mt_chart *c, double bytes)
{
    double share = c->y_max > 0 ? bytes / c->y_max : 0;
    return c->plot.y + c->plot.h * (1 - (share > 1 ? 1 : share));
}

/* ---- axes ---- */

static void byte_axis(struct mt_chart *c)
{
    const struct mt_theme *t = c->scene->theme;
    struct mt_axis a;
    mt_axis_bytes(&a, (uint64_t)c->y_max, 7);
    for (size_t i = 0; i < a.n && a.ticks[i].value <= c->y_max; i++) {
        double y = mt_chart_y(c, a.ticks[i].value);
        if (i > 0) {
            mt_scene_line(c->scene, c->plot.x, y, c->plot.x + c->plot.w, y, t->grid, 1);
        }
        mt_scene_text(c->scene, c->plot.x - 10, y + 4, NORMAL, t->muted, a.ticks[i].label)->anchor =
            MT_ANCHOR_END;
    }
}

/* One tick with its two labels: where it is, and the same on the other scale. */
static void x_tick(struct mt_chart *c, double x01, const char *first, const char *second)
{
    const struct mt_theme *t = c->scene->theme;
    double x = mt_chart_x(c, x01), y = c->plot.y + c->plot.h;
    mt_scene_line(c->scene, x, y, x, y + 5, t->frame, 1);
    mt_scene_text(c->scene, x, y + 19, NORMAL, t->muted, first)->anchor = MT_ANCHOR_MIDDLE;
    double half = mt_text_px(second, SMALL, false) / 2;
    if (*second && x - half > c->plot.x - 4) { /* the name of the axis stands left of it */
        mt_scene_text(c->scene, x, y + 34, SMALL, t->faint, second)->anchor = MT_ANCHOR_MIDDLE;
    }
}

static void axis_names(struct mt_chart *c, const char *first, const char *second)
{
    const struct mt_theme *t = c->scene->theme;
    double x = c->plot.x - 10, y = c->plot.y + c->plot.h;
    mt_scene_text(c->scene, x, y + 19, NORMAL, t->muted, first)->anchor = MT_ANCHOR_END;
    if (*second) {
        mt_scene_text(c->scene, x, y + 34, SMALL, t->faint, second)->anchor = MT_ANCHOR_END;
    }
}

/* Times of all ticks in one unit, that of the whole span, with as many digits as tell them apart.
 */
struct tick_times {
    int64_t us[MT_AXIS_TICKS]; /* since the first event shown; MT_NO_TIME: not known */
    size_t n;
    double unit_us;
    const char *unit;
    int digits;
};

static void time_text(char *out, size_t n, const struct tick_times *t, int64_t us)
{
    (void)snprintf(out, n, "%.*f %s", t->digits, (double)us / t->unit_us, t->unit);
}

static bool are_apart(const struct tick_times *t)
{
    char last[48] = "", text[48];
    int64_t before = MT_NO_TIME;
    for (size_t i = 0; i < t->n; i++) {
        if (t->us[i] == MT_NO_TIME) {
            continue;
        }
        time_text(text, sizeof text, t, t->us[i]);
        if (before != MT_NO_TIME && before != t->us[i] && strcmp(text, last) == 0) {
            return false;
        }
        memcpy(last, text, sizeof last);
        before = t->us[i];
    }
    return true;
}

static void choose_unit(struct tick_times *t, int64_t span_us)
{
    static const struct {
        double us;
        const char *name;
    } UNITS[] = {{3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}, {1, "us"}};
    size_t u = 0;
    while (u + 1 < MT_COUNT(UNITS) && (double)span_us < UNITS[u].us) {
        u++;
    }
    t->unit_us = UNITS[u].us;
    t->unit = UNITS[u].name;
    double span = (double)span_us / t->unit_us;
    t->digits = t->unit_us <= 1 || span >= 100 ? 0 : span >= 10 ? 1 : 2;
    while (t->digits < 6 && t->unit_us > 1 && !are_apart(t)) {
        t->digits++;
    }
}

static void find_times(const struct mt_chart *c, const struct mt_axis *a, struct tick_times *out)
{
    const struct mt_timeline *t = c->panel->timeline;
    out->n = a->n;
    for (size_t i = 0; i < a->n; i++) {
        size_t event = (size_t)a->ticks[i].value;
        int64_t us =
            event < c->panel->replay->n ? c->panel->replay->events[event].time_us : MT_NO_TIME;
        bool known = us != MT_NO_TIME && us >= t->first_us;
        out->us[i] = known ? us - t->first_us : MT_NO_TIME;
    }
    choose_unit(out, t->last_us - t->first_us);
}

static void event_axis(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    bool timed = t->first_us != MT_NO_TIME && t->last_us > t->first_us;
    struct tick_times times = {.n = 0};
    struct mt_axis a;
    mt_axis_counts(&a, (double)t->first, (double)t->last, c->plot.w > 500 ? 8 : 4);
    if (timed) {
        find_times(c, &a, &times);
    }
    for (size_t i = 0; i < a.n; i++) {
        char second[48] = "";
        double x = (a.ticks[i].value - (double)t->first) / (double)(t->last - t->first);
        if (timed && times.us[i] != MT_NO_TIME) {
            time_text(second, sizeof second, &times, times.us[i]);
        }
        x_tick(c, x, a.ticks[i].label, second);
    }
    axis_names(c, "event", timed ? "time" : "");
}

static void time_axis(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    double span = (double)t->last_us - (double)t->first_us;
    struct mt_axis a;
    mt_axis_time(&a, span, c->plot.w > 500 ? 8 : 4);
    for (size_t i = 0; i < a.n; i++) {
        int64_t us = t->first_us + (int64_t)a.ticks[i].value;
        size_t event = mt_timeline_event_at(c->panel->replay, us);
        x_tick(c, a.ticks[i].value / span, a.ticks[i].label, mt_count_text(event).s);
    }
    axis_names(c, "time", "event");
}

void mt_chart_axes(struct mt_chart *c)
{
    const struct mt_theme *t = c->scene->theme;
    mt_scene_rect(c->scene, c->plot.x, c->plot.y, c->plot.w, c->plot.h, t->panel);
    if (c->y_max <= 0) {
        return;
    }
    byte_axis(c);
    mt_scene_line(c->scene, c->plot.x, c->plot.y + c->plot.h, c->plot.x + c->plot.w,
                  c->plot.y + c->plot.h, t->frame, 1);
    if (c->panel->timeline->last == c->panel->timeline->first) {
        return;
    }
    if (c->panel->timeline->by_time) {
        time_axis(c);
    } else {
        event_axis(c);
    }
}

/* ---- annotations ---- */

#define STRIP_PX 15.0
#define MAX_SPANS 400u
#define MAX_OPEN 16u

struct span {
    double x1, x2; /* 0 .. 1 */
    uint32_t name;
    unsigned depth;
};

struct spans {
    MT_VEC(struct span) v;
    size_t per_depth[2];
};

static double annotation_x(const struct mt_chart *c, int64_t us)
{
    const struct mt_timeline *t = c->panel->timeline;
    if (t->by_time) {
        double x = ((double)us - (double)t->first_us) / ((double)t->last_us - (double)t->first_us);
        return x < 0 ? 0 : x > 1 ? 1 : x;
    }
    size_t event = mt_timeline_event_at(c->panel->replay, us);
    if (event <= t->first) {
        return 0;
    }
    double x = (double)(event - t->first) / (double)(t->last - t->first);
    return x > 1 ? 1 : x;
}

/* Pairs START with END by name, innermost first; one that is open at the end goes to the end. */
static void find_spans(const struct mt_chart *c, struct spans *out)
{
    const struct mt_snapshot *s = c->panel->snapshot;
    struct span open[MAX_OPEN];
    unsigned depth = 0;
    for (size_t i = 0; i < s->n_annotations; i++) {
        const struct mt_annotation *a = &s->annotations[i];
        if ((a->device != c->panel->timeline->device && a->device >= 0) ||
            a->time_us == MT_NO_TIME) {
            continue;
        }
        if (mt_str_equal(mt_snapshot_str(s, a->stage), MT_STR("START"))) {
            if (depth < MAX_OPEN) {
                open[depth] = (struct span){annotation_x(c, a->time_us), 1, a->name, depth};
                depth++;
            }
            continue;
        }
        unsigned at = depth;
        while (at > 0 && open[at - 1].name != a->name) {
            at--;
        }
        if (at == 0) {
            continue;
        }
        struct span done = open[at - 1];
        done.x2 = annotation_x(c, a->time_us);
        depth = at - 1;
        if (done.depth < 2 && mt_vec_push(&out->v, done)) {
            out->per_depth[done.depth]++;
        }
    }
    while (depth-- > 0) {
        if (open[depth].depth < 2 && mt_vec_push(&out->v, open[depth])) {
            out->per_depth[open[depth].depth]++;
        }
    }
}

/* "## step 0 ##" without its ornaments. */
static void plain_name(struct mt_buf *b, struct mt_str name)
{
    while (name.n && (name.p[0] == '#' || name.p[0] == ' ')) {
        name.p++;
        name.n--;
    }
    while (name.n && (name.p[name.n - 1] == '#' || name.p[name.n - 1] == ' ')) {
        name.n--;
    }
    mt_buf_str(b, name);
}

static void draw_span(struct mt_chart *c, const struct span *p, double y, bool odd)
{
    const struct mt_theme *t = c->scene->theme;
    double x1 = mt_chart_x(c, p->x1), x2 = mt_chart_x(c, p->x2);
    struct mt_buf name = {0};
    plain_name(&name, mt_snapshot_str(c->panel->snapshot, p->name));
    const char *text = name.p ? name.p : "";
    uint32_t tip = mt_scene_keep(c->scene, text);
    mt_scene_rect(c->scene, x1, y, x2 - x1, STRIP_PX - 2, odd ? t->grid : t->gap)->tip = tip;
    if (mt_text_px(text, SMALL, false) + 6 > x2 - x1) { /* "step 12": the number may fit */
        const char *last = strrchr(text, ' ');
        text = last && last[1] >= '0' && last[1] <= '9' ? last + 1 : text;
    }
    if (mt_text_px(text, SMALL, false) + 6 <= x2 - x1) {
        mt_scene_text(c->scene, (x1 + x2) / 2, y + 10, SMALL, t->muted, text)->anchor =
            MT_ANCHOR_MIDDLE;
    }
    mt_buf_release(&name);
}

static bool is_strip(const struct mt_chart *c, const struct spans *spans, unsigned depth)
{
    size_t n = spans->per_depth[depth];
    return n > 0 && n <= MAX_SPANS && c->plot.w / (double)n >= 6;
}

static void find_timed_spans(const struct mt_chart *c, struct spans *out)
{
    const struct mt_timeline *t = c->panel->timeline;
    if (t->last > t->first && t->first_us != MT_NO_TIME && t->last_us > t->first_us) {
        find_spans(c, out);
    }
}

double mt_chart_strips(const struct mt_chart *c)
{
    struct spans spans = {0};
    find_timed_spans(c, &spans);
    double height = STRIP_PX * (is_strip(c, &spans, 0) + is_strip(c, &spans, 1));
    mt_vec_release(&spans.v);
    return height;
}

void mt_chart_annotations(struct mt_chart *c)
{
    struct spans spans = {0};
    find_timed_spans(c, &spans);
    double y = c->plot.y - 2 - STRIP_PX;
    bool any = false;
    for (unsigned depth = 2; depth-- > 0;) {
        bool odd = false, drawn = is_strip(c, &spans, depth);
        for (size_t i = 0; i < spans.v.n && drawn; i++) {
            if (spans.v.v[i].depth == depth) {
                draw_span(c, &spans.v.v[i], y, odd);
                odd = !odd;
            }
        }
        any |= drawn;
        y -= drawn ? STRIP_PX : 0;
    }
    if (any) {
        mt_scene_text(c->scene, c->plot.x - 10, y + STRIP_PX + 10, SMALL, c->scene->theme->muted,
                      "annotations")
            ->anchor = MT_ANCHOR_END;
    }
    mt_vec_release(&spans.v);
}

/* ---- legend ---- */

void mt_legend_head(struct mt_scene *s, struct mt_box box, const char *title)
{
    mt_scene_text_fit(s, box.x, box.y + 11, NORMAL, s->theme->text, box.w, true, title);
}

static const char *text_of(const struct mt_buf *b)
{
    return b->p ? b->p : "";
}

/* The second line, broken at a blank where it is too long and a line more has room. Returns the
 * height added. */
static double legend_sub(struct mt_scene *s, double x, double y, double room, const char *sub,
                         double spare)
{
    enum { LINE = 13 };
    size_t cut = 0;
    if (mt_text_px(sub, SMALL, false) > room && spare >= LINE) {
        for (const char *p = strchr(sub, ' '); p; p = strchr(p + 1, ' ')) {
            struct mt_buf head = {0};
            mt_buf_add(&head, sub, (size_t)(p - sub));
            cut = head.p && mt_text_px(head.p, SMALL, false) <= room ? (size_t)(p - sub) : cut;
            s->failed |= head.failed;
            mt_buf_release(&head);
        }
    }
    if (cut == 0) {
        mt_scene_text_fit(s, x, y, SMALL, s->theme->muted, room, false, sub);
        return 0;
    }
    struct mt_buf head = {0};
    mt_buf_add(&head, sub, cut);
    mt_scene_text_buf(s, x, y, SMALL, s->theme->muted, room, false, &head);
    mt_scene_text_fit(s, x, y + LINE, SMALL, s->theme->muted, room, false, sub + cut + 1);
    mt_buf_release(&head);
    return LINE;
}

double mt_legend_row(struct mt_scene *s, struct mt_box box, double y,
                     const struct mt_legend_row *row)
{
    const struct mt_theme *t = s->theme;
    char share[96];
    struct mt_size_text size = mt_size_text(row->bytes, s->style.size);
    if (row->bytes == 0 && row->most > 0) {
        (void)snprintf(share, sizeof share, "at most %s", mt_size_text(row->most, s->style.size).s);
    } else {
        (void)snprintf(share, sizeof share, "%.1f %%", row->share * 100);
    }
    double room = box.w - 32 - mt_text_px(size.s, NORMAL, false);
    double sub_room = box.w - 32 - mt_text_px(share, SMALL, false), right = box.x + box.w;
    s->failed |= mt_label_failed(row->label);
    const char *main = text_of(&row->label->main), *sub = text_of(&row->label->sub);
    if (mt_text_px(main, NORMAL, false) > room && row->label->name.n > 0) {
        main = text_of(&row->label->name);
        sub = text_of(&row->label->place);
    }
    mt_scene_rect(s, box.x, y + 2, 13, 13, row->color)->tip = row->tip;
    mt_scene_text_fit(s, box.x + 22, y + 12, NORMAL, t->text, room, false, main)->tip = row->tip;
    mt_scene_text(s, right, y + 12, NORMAL, t->text, size.s)->anchor = MT_ANCHOR_END;
    mt_scene_text(s, right, y + 26, SMALL, t->muted, share)->anchor = MT_ANCHOR_END;
    double more = *sub ? legend_sub(s, box.x + 22, y + 26, sub_room, sub, row->spare) : 0;
    return MT_LEGEND_ROW_PX + more;
}

void mt_legend_total(struct mt_scene *s, struct mt_box box, double y, const char *title,
                     uint64_t bytes)
{
    const struct mt_theme *t = s->theme;
    struct mt_size_text size = mt_size_text(bytes, s->style.size);
    mt_scene_line(s, box.x, y, box.x + box.w, y, t->frame, 1);
    mt_scene_text_fit(s, box.x + 22, y + 17, NORMAL, t->text, box.w / 2, true, title);
    struct mt_mark *m =
        mt_scene_text_fit(s, box.x + box.w, y + 17, NORMAL, t->text, box.w / 2, true, size.s);
    m->anchor = MT_ANCHOR_END;
}
