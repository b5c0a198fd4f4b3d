/* SPDX-License-Identifier: MIT */
/*
 * The checks behind the trust banner. Each looks at one thing that real files get wrong or leave
 * out. The invariants of segments hold in every file that PyTorch wrote itself; a file that breaks
 * them was edited, merged, or made by another program, and is still worth reading.
 */
#include "heap/stacks/event_labels.h"
#include "heap/sums/trust.h"
#include "heap/sums/trust_watch.h"
#include "heap/walk/query.h"
#include "heap/walk/replay.h"
#include "snapshot/model/settings.h"
#include "torch/keys.h"

struct entry {
    const char *word;
    bool limits;
};

static const struct entry ENTRIES[] = {
#define X(name, id, limits) {id, limits},
    MT_TRUST_MAP(X)
#undef X
};

const char *mt_trust_word(enum mt_trust_id id)
{
    return ENTRIES[id].word;
}

bool mt_trust_limits(enum mt_trust_id id)
{
    return ENTRIES[id].limits;
}

bool mt_trust_has(const struct mt_trust *trust, enum mt_trust_id id)
{
    for (size_t i = 0; i < trust->facts.n; i++) {
        if (trust->facts.v[i].id == id) {
            return true;
        }
    }
    return false;
}

struct checker {
    struct mt_trust *trust;
    const struct mt_snapshot *s;
    const struct mt_totals *t;
    bool failed;
};

static void add(struct checker *c, struct mt_trust_fact fact)
{
    if (!mt_vec_push(&c->trust->facts, fact)) {
        c->failed = true;
    }
}

/* ---- the file as a whole ---- */

static void check_source(struct checker *c)
{
    struct mt_settings settings;
    mt_settings_get(c->s, 0, &settings);
    if (c->s->source.salvaged) {
        add(c, (struct mt_trust_fact){MT_TRUST_SALVAGED, -2, 0, 0, c->s->source.damage_offset});
    }
    if (settings.conf.p && mt_str_find(settings.conf, MT_STR("cudaMallocAsync")) != SIZE_MAX) {
        add(c, (struct mt_trust_fact){.id = MT_TRUST_ASYNC_BACKEND, .device = -2});
    }
}

static void check_history(struct checker *c)
{
    uint64_t events = 0;
    for (size_t i = 0; i < c->t->devices.n; i++) {
        events += c->t->devices.v[i].trace.events;
    }
    bool lost = c->s->source.salvaged && !(c->s->present >> MT_TOP_KEY_device_traces & 1);
    if (events == 0 && c->s->n_segments && !lost) {
        add(c, (struct mt_trust_fact){.id = MT_TRUST_NO_HISTORY, .device = -2});
    } else if (events && events <= c->t->devices.n) {
        add(c, (struct mt_trust_fact){MT_TRUST_STATE_ONLY, -2, events, 0, 0});
    }
}

/* Lengths that people choose for max_entries: a few digits and zeros, or a power of two. */
static bool is_round(uint64_t n)
{
    if (n < 1000) {
        return false;
    }
    uint64_t rest = n;
    while (rest % 10 == 0) {
        rest /= 10;
    }
    return (n & (n - 1)) == 0 || rest < 100;
}

static void check_start(struct checker *c)
{
    for (size_t i = 0; i < c->t->devices.n; i++) {
        const struct mt_device_totals *d = &c->t->devices.v[i];
        bool overflowed = mt_settings_overflowed(c->s, d->trace.events);
        if ((d->trace.ghosts == 0 && !overflowed) || d->trace.events <= 1) {
            continue;
        }
        struct mt_trace trace = mt_device_trace(c->s, d->device);
        uint8_t first = c->s->events[trace.first].action;
        bool ring =
            overflowed || (mt_source_has_pieces(&c->s->source) &&
                           (is_round(d->trace.events) || first == MT_ACTION_FREE_COMPLETED));
        add(c,
            (struct mt_trust_fact){ring ? MT_TRUST_RING_OVERFLOW : MT_TRUST_STARTS_LATE, d->device,
                                   d->trace.ghosts, d->trace.ghost_bytes, d->trace.events});
    }
}

static void check_times(struct checker *c, uint64_t times, uint64_t events)
{
    if (!times && events > 1) {
        add(c, (struct mt_trust_fact){.id = MT_TRUST_NO_TIMES, .device = -2});
    }
    for (size_t i = 0; i < c->t->devices.n; i++) {
        const struct mt_device_totals *d = &c->t->devices.v[i];
        if (d->trace.first_us > d->trace.last_us) {
            add(c, (struct mt_trust_fact){.id = MT_TRUST_TIMES_BACKWARDS, .device = d->device});
        }
    }
}

static void check_stacks(struct checker *c)
{
    uint64_t with = 0, events = 0, times = 0;
    for (size_t i = 0; i < c->t->devices.n; i++) {
        with += c->t->devices.v[i].trace.with_stack;
        times += c->t->devices.v[i].trace.with_time;
        events += c->t->devices.v[i].trace.events;
    }
    check_times(c, times, events);
    for (size_t i = 0; i < c->s->n_blocks && !with; i++) {
        with += c->s->stacks[c->s->blocks[i].stack].n != 0;
    }
    if (!with && (events || c->s->n_blocks)) {
        add(c, (struct mt_trust_fact){.id = MT_TRUST_NO_FRAMES, .device = -2});
    }
}

/* ---- segments ---- */

static bool adds_up(const struct mt_snapshot *s, const struct mt_segment *segment)
{
    uint64_t total = 0, allocated = 0, active = 0, requested = 0, addr = segment->addr;
    bool tiled = true, has_requests = segment->n_blocks > 0;
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct mt_block *b = &s->blocks[segment->first_block + i];
        tiled &= b->addr == addr;
        addr = b->addr + b->size;
        total += b->size;
        allocated += b->state == MT_BLOCK_ALLOCATED ? b->size : 0;
        active += b->state != MT_BLOCK_INACTIVE ? b->size : 0;
        requested += b->state != MT_BLOCK_INACTIVE ? b->requested : 0;
        has_requests &= b->present >> MT_BLOCK_KEY_requested_size & 1;
    }
    uint32_t has = segment->present;
    return tiled && total == segment->total_size &&
           (!(has >> MT_SEGMENT_KEY_allocated_size & 1) || allocated == segment->allocated_size) &&
           (!(has >> MT_SEGMENT_KEY_active_size & 1) || active == segment->active_size) &&
           (!has_requests || !(has >> MT_SEGMENT_KEY_requested_size & 1) ||
            requested == segment->requested_size);
}

static void check_sums(struct checker *c)
{
    struct mt_trust_fact fact = {.id = MT_TRUST_SUMS, .device = -2};
    for (size_t i = 0; i < c->s->n_segments; i++) {
        if (!adds_up(c->s, &c->s->segments[i])) {
            fact.first = fact.count++ ? fact.first : c->s->segments[i].addr;
        }
    }
    if (fact.count) {
        add(c, fact);
    }
}

static enum mt_status check_overlap(struct checker *c, struct mt_error *err)
{
    struct mt_trust_fact fact = {.id = MT_TRUST_OVERLAP, .device = -2};
    for (size_t i = 0; i < c->t->devices.n; i++) {
        struct mt_segment_index x;
        MT_TRY(mt_segment_index_init(&x, c->s, c->t->devices.v[i].device, err));
        for (size_t k = 1; k < x.order.n && !x.host; k++) {
            const struct mt_segment *a = &c->s->segments[x.order.v[k - 1]];
            const struct mt_segment *b = &c->s->segments[x.order.v[k]];
            if (b->addr - a->addr < a->total_size) {
                fact.first = fact.count++ ? fact.first : b->addr;
            }
        }
        mt_segment_index_release(&x);
    }
    if (fact.count) {
        add(c, fact);
    }
    return MT_OK;
}

/* ---- what memtool does not know ---- */

/* PyTorch itself writes lines that Python does not know as 2^64 - 1, in each program that was
 * compiled: that is worth a note to whoever asks. */
static void check_odd(struct checker *c)
{
    uint64_t others = 0;
    for (size_t i = 0; i < c->s->n_odd; i++) {
        const struct mt_odd *odd = &c->s->odd[i];
        if (mt_str_equal(mt_snapshot_str(c->s, odd->key), MT_STR("line"))) {
            add(c, (struct mt_trust_fact){MT_TRUST_UNKNOWN_LINES, -2, odd->n, 0, i});
        } else {
            others += odd->n;
        }
    }
    if (others) {
        add(c, (struct mt_trust_fact){MT_TRUST_ODD_VALUES, -2, others, 0, 0});
    }
}

static void check_unknown(struct checker *c)
{
    uint64_t events = 0;
    for (size_t i = 0; i < c->t->devices.n; i++) {
        events += c->t->devices.v[i].trace.actions[MT_ACTION_OTHER];
    }
    if (events) {
        add(c, (struct mt_trust_fact){MT_TRUST_UNKNOWN_ACTIONS, -2, events, 0, 0});
    }
    uint32_t tensors;
    uint64_t unknown = c->s->n_unknown;
    unknown -= unknown && mt_snapshot_tensors(c->s, &tensors); /* memtool's own */
    if (unknown) {
        add(c, (struct mt_trust_fact){MT_TRUST_UNKNOWN_KEYS, -2, unknown, 0, 0});
    }
    check_odd(c);
    struct mt_settings settings;
    mt_settings_get(c->s, 0, &settings);
    if (settings.max_split_size_is_unlimited) {
        add(c, (struct mt_trust_fact){.id = MT_TRUST_UNLIMITED, .device = -2});
    }
}

enum mt_status mt_trust_find(struct mt_trust *trust, const struct mt_snapshot *s,
                             const struct mt_totals *t, struct mt_error *err)
{
    *trust = (struct mt_trust){0};
    struct checker c = {trust, s, t, false};
    check_source(&c);
    check_history(&c);
    check_start(&c);
    check_stacks(&c);
    if (mt_source_has_pieces(&s->source)) {
        check_sums(&c);
        MT_TRY(check_overlap(&c, err));
    }
    check_unknown(&c);
    return c.failed ? mt_fail_nomem(err) : mt_trust_watch(trust, s, err);
}

void mt_trust_release(struct mt_trust *trust)
{
    mt_vec_release(&trust->facts);
}
