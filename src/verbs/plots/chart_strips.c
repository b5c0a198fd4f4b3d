/* SPDX-License-Identifier: MIT */
/*
 * Annotations above a timeline: a strip for each of the two outermost levels, what begins and ends
 * as a span, and a caption that says what they are called and how many there are.
 */
#include <string.h>

#include "heap/walk/annotation_cursor.h"
#include "verbs/plots/chart.h"

#define STRIP_PX 15.0
#define CAPTION_PX 15.0
#define SMALL 11.0
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

static void draw_span(struct mt_chart *c, const struct span *p, double y, bool odd)
{
    const struct mt_theme *t = c->scene->theme;
    double x1 = mt_chart_x(c, p->x1), x2 = mt_chart_x(c, p->x2);
    struct mt_buf name = {0};
    mt_buf_str(&name, mt_annotation_plain(mt_snapshot_str(c->panel->snapshot, p->name)));
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
    c->scene->failed |= name.failed;
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
    return height > 0 ? height + CAPTION_PX : 0;
}

/* ---- the caption ---- */

struct name_count {
    struct mt_str name; /* "step" of "## step 12 ##" */
    size_t n;
};

/* A name without the number that it ends in. */
static struct mt_str base_name(struct mt_str name)
{
    struct mt_str plain = mt_annotation_plain(name);
    size_t n = plain.n;
    while (n > 0 && plain.p[n - 1] >= '0' && plain.p[n - 1] <= '9') {
        n--;
    }
    while (n > 0 && strchr(" #_-:", plain.p[n - 1])) {
        n--;
    }
    return n > 0 ? (struct mt_str){plain.p, n} : plain;
}

enum { MOST_NAMES = 32, NAMED = 3 };
struct name_counts {
    struct name_count v[MOST_NAMES]; /* the commonest first; further names are not counted */
    size_t n;
};

static void count_name(struct name_counts *c, struct mt_str name)
{
    size_t k = 0;
    while (k < c->n && !mt_str_equal(c->v[k].name, name)) {
        k++;
    }
    if (k == MOST_NAMES) {
        return;
    }
    c->v[k] = (struct name_count){name, k < c->n ? c->v[k].n + 1 : 1};
    c->n += k == c->n;
    for (; k > 0 && c->v[k].n > c->v[k - 1].n; k--) {
        struct name_count swap = c->v[k];
        c->v[k] = c->v[k - 1];
        c->v[k - 1] = swap;
    }
}

/* Of the strips that are drawn, the outer one first. */
static void count_names(const struct mt_chart *c, const struct spans *spans,
                        struct name_counts *out)
{
    for (unsigned depth = 0; depth < 2; depth++) {
        for (size_t i = 0; i < spans->v.n && is_strip(c, spans, depth); i++) {
            const struct span *p = &spans->v.v[i];
            if (p->depth == depth && p->x2 > p->x1) {
                count_name(out, base_name(mt_snapshot_str(c->panel->snapshot, p->name)));
            }
        }
    }
}

static void draw_caption(struct mt_chart *c, const struct spans *spans, double y)
{
    struct name_counts names = {.n = 0};
    struct mt_buf b = {0};
    count_names(c, spans, &names);
    mt_buf_text(&b, "annotations");
    for (size_t i = 0; i < names.n && i < NAMED; i++) {
        mt_buf_text(&b, i ? ", " : ": ");
        mt_buf_str(&b, names.v[i].name);
        mt_buf_printf(&b, " \xc3\x97%zu", names.v[i].n);
    }
    if (names.n > NAMED) {
        mt_buf_text(&b, " and other names");
    }
    mt_scene_text_buf(c->scene, c->plot.x, y, SMALL, c->scene->theme->muted, c->plot.w, false, &b);
    mt_buf_release(&b);
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
        draw_caption(c, &spans, y + STRIP_PX - 4);
    }
    mt_vec_release(&spans.v);
}
