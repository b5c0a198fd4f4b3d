/* SPDX-License-Identifier: MIT */
/* The frame around a timeline: axes and the legend. */
#include "verbs/plots/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/checked.h"
#include "support/compiler.h"

#include "draw/axis.h"

#define SMALL 11.0
#define NORMAL 12.0

double mt_chart_x(const struct mt_chart *c, double x01)
{
    return c->plot.x + c->plot.w * x01;
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
    mt_axis_bytes(&a, c->y_max, 7);
    for (size_t i = 0; i < a.n && a.ticks[i].value <= c->y_max; i++) {
        double y = mt_chart_y(c, a.ticks[i].value);
        if (i > 0) {
            mt_scene_line(c->scene, c->plot.x, y, c->plot.x + c->plot.w, y, t->grid, 1);
        }
        mt_scene_text(c->scene, c->plot.x - 10, y + 4, NORMAL, t->muted, a.ticks[i].label)->anchor =
            MT_ANCHOR_END;
    }
}

/* One tick with its two labels: where it is, and the same on the other scale, which is moved from
 * the names at the left and the legend at the right, and left out where it has no room then.
 * *taken: px up to which there are such labels. */
static void x_tick(struct mt_chart *c, double x01, const char *first, const char *second,
                   double *taken)
{
    const struct mt_theme *t = c->scene->theme;
    double x = mt_chart_x(c, x01), y = c->plot.y + c->plot.h;
    mt_scene_line(c->scene, x, y, x, y + 5, t->frame, 1);
    mt_scene_text(c->scene, x, y + 19, NORMAL, t->muted, first)->anchor = MT_ANCHOR_MIDDLE;
    double half = mt_text_px(second, SMALL, false) / 2;
    double left = c->plot.x - 4 + half, right = c->plot.x + c->plot.w + 18 - half;
    double at = x < left ? left : x > right ? right : x;
    if (*second && at - half >= *taken + 4) {
        mt_scene_text(c->scene, at, y + 34, SMALL, t->faint, second)->anchor = MT_ANCHOR_MIDDLE;
        *taken = at + half;
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
        out->us[i] = known ? mt_time_between(t->first_us, us) : MT_NO_TIME;
    }
    choose_unit(out, mt_time_between(t->first_us, t->last_us));
}

static void event_axis(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    bool timed = t->first_us != MT_NO_TIME && t->last_us > t->first_us;
    struct tick_times times = {.n = 0};
    double taken = 0;
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
        x_tick(c, x, a.ticks[i].label, second, &taken);
    }
    axis_names(c, "event", timed ? "at time" : "");
}

static void time_axis(struct mt_chart *c)
{
    const struct mt_timeline *t = c->panel->timeline;
    double span = (double)t->last_us - (double)t->first_us, taken = 0;
    struct mt_axis a;
    mt_axis_time(&a, span, c->plot.w > 500 ? 8 : 4);
    for (size_t i = 0; i < a.n; i++) {
        int64_t us;
        if (a.ticks[i].value >= 0x1p63 ||
            __builtin_add_overflow(t->first_us, (int64_t)a.ticks[i].value, &us)) {
            break; /* such times are made up */
        }
        size_t event = mt_timeline_event_at(c->panel->replay, us);
        x_tick(c, a.ticks[i].value / span, a.ticks[i].label, mt_count_text(event).s, &taken);
    }
    axis_names(c, "time", "at event");
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
    enum { LINE = 13, INDENT = 10 };
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
    mt_scene_text_fit(s, x + INDENT, y + LINE, SMALL, s->theme->muted, room - INDENT, false,
                      sub + cut + 1);
    mt_buf_release(&head);
    return LINE;
}

double mt_legend_row(struct mt_scene *s, struct mt_box box, double y,
                     const struct mt_legend_row *row)
{
    const struct mt_theme *t = s->theme;
    char share[96];
    struct mt_size_text size = mt_size_text(row->bytes, s->style.size);
    bool then = row->bytes > 0 || row->most == 0;
    if (!then) {
        size = mt_size_text(row->most, s->style.size);
        (void)snprintf(share, sizeof share, "at most, at another time");
    } else {
        (void)snprintf(share, sizeof share, "%.1f %%", row->share * 100);
    }
    if (row->bytes > 0 && row->share < 0.0005) {
        (void)snprintf(share, sizeof share, "< 0.1 %%");
    }
    bool bold = row->largest;
    double room = box.w - 32 - mt_text_px(size.s, NORMAL, bold);
    double sub_room = box.w - 32 - mt_text_px(share, SMALL, false), right = box.x + box.w;
    s->failed |= mt_label_failed(row->label);
    const char *main = text_of(&row->label->main), *sub = text_of(&row->label->sub);
    if (mt_text_px(main, NORMAL, bold) > room && row->label->name.n > 0) {
        main = text_of(&row->label->name);
        sub = text_of(&row->label->place);
    }
    mt_scene_rect(s, box.x, y + 2, 13, 13, row->color)->tip = row->tip;
    mt_scene_text_fit(s, box.x + 22, y + 12, NORMAL, t->text, room, bold, main)->tip = row->tip;
    mt_scene_text_fit(s, right, y + 12, NORMAL, then ? t->text : t->muted, box.w, bold, size.s)
        ->anchor = MT_ANCHOR_END;
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
