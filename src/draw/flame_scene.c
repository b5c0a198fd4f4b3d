/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs: each node a box as wide as its bytes, on the box of its caller. A frame of the
 * user's own code has a colour of its file; what lies inside PyTorch and Python is pale, so that
 * the eye finds the own code first. A comparison is red where memory grew and blue where it shrank.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/scene.h"
#include "heap/stacks/frames.h"
#include "support/hash.h"

#define MARGIN 24.0
#define ROW 18.0
#define HEAD 84.0
#define FOOT 20.0
#define LEAST_PX 0.5
#define MOST_BOXES 6000u /* an SVG of at most 2 MiB */
#define MOST_ROWS 250u

struct flame {
    struct mt_scene *s;
    const struct mt_flame_panel *panel;
    double x, w, bottom, per_byte;
    double least_px;
    size_t narrow, rows;
    uint64_t most_change;
};

/* Where each node begins, by index: parents before children. */
struct place {
    double x, w;
};

/* ---- colours ---- */

static uint32_t mix(uint32_t a, uint32_t b, double share)
{
    uint32_t out = 255;
    for (int shift = 8; shift <= 24; shift += 8) {
        double x = a >> shift & 255, y = b >> shift & 255;
        out |= (uint32_t)lround(x + (y - x) * share) << shift;
    }
    return out;
}

static uint32_t change_color(const struct flame *f, int64_t change)
{
    const struct mt_theme *t = f->s->theme;
    if (change == 0 || f->most_change == 0) {
        return t->others;
    }
    double size = fabs((double)change) / (double)f->most_change;
    return mix(t->others, change > 0 ? t->trouble : t->good, 0.25 + 0.6 * sqrt(size));
}

static uint32_t node_color(const struct flame *f, const struct mt_flame_node *n)
{
    const struct mt_theme *t = f->s->theme;
    const struct mt_snapshot *s = f->panel->snapshot;
    if (f->panel->compare) {
        return change_color(f, n->change);
    }
    if (n->frame == 0 || !s) {
        return n->depth == 0 ? t->older : t->others;
    }
    const struct mt_frame *frame = &s->frames[n->frame];
    struct mt_str file = mt_str_basename(mt_snapshot_str(s, frame->filename));
    bool internal = !f->s->style.all_frames && mt_frame_is_internal(s, frame);
    /* Neighbours of one file differ a little by the function. */
    double shade = (double)(mt_hash_bytes(n->label.p, n->label.n, 7) % 5) / 5;
    if (internal) {
        return mix(t->gap, t->others, shade);
    }
    uint32_t base = t->pale[mt_hash_bytes(file.p, file.n, 3) % MT_HUES];
    return mix(base, t->background, 0.3 * shade);
}

/* ---- boxes ---- */

static uint32_t node_tip(struct flame *f, const struct mt_flame_node *n, uint64_t total)
{
    struct mt_size_format size = f->s->style.size;
    struct mt_buf b = {0};
    mt_buf_str(&b, n->label);
    mt_buf_printf(&b, "\n%s (%.1f %%)", mt_size_text(n->bytes, size).s,
                  total ? 100 * (double)n->bytes / (double)total : 0);
    if (f->panel->compare) {
        mt_buf_printf(&b, ", change %s", mt_size_delta_text(n->change, size).s);
    } else {
        mt_buf_printf(&b, ", %s %s", mt_count_text(n->count).s, n->count == 1 ? "block" : "blocks");
    }
    return mt_scene_take(f->s, &b);
}

/* Where the whole label has no room, the function says more than the beginning of a file's name. */
static const char *node_words(const struct mt_flame_node *n, double room)
{
    const char *name = n->frame ? n->label.p + n->name_at : n->label.p;
    return mt_text_px(n->label.p, 11, false) <= room ? n->label.p : name;
}

static void draw_node(struct flame *f, const struct mt_flame_node *n, struct place at,
                      uint64_t total)
{
    double y = f->bottom - ROW * (double)(n->depth + 1);
    uint32_t color = node_color(f, n);
    mt_scene_group(f->s, "f", node_tip(f, n, total));
    double gap = at.w > 3 ? 0.5 : 0;
    mt_scene_rect(f->s, at.x, y, at.w - gap, ROW - 1, color);
    if (at.w > 40) {
        mt_scene_text_fit(f->s, at.x + 4, y + 12.5, 11, mt_palette_ink(color), at.w - 8, false,
                          node_words(n, at.w - 8));
    }
    mt_scene_end(f->s);
}

/* Children stand side by side from the left end of their parent; narrow ones are left out with all
 * that is above them. A node's index is larger than its parent's, so one pass places everything. */
static void draw_nodes(struct flame *f, struct place *places)
{
    const struct mt_flame *t = f->panel->tree;
    places[0] = (struct place){f->x, f->w};
    for (size_t i = 0; i < t->nodes.n; i++) {
        const struct mt_flame_node *n = &t->nodes.v[i];
        struct place at = places[i];
        if (at.w < f->least_px || n->depth >= f->rows) {
            f->narrow += at.w < 0 ? 0 : 1;
        } else {
            draw_node(f, n, at, t->nodes.v[0].bytes);
        }
        double x = at.x;
        for (uint32_t c = n->first_child; c; c = t->nodes.v[c].next) {
            double w = (double)t->nodes.v[c].bytes * f->per_byte;
            places[c] = (struct place){x, w};
            x += w;
        }
    }
}

/* How narrow a box may be so that there are not too many of them. */
static void choose_least(struct flame *f)
{
    const struct mt_flame *t = f->panel->tree;
    size_t n = SIZE_MAX;
    for (f->least_px = LEAST_PX; n > MOST_BOXES && f->least_px < 64; f->least_px *= 1.5) {
        n = 0;
        for (size_t i = 0; i < t->nodes.n; i++) {
            n += (double)t->nodes.v[i].bytes * f->per_byte >= f->least_px;
        }
        if (n <= MOST_BOXES) {
            break;
        }
    }
}

/* The rows that something wide enough to be drawn reaches. */
static size_t rows_needed(const struct flame *f)
{
    const struct mt_flame *t = f->panel->tree;
    size_t rows = 1;
    for (size_t i = 0; i < t->nodes.n; i++) {
        const struct mt_flame_node *n = &t->nodes.v[i];
        bool wide = (double)n->bytes * f->per_byte >= f->least_px;
        rows = wide && n->depth + 1 > rows ? n->depth + 1 : rows;
    }
    return rows < MOST_ROWS ? rows : MOST_ROWS;
}

/* ---- around them ---- */

static void draw_title(struct flame *f)
{
    struct mt_scene *s = f->s;
    const struct mt_flame_node *root = &f->panel->tree->nodes.v[0];
    struct mt_buf b = {0};
    double room = f->w - 190; /* the search stands on the right */
    struct mt_mark *m =
        mt_scene_text_fit(s, f->x, 34, 19, s->theme->text, room, true, f->panel->title);
    double used = m->w + 14;
    if (room > used + 60) {
        if (f->panel->before) {
            mt_buf_str(&b, mt_str_basename(mt_str_from(f->panel->before)));
            mt_buf_text(&b, " to ");
        }
        mt_buf_str(&b, mt_str_basename(mt_str_from(f->panel->file)));
        mt_scene_text_buf(s, f->x + used, 34, 14, s->theme->muted, room - used, false, &b);
        mt_buf_reset(&b);
    }
    if (f->panel->compare) {
        mt_buf_printf(&b,
                      "%s, change %s \xc2\xb7 red grew, blue shrank, each as wide as the larger of "
                      "both",
                      f->panel->total, mt_size_delta_text(root->change, s->style.size).s);
    } else {
        mt_buf_printf(&b, "%s %s in %s %s", mt_size_text(root->bytes, s->style.size).s,
                      f->panel->total, mt_count_text(root->count).s,
                      root->count == 1 ? "block" : "blocks");
    }
    if (f->narrow) {
        mt_buf_printf(&b, " \xc2\xb7 %s too narrow to be drawn", mt_count_text(f->narrow).s);
    }
    mt_scene_text_buf(s, f->x, 56, 12.5, s->theme->muted, f->w, false, &b);
    mt_buf_release(&b);
}

/* What the script uses; hidden where no script runs. */
static void draw_controls(struct flame *f)
{
    static const char *const NAMES[] = {"reset", "search"};
    static const char *const WORDS[] = {"Reset zoom", "Search"};
    double x = f->x + f->w;
    for (int i = 1; i >= 0; i--) {
        mt_scene_group(f->s, NAMES[i], 0)->scripted = true;
        mt_scene_text(f->s, x, 34, 12, f->s->theme->good, WORDS[i])->anchor = MT_ANCHOR_END;
        mt_scene_end(f->s);
        x -= mt_text_px(WORDS[i], 12, false) + 18;
    }
}

static void find_most_change(struct flame *f)
{
    for (size_t i = 0; i < f->panel->tree->nodes.n; i++) {
        int64_t c = f->panel->tree->nodes.v[i].change;
        uint64_t size = c < 0 ? 0 - (uint64_t)c : (uint64_t)c;
        f->most_change = size > f->most_change ? size : f->most_change;
    }
}

static void draw_empty(struct flame *f)
{
    f->s->height = 200;
    f->s->marks.v[0].h = 200;
    mt_scene_text(f->s, f->x + f->w / 2, 130, 14, f->s->theme->muted, "nothing is in use")->anchor =
        MT_ANCHOR_MIDDLE;
}

static void scene_title(struct mt_scene *s, const struct mt_flame_panel *panel)
{
    struct mt_buf title = {0};
    mt_buf_printf(&title, "%s of ", panel->title);
    mt_buf_str(&title, mt_str_basename(mt_str_from(panel->file)));
    s->title = mt_scene_take(s, &title);
}

enum mt_status mt_plot_flame(struct mt_scene *s, const struct mt_flame_panel *panel,
                             struct mt_error *err)
{
    double width = s->style.width > 0 ? s->style.width : 1280;
    struct flame f = {.s = s, .panel = panel, .x = MARGIN, .w = width - 2 * MARGIN};
    const struct mt_flame_node *root = &panel->tree->nodes.v[0];
    struct place *places = mt_mem_zalloc(panel->tree->nodes.n, sizeof *places);
    if (!places) {
        return mt_fail_nomem(err);
    }
    f.per_byte = root->bytes ? f.w / (double)root->bytes : 0;
    choose_least(&f);
    find_most_change(&f);
    f.rows = rows_needed(&f);
    f.bottom = HEAD + ROW * (double)f.rows;
    s->width = width;
    s->height = f.bottom + FOOT;
    scene_title(s, panel);
    mt_scene_rect(s, 0, 0, width, s->height, s->theme->background);
    if (root->bytes) {
        s->script = MT_SCRIPT_FLAME;
        draw_nodes(&f, places);
        draw_controls(&f);
    } else {
        draw_empty(&f);
    }
    draw_title(&f);
    mt_mem_free(places);
    return s->failed ? mt_fail_nomem(err) : MT_OK;
}
