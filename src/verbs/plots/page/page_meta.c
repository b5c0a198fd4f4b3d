/* SPDX-License-Identifier: MIT */
/*
 * The page's JSON: strings, and the figures as text. The figures come from the same analyses as
 * those of stats and peak and are formatted here, so the page prints the same bytes as the other
 * verbs.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <memtool/version.h>
#include "heap/stacks/categories.h"
#include "heap/stacks/event_labels.h"
#include "heap/stacks/frames.h"
#include "heap/stacks/names.h"
#include "heap/sums/totals.h"
#include "heap/walk/replay.h"
#include "snapshot/write/sink.h"
#include "support/mem.h"
#include "verbs/plots/page/page_blob.h"
#include "verbs/plots/page/page_marks.h"
#include "verbs/plots/page/page_parts.h"
#include "verbs/plots/page/page_steps.h"
#include "verbs/plots/page/page_story.h"
#include "verbs/plots/plots.h"

struct meta {
    struct mt_sink *sink;
    const struct mt_page_place *place;
    const struct mt_snapshot *s;
    const struct mt_page_options *o;
    struct mt_error *err;
    bool failed;   /* no memory for a name */
    size_t opened; /* devices that have the moment at which the page opens */
};

static void key(struct meta *m, const char *name)
{
    mt_sink_json_str(m->sink, mt_str_from(name));
    mt_sink_char(m->sink, ':');
}

static void text(struct meta *m, const char *name, struct mt_str value)
{
    key(m, name);
    mt_sink_json_str(m->sink, value);
    mt_sink_char(m->sink, ',');
}

static void number(struct meta *m, const char *name, uint64_t value)
{
    key(m, name);
    mt_sink_u64(m->sink, value);
    mt_sink_char(m->sink, ',');
}

static void separate(struct meta *m, size_t i)
{
    if (i) {
        mt_sink_char(m->sink, ',');
    }
}

/* ["label","value"] */
static void figure(struct meta *m, size_t i, const char *label, const char *value)
{
    separate(m, i);
    mt_sink_char(m->sink, '[');
    mt_sink_json_str(m->sink, mt_str_from(label));
    mt_sink_char(m->sink, ',');
    mt_sink_json_str(m->sink, mt_str_from(value));
    mt_sink_char(m->sink, ']');
}

static void size_figure(struct meta *m, size_t i, const char *label, uint64_t bytes)
{
    figure(m, i, label, mt_size_text(bytes, m->o->size).s);
}

static void figures(struct meta *m, const struct mt_device_totals *t)
{
    const struct mt_counters *c = &t->all;
    const struct mt_source *source = &m->s->source;
    size_t n = 0;
    key(m, "figures");
    mt_sink_char(m->sink, '[');
    if (mt_source_has_reserved(source)) {
        size_figure(m, n++, "reserved", c->reserved);
    }
    size_figure(m, n++, "allocated", c->allocated);
    if (mt_source_has_pieces(source)) {
        size_figure(m, n++, "requested", c->requested);
        size_figure(m, n++, "free", c->reserved > c->active ? c->reserved - c->active : 0);
        size_figure(m, n++, "largest hole", c->largest_free);
        figure(m, n++, "segments", mt_count_text(c->segments).s);
    }
    figure(m, n++, "events", mt_count_text(t->trace.events).s);
    mt_sink_text(m->sink, "],");
}

/* ---- moments ---- */

static void peak_and_ooms(struct meta *m, const struct mt_replay *r)
{
    struct mt_step at;
    uint64_t peak = r->ghost_bytes;
    uint64_t reserved = r->start_reserved;
    int64_t event = -1; /* before the first event */
    size_t ooms = 0;
    key(m, "ooms");
    mt_sink_char(m->sink, '[');
    mt_replay_begin(r, &at);
    while (mt_replay_next(r, &at)) {
        if (at.live_bytes > peak) {
            peak = at.live_bytes;
            event = (int64_t)at.index;
        }
        reserved = at.reserved_bytes > reserved ? at.reserved_bytes : reserved;
        if (at.event->action == MT_ACTION_OOM) {
            separate(m, ooms++);
            mt_sink_u64(m->sink, at.index);
        }
    }
    mt_sink_text(m->sink, "],");
    key(m, "peak_event");
    mt_sink_i64(m->sink, event);
    mt_sink_char(m->sink, ',');
    number(m, "peak_bytes", peak);
    number(m, "start_reserved", r->start_reserved);
    text(m, "peak_text", mt_str_from(mt_size_text(peak, m->o->size).s));
    if (mt_source_has_reserved(&m->s->source)) {
        text(m, "reserved_peak_text", mt_str_from(mt_size_text(reserved, m->o->size).s));
    }
}

/* [name (string id), event, 1 = begins | 0 = ends]: the viewer pairs them. */
static enum mt_status annotations(struct meta *m, const struct mt_replay *r)
{
    struct mt_page_marks marks = {0};
    enum mt_status status = mt_page_marks_find(&marks, r, m->err);
    key(m, "annotations");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; status == MT_OK && i < marks.v.n; i++) {
        const struct mt_page_mark *mark = &marks.v.v[i];
        separate(m, i);
        mt_sink_char(m->sink, '[');
        mt_sink_u64(m->sink, mark->name);
        mt_sink_char(m->sink, ',');
        mt_sink_u64(m->sink, mark->event);
        mt_sink_text(m->sink, mark->begins ? ",1]" : ",0]");
    }
    mt_sink_text(m->sink, "],");
    mt_vec_release(&marks.v);
    return status;
}

static void bands(struct meta *m, const struct mt_page_story *story)
{
    key(m, "bands");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; i < story->bands.n; i++) {
        const struct mt_page_band *b = &story->bands.v[i];
        char words[64];
        snprintf(words, sizeof words, "%s[%" PRId64 ",\"#%06" PRIx32 "\",\"#%06" PRIx32 "\"]",
                 i ? "," : "", b->stack == MT_BAND_OLDER ? -1 : (int64_t)b->stack, b->light >> 8,
                 b->dark >> 8);
        mt_sink_text(m->sink, words);
    }
    mt_sink_text(m->sink, "],");
}

/* What the headings of pictures say, and the limit that they draw. */
static enum mt_status story(struct meta *m, const struct mt_replay *r)
{
    struct mt_page_story s;
    const struct mt_plot_style style = {.size = m->o->size, .all_frames = m->o->all_frames};
    enum mt_status status = mt_page_story_init(&s, r, &style, m->err);
    if (status == MT_OK) {
        bands(m, &s);
        text(m, "doubt", mt_buf_view(&s.doubt));
        text(m, "growth", mt_buf_view(&s.growth));
        text(m, "oom", mt_buf_view(&s.oom));
        number(m, "limit", s.limit.below);
        text(m, "limit_text", mt_buf_view(&s.limit_text));
    }
    mt_page_story_release(&s);
    return status;
}

/* Where the page opens: the event, and the events that are shown first. A device without the moment
 * opens where it does by itself. */
static enum mt_status place(struct meta *m, const struct mt_replay *r)
{
    size_t done = 0, first = 0, last = r->n;
    if (m->o->window) {
        mt_plot_window(m->o->window, r, &first, &last);
    }
    if (first < last && (first > 0 || last < r->n)) {
        number(m, "from", first);
        number(m, "to", last);
    }
    if (!m->o->opens_at || r->n == 0) {
        m->opened++;
        return MT_OK;
    }
    enum mt_status status = mt_moment_find(&m->o->at, r, &done, m->err);
    if (status == MT_OK && done > 0) {
        number(m, "opens_at", done - 1);
    }
    m->opened += status == MT_OK;
    return status == MT_NOT_FOUND ? MT_OK : status;
}

static enum mt_status device(struct meta *m, int32_t id, const struct mt_device_totals *t)
{
    struct mt_replay r;
    MT_TRY(mt_replay_init(&r, m->s, id, m->err));
    mt_sink_char(m->sink, '{');
    if (t) {
        figures(m, t);
    }
    peak_and_ooms(m, &r);
    text(m, "why_no_stack", mt_str_from(mt_stackless_why(m->s, mt_replay_stackless(&r))));
    enum mt_status status = place(m, &r);
    if (status == MT_OK) {
        status = story(m, &r);
    }
    if (status == MT_OK) {
        status = annotations(m, &r);
    }
    if (status == MT_OK && r.n) {
        key(m, "steps");
        status = mt_page_steps_write(m->sink, &r, m->o->size, m->err);
        mt_sink_char(m->sink, ',');
    }
    number(m, "events", r.n);
    if (r.n && r.events[0].time_us != MT_NO_TIME) {
        key(m, "base_us");
        mt_sink_i64(m->sink, r.events[0].time_us);
        mt_sink_char(m->sink, ',');
    }
    key(m, "device");
    mt_sink_i64(m->sink, id);
    mt_sink_char(m->sink, '}');
    mt_replay_release(&r);
    return status;
}

static enum mt_status devices_of(struct meta *m, const struct mt_devices *devices)
{
    struct mt_filter filter;
    struct mt_filtered filtered;
    struct mt_totals totals = {0};
    mt_filter_init(&filter);
    MT_TRY(mt_filtered_init(&filtered, &filter, m->s, m->err));
    enum mt_status status = mt_totals_find(&totals, m->s, &filtered, 0, m->err);
    key(m, "devices");
    mt_sink_char(m->sink, '[');
    size_t n = 0;
    for (size_t i = 0; status == MT_OK && i < devices->ids.n; i++) {
        separate(m, n++);
        status = device(m, devices->ids.v[i], mt_totals_device(&totals, devices->ids.v[i]));
    }
    mt_sink_text(m->sink, "],");
    if (status == MT_OK && n > 0 && m->opened == 0) {
        status = MT_NOT_FOUND; /* none has it: m->err says so of the last one */
    }
    mt_totals_release(&totals);
    mt_filtered_release(&filtered);
    mt_filter_release(&filter);
    return status;
}

/* ---- tables ---- */

/* Names as the linker knows them stand in their short form: nothing else looks like one. */
static void strings(struct meta *m)
{
    struct mt_buf name = {0};
    key(m, "strings");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; i < m->s->n_strings; i++) {
        separate(m, i);
        mt_buf_reset(&name);
        mt_name_short(&name, m->s->strings[i]);
        mt_sink_json_str(m->sink, mt_buf_view(&name));
    }
    m->failed |= name.failed;
    mt_buf_release(&name);
    mt_sink_text(m->sink, "],");
}

/* What stands where there is no frame, as in all reports. */
static void stackless(struct meta *m)
{
    key(m, "words");
    mt_sink_char(m->sink, '{');
    text(m, "noStack", MT_STR(MT_NO_STACK));
    text(m, "noFrameName", MT_STR(MT_NO_FRAME_NAME));
    key(m, "older");
    mt_sink_json_str(m->sink, MT_STR(MT_OLDER));
    mt_sink_text(m->sink, "},");
}

static void streams_and_pools(struct meta *m)
{
    char hex[24];
    key(m, "streams");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; i < m->s->n_streams; i++) {
        separate(m, i);
        unsigned long long handle = m->s->streams[i].handle;
        snprintf(hex, sizeof hex, handle ? "0x%llx" : "0 (default)", handle);
        mt_sink_json_str(m->sink, mt_str_from(hex));
    }
    mt_sink_text(m->sink, "],");
    key(m, "pools");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; i < m->s->n_pools; i++) {
        separate(m, i);
        mt_sink_char(m->sink, '[');
        mt_sink_i64(m->sink, m->s->pools[i].a);
        mt_sink_char(m->sink, ',');
        mt_sink_i64(m->sink, m->s->pools[i].b);
        mt_sink_char(m->sink, ']');
    }
    mt_sink_text(m->sink, "],");
}

/* The words for categories and for how sure they are, in the order of the columns. */
static void categories(struct meta *m)
{
    key(m, "categories");
    mt_sink_char(m->sink, '[');
    for (int i = 0; i < MT_CATEGORY_COUNT; i++) {
        separate(m, (size_t)i);
        mt_sink_json_str(m->sink, mt_str_from(mt_category_name((enum mt_category)i)));
    }
    mt_sink_text(m->sink, "],");
    key(m, "sureness");
    mt_sink_char(m->sink, '[');
    for (int i = 0; i < MT_SURE_COUNT; i++) {
        separate(m, (size_t)i);
        mt_sink_json_str(m->sink, mt_str_from(mt_sureness_name((enum mt_sureness)i)));
    }
    mt_sink_text(m->sink, "],");
}

/* By stack: "mm_3 (aten.mm), orig.py:7 forward" of a compiled graph, or of the backward pass. */
static void nodes(struct meta *m)
{
    size_t n = 0;
    key(m, "nodes");
    mt_sink_char(m->sink, '{');
    for (size_t i = 1; i < m->s->n_stacks; i++) {
        uint32_t frame = mt_stack_node(m->s, (uint32_t)i);
        if (frame) {
            char name[24];
            struct mt_buf node = {0};
            snprintf(name, sizeof name, "%zu", i);
            mt_node_text(&node, m->s, frame);
            separate(m, n++);
            key(m, name);
            mt_sink_json_str(m->sink, mt_buf_view(&node));
            m->failed |= node.failed;
            mt_buf_release(&node);
        }
    }
    mt_sink_text(m->sink, "},");
}

static void scalar(struct meta *m, const struct mt_value *v)
{
    switch ((enum mt_value_kind)v->kind) {
    case MT_VALUE_BOOL: mt_sink_text(m->sink, v->u.i ? "true" : "false"); break;
    case MT_VALUE_INT: mt_sink_i64(m->sink, v->u.i); break;
    case MT_VALUE_FLOAT: mt_sink_json_f64(m->sink, v->u.f); break;
    case MT_VALUE_BIG:
    case MT_VALUE_STR: mt_sink_json_str(m->sink, mt_snapshot_str(m->s, v->u.id)); break;
    default: mt_sink_text(m->sink, "null"); break;
    }
}

/* The settings as [key, value], dictionaries in them flattened with a dot. */
static void settings(struct meta *m, uint32_t index, const char *prefix, size_t *n)
{
    const struct mt_value *dict = &m->s->values[index];
    for (uint32_t i = 0; dict->kind == MT_VALUE_DICT && i < dict->n; i++) {
        const struct mt_value *k = &m->s->values[dict->u.id + 2 * i];
        const struct mt_value *v = k + 1;
        if (k->kind != MT_VALUE_STR) {
            continue;
        }
        struct mt_buf name = {0};
        mt_buf_text(&name, prefix);
        mt_buf_str(&name, mt_snapshot_str(m->s, k->u.id));
        if (v->kind == MT_VALUE_DICT && prefix[0] == '\0') {
            mt_buf_char(&name, '.');
            settings(m, (uint32_t)(v - m->s->values), name.p ? name.p : "", n);
        } else {
            separate(m, (*n)++);
            mt_sink_char(m->sink, '[');
            mt_sink_json_str(m->sink, mt_buf_view(&name));
            mt_sink_char(m->sink, ',');
            scalar(m, v);
            mt_sink_char(m->sink, ']');
        }
        m->failed |= name.failed;
        mt_buf_release(&name);
    }
}

/* The settings as the user wrote them. */
static void whatifs(struct meta *m)
{
    key(m, "whatifs");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; i < m->o->n_whatifs; i++) {
        separate(m, i);
        mt_sink_json_str(m->sink, mt_str_from(m->o->whatifs[i].conf));
    }
    mt_sink_text(m->sink, "],");
}

static enum mt_status write_json(struct meta *m, const struct mt_devices *devices)
{
    static const char *const actions[] = {
#define X(name, word) word,
        MT_ACTION_MAP(X)
#undef X
    };
    mt_sink_char(m->sink, '{');
    text(m, "memtool", MT_STR(MT_VERSION));
    text(m, "file", mt_str_basename(mt_str_from(m->o->file)));
    text(m, "view", m->o->view == MT_PAGE_STATE ? MT_STR("state") : MT_STR("timeline"));
    number(m, "capacity", m->o->capacity);
    number(m, "dark", m->o->dark);
    number(m, "file_number", m->place->files);
    number(m, "first_device", m->place->devices);
    whatifs(m);
    key(m, "actions");
    mt_sink_char(m->sink, '[');
    for (size_t i = 0; i < MT_COUNT(actions); i++) {
        separate(m, i);
        mt_sink_json_str(m->sink, mt_str_from(i ? actions[i] : "other"));
    }
    mt_sink_text(m->sink, "],");
    strings(m);
    stackless(m);
    streams_and_pools(m);
    categories(m);
    nodes(m);
    MT_TRY(devices_of(m, devices));
    key(m, "settings");
    mt_sink_char(m->sink, '[');
    size_t n = 0;
    if (m->s->settings) {
        settings(m, m->s->settings, "", &n);
    }
    mt_sink_text(m->sink, "]}");
    return m->failed ? mt_fail_nomem(m->err) : MT_OK;
}

static enum mt_status json_into(FILE *memory, const struct mt_page_place *place,
                                const struct mt_snapshot *s, const struct mt_page_options *o,
                                const struct mt_devices *devices, struct mt_error *err)
{
    struct meta m = {
        .sink = mt_sink_new(memory, false), .place = place, .s = s, .o = o, .err = err};
    if (!m.sink) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = write_json(&m, devices);
    if (status == MT_OK) {
        status = mt_sink_finish(m.sink, err);
    }
    mt_sink_free(m.sink);
    return status;
}

enum mt_status mt_page_meta(FILE *out, const struct mt_page_place *place,
                            const struct mt_snapshot *s, const struct mt_page_options *o,
                            const struct mt_devices *devices, struct mt_error *err)
{
    char *json = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&json, &n);
    if (!memory) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = json_into(memory, place, s, o, devices, err);
    if (fclose(memory) != 0 && status == MT_OK) {
        status = mt_fail_nomem(err);
    }
    if (status == MT_OK) {
        status = mt_page_file_blob(out, "meta", place->files, json, n, 1, err);
    }
    free(json);
    return status;
}
