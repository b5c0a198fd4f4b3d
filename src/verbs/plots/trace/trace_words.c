/* SPDX-License-Identifier: MIT */
/* The words and the scale of a timeline, for pictures and terminals alike. */
#include "verbs/plots/trace/trace_words.h"

#include <string.h>

#include "support/checked.h"
#include "heap/stacks/frames.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "support/units.h"

/* A capacity or a request this many times the rest is named, not drawn to scale. */
#define OFF_SCALE 2.0

const char *mt_trace_title(const struct mt_trace_panel *p)
{
    return p->options->subject == MT_TIMELINE_MEMORY ? "Memory over time"
                                                     : "Reserved memory over time";
}

static void say_limit(struct mt_buf *b, const struct mt_limit_range *l, struct mt_size_format f)
{
    mt_buf_text(b, mt_size_range_text(l->least, l->below, f).s);
}

uint64_t mt_trace_bound(const struct mt_trace_panel *p)
{
    return p->limit.below ? p->limit.below : p->capacity;
}

void mt_trace_say_capacity(struct mt_buf *b, const struct mt_trace_panel *p,
                           struct mt_size_format f)
{
    if (p->limit.below) {
        mt_buf_text(b, "process limit (inferred): ");
        say_limit(b, &p->limit, f);
    } else {
        mt_buf_printf(b, "%s %s", p->capacity_from, mt_size_text(p->capacity, f).s);
    }
}

static void add_moment(struct mt_buf *b, const struct mt_trace_panel *p, size_t event)
{
    int64_t us = event < p->replay->n ? p->replay->events[event].time_us : MT_NO_TIME;
    int64_t first = p->replay->n ? p->replay->events[0].time_us : MT_NO_TIME;
    mt_label_event(b, event);
    if (us != MT_NO_TIME && first != MT_NO_TIME && us >= first) {
        mt_buf_printf(b, " (%s)", mt_duration_text(mt_time_between(first, us)).s);
    }
}

bool mt_trace_is_part(const struct mt_trace_panel *p)
{
    return p->only && p->only[0];
}

const char *mt_trace_legend_title(const struct mt_trace_panel *p)
{
    return p->timeline->flat     ? "Alive all the time"
           : mt_trace_is_part(p) ? "Held when it is most"
                                 : "Held at the peak";
}

bool mt_trace_say_doubt(struct mt_buf *b, const struct mt_trace_panel *p)
{
    const struct mt_timeline *t = p->timeline;
    bool doubt = p->options->subject == MT_TIMELINE_MEMORY && t->peak > t->reserved_peak &&
                 mt_source_has_reserved(&p->snapshot->source);
    if (doubt) {
        mt_buf_text(b, "more is alive than was ever reserved: events or segments are missing here");
    }
    return doubt;
}

void mt_trace_say_peak(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f)
{
    const struct mt_timeline *t = p->timeline;
    if (mt_trace_is_part(p)) {
        mt_buf_text(b, "only ");
        mt_text_keep_safe(b, p->only);
        mt_buf_text(b, " \xc2\xb7 ");
    }
    if (p->replay->n == 0) {
        mt_buf_printf(b, "no events were recorded, so this is what was alive at the end: %s",
                      mt_size_text(t->peak, f).s);
    } else {
        mt_buf_printf(b, mt_trace_is_part(p) ? "at most %s at " : "peak %s at ",
                      mt_size_text(t->peak, f).s);
        add_moment(b, p, t->peak_event);
    }
    if (mt_source_has_reserved(&p->snapshot->source)) {
        mt_buf_printf(b, " \xc2\xb7 reserved %s%s", t->flat ? "" : "up to ",
                      mt_size_text(t->reserved_peak, f).s);
    } else {
        mt_buf_text(b, " \xc2\xb7 what was reserved is not in this file");
    }
    struct mt_buf doubt = {0};
    if (mt_trace_say_doubt(&doubt, p)) {
        mt_buf_text(b, " \xc2\xb7 ");
        mt_buf_str(b, mt_buf_view(&doubt));
    }
    b->failed |= doubt.failed;
    mt_buf_release(&doubt);
    if (p->replay->n > 0) {
        mt_buf_printf(b, " \xc2\xb7 %s %s", mt_count_text(t->last - t->first).s,
                      t->last - t->first == 1 ? "event" : "events");
        if (t->first_us != MT_NO_TIME && t->last_us > t->first_us) {
            mt_buf_printf(b, " in %s",
                          mt_duration_text(mt_time_between(t->first_us, t->last_us)).s);
        }
    }
}

uint64_t mt_oom_hole(const struct mt_state *st, const struct mt_event *oom)
{
    struct mt_state_sum sum = {0};
    enum mt_pool_kind kind = mt_torch_is_small(oom->size) ? MT_POOL_SMALL : MT_POOL_LARGE;
    for (size_t i = 0; i < st->n_segments; i++) {
        const struct mt_segment *g = &st->segments[i];
        if (g->stream == oom->stream && g->kind == kind && g->pool.a == 0 && g->pool.b == 0) {
            mt_state_add_segment(st, i, &sum);
        }
    }
    return sum.largest_hole;
}

void mt_oom_say_refusal(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_event *oom,
                        struct mt_size_format f)
{
    struct mt_torch_rules rules = mt_settings_rules(s);
    uint64_t device_free = oom->addr, need = mt_torch_segment_for(&rules, oom->size);
    if (device_free == MT_FREE_UNKNOWN) {
        mt_buf_text(b, "What was free on the device was not recorded");
        return;
    }
    mt_buf_printf(b, "On the device: %s was free", mt_size_text(device_free, f).s);
    if (device_free < need && device_free >= oom->size) {
        mt_buf_printf(b, ", less than the segment of %s that it needed", mt_size_text(need, f).s);
    }
    mt_buf_printf(b, ", so %s refused it",
                  device_free >= need ? "a limit of the process" : "the device");
}

void mt_trace_say_oom(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f)
{
    const struct mt_timeline *t = p->timeline;
    const struct mt_timeline_oom *o = &t->ooms.v[t->ooms.n - 1];
    mt_buf_text(b, "Out of memory at ");
    add_moment(b, p, o->event);
    mt_buf_printf(b, ": asked for %s", mt_size_text(o->asked, f).s);
    if (t->ooms.n > 1) {
        mt_buf_printf(b, " \xc2\xb7 the last of %s", mt_count_text(t->ooms.n).s);
    }
}

/* What was free in the cache, in the numbers of the allocator's state: block sizes, with what is
 * lost to rounding. False when out of memory. */
static bool say_free(struct mt_buf *b, const struct mt_trace_panel *p, const struct mt_event *oom,
                     size_t event, struct mt_size_format f)
{
    struct mt_error err;
    struct mt_state st;
    struct mt_state_sum sum = {0};
    if (mt_state_at(p->snapshot, (size_t)p->timeline->device, event + 1, &st, &err) != MT_OK) {
        return false;
    }
    for (size_t i = 0; i < st.n_segments; i++) {
        mt_state_add_segment(&st, i, &sum);
    }
    mt_buf_text(b, "In the cache: ");
    if (sum.free == 0) {
        mt_buf_printf(b, "all of the %s reserved was in use", mt_size_text(sum.reserved, f).s);
    } else {
        mt_buf_printf(b, "%s of the %s reserved was free", mt_size_text(sum.free, f).s,
                      mt_size_text(sum.reserved, f).s);
        uint64_t hole = mt_oom_hole(&st, oom);
        mt_buf_printf(b, ", in holes of at most %s%s", mt_size_text(hole, f).s,
                      hole < sum.largest_hole ? " for this request" : "");
    }
    mt_state_release(&st);
    return true;
}

void mt_trace_say_why(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f)
{
    const struct mt_timeline *t = p->timeline;
    const struct mt_timeline_oom *o = &t->ooms.v[t->ooms.n - 1];
    if (!mt_source_has_pieces(&p->snapshot->source)) {
        mt_buf_text(b, "What was free in the cache is not in this file");
        return;
    }
    b->failed |= !say_free(b, p, &p->replay->events[o->event], o->event, f);
}

void mt_trace_say_refusal(struct mt_buf *b, const struct mt_trace_panel *p, struct mt_size_format f)
{
    const struct mt_timeline *t = p->timeline;
    const struct mt_timeline_oom *o = &t->ooms.v[t->ooms.n - 1];
    mt_oom_say_refusal(b, p->snapshot, &p->replay->events[o->event], f);
    if (p->limit.below) {
        mt_buf_text(b, ": ");
        say_limit(b, &p->limit, f);
    }
}

/* Where the memory of a leak comes from: the stack that grows fastest. */
static void say_leak(struct mt_buf *b, const struct mt_plot_style *style,
                     const struct mt_trace_panel *p, struct mt_size_format f)
{
    const struct mt_leaks *l = p->leaks;
    mt_buf_printf(b, "Grows by %s per step", mt_size_text((uint64_t)l->bytes_per_step, f).s);
    const struct mt_growth *most = l->stacks.n ? &l->stacks.v[0] : NULL;
    if (most && !most->rest && most->stack && most->bytes_per_step > 0) {
        struct mt_label label;
        mt_label_stack(&label, style, p->snapshot, most->stack);
        struct mt_size_text all = mt_size_text((uint64_t)l->bytes_per_step, f);
        struct mt_size_text part = mt_size_text((uint64_t)most->bytes_per_step, f);
        if (strcmp(all.s, part.s) != 0) {
            mt_buf_printf(b, ", %s of it", part.s);
        }
        mt_buf_text(b, " from ");
        mt_buf_str(b, mt_buf_view(&label.main));
        b->failed |= mt_label_failed(&label);
        mt_label_release(&label);
    }
}

/* What came before a different last part is no headline of the whole. */
static bool steps_reach_the_end(const struct mt_trace_panel *p)
{
    enum { FEW = 8 };
    size_t n = mt_periods_count(&p->leaks->periods);
    const uint32_t *bounds = p->leaks->periods.bounds.v;
    size_t mean = (bounds[n] - bounds[0]) / n;
    return p->replay->n - bounds[n] <= 2 * mean + FEW;
}

bool mt_trace_say_growth(struct mt_buf *b, const struct mt_plot_style *style,
                         const struct mt_trace_panel *p, struct mt_size_format f)
{
    const struct mt_leaks *l = p->leaks;
    size_t steps = l ? mt_periods_count(&l->periods) : 0;
    if (steps < 2 || l->verdict == MT_LEAK_UNKNOWN || !steps_reach_the_end(p)) {
        return false;
    }
    if (l->verdict == MT_LEAK_YES && l->bytes_per_step > 0) {
        say_leak(b, style, p, f);
    } else if (l->reason == MT_LEAK_BELOW_LINE) {
        mt_buf_printf(b, "Grows by %s per step, too little to be counted as a leak",
                      mt_size_text((uint64_t)l->bytes_per_step, f).s);
    } else if (l->reason == MT_LEAK_HELD) {
        mt_buf_printf(b, "Grows by %s of private pools and workspaces",
                      mt_size_text(l->held_bytes, f).s);
    } else if (l->reason == MT_LEAK_FILLED && p->replay->ghost_bytes > 0) {
        return false; /* it may have taken the place of what is older than the trace */
    } else if (l->reason == MT_LEAK_FILLED) {
        mt_buf_printf(b, "Grew by %s, then stayed", mt_size_text(l->filled_bytes, f).s);
    } else if (l->reason == MT_LEAK_GIVEN_BACK) {
        mt_buf_printf(b, "Grew by %s, %s of it given back", mt_size_text(l->filled_bytes, f).s,
                      l->given_back_bytes < l->filled_bytes ? mt_size_text(l->given_back_bytes, f).s
                                                            : "all");
    } else {
        mt_buf_text(b, "Does not grow from step to step after ");
        mt_label_event(b, l->periods.bounds.v[1]); /* the first period is warm-up */
    }
    mt_buf_printf(b, " \xc2\xb7 %s steps", mt_count_text(steps).s);
    return true;
}

void mt_trace_label(struct mt_label *l, const struct mt_plot_style *style,
                    const struct mt_trace_panel *p, const struct mt_timeline_band *band)
{
    *l = (struct mt_label){.main = {0}};
    if (band->stack == MT_BAND_OLDER) {
        mt_buf_text(&l->main, MT_OLDER);
        mt_buf_text(&l->sub, "recording began later");
    } else if (band->stack == MT_BAND_OTHERS) {
        size_t n = band->held ? band->held : band->stacks;
        mt_buf_printf(&l->main, "[%s %s]", mt_count_text(n).s, n == 1 ? "other" : "others");
        mt_buf_text(&l->sub, "stacks with less");
    } else {
        mt_label_stack(l, style, p->snapshot, band->stack);
        if (band->stack == 0 || p->snapshot->stacks[band->stack].n == 0) {
            mt_buf_reset(&l->sub);
            mt_buf_text(&l->sub, mt_stackless_why(p->snapshot, mt_replay_stackless(p->replay)));
        }
    }
}

/* The largest number that is drawn to scale, over all panels. */
double mt_trace_scale(const struct mt_trace_panel *panels, size_t n)
{
    double most = 0, more = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_timeline *t = panels[i].timeline;
        uint64_t level = t->peak > t->reserved_peak ? t->peak : t->reserved_peak;
        most = (double)level > most ? (double)level : most;
    }
    for (size_t i = 0; i < n; i++) {
        const struct mt_timeline *t = panels[i].timeline;
        double capacity = (double)mt_trace_bound(&panels[i]);
        more = capacity <= most * OFF_SCALE && capacity > more ? capacity : more;
        for (size_t k = 0; k < t->ooms.n; k++) {
            double wish = (double)t->ooms.v[k].reserved + (double)t->ooms.v[k].need;
            more = wish <= most * OFF_SCALE && wish > more ? wish : more;
        }
    }
    most = more > most ? more : most;
    return most > 0 ? most * 1.09 : (double)MT_MIB;
}
