/* SPDX-License-Identifier: MIT */
/*
 * What a step of this recording is. A step is a loop of the program, not of a model: the layers of
 * a pass repeat too, and more evenly. Evidence is asked in the order of how surely it speaks of the
 * program; see period.h.
 */
#include "heap/findings/period.h"

#include <stdlib.h>

#include "support/hash.h"
#include "support/mem.h"

#include "heap/findings/passes.h"
#include "heap/findings/period_ways.h"
#include "heap/findings/step_marks.h"
#include "heap/stacks/frames.h"
#include "torch/frame_class.h"

void mt_periods_release(struct mt_periods *p)
{
    mt_vec_release(&p->bounds);
    mt_vec_release(&p->passes);
    *p = (struct mt_periods){0};
}

size_t mt_periods_count(const struct mt_periods *p)
{
    return p->bounds.n ? p->bounds.n - 1 : 0;
}

bool mt_periods_add(struct mt_periods *p, size_t event)
{
    if (p->bounds.n && p->bounds.v[p->bounds.n - 1] >= event) {
        return true;
    }
    return mt_vec_push(&p->bounds, (uint32_t)event);
}

size_t mt_event_at_time(const struct mt_replay *r, int64_t time_us)
{
    size_t low = 0;
    size_t high = r->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->events[mid].time_us < time_us) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* ---- by option ---- */

static enum mt_status every_so_many(struct mt_periods *p, const struct mt_replay *r,
                                    uint64_t events, struct mt_error *err)
{
    p->source = MT_PERIOD_OPTION;
    for (uint64_t at = 0; at <= r->n; at += events) {
        if (!mt_periods_add(p, at)) {
            return mt_fail_nomem(err);
        }
        if (events > r->n) {
            break;
        }
    }
    return MT_OK;
}

/* ---- calls of the model, taken together between steps of the optimizer ---- */

static uint64_t path_of(const struct mt_passes *passes, const struct mt_stack_roles *roles,
                        size_t i)
{
    return roles->of[roles->replay->events[passes->v[i].begin].stack].path;
}

/* Marks the passes that begin another loop: they are called by lines that were not seen before, and
 * those of the pass before came more than once and never come again. False: no memory. */
static bool find_loops(bool *begins, const struct mt_passes *passes,
                       const struct mt_stack_roles *roles)
{
    struct mt_idmap left = {0}, seen = {0}; /* by path: how often it is still to come, and came */
    bool ok = true;
    for (size_t i = 0; ok && i < passes->n; i++) {
        const uint32_t *n = mt_idmap_find(&left, path_of(passes, roles, i));
        ok = mt_idmap_put(&left, path_of(passes, roles, i), n ? *n + 1 : 1);
    }
    bool over = false; /* the loop of the pass before */
    for (size_t i = 0; ok && i < passes->n; i++) {
        uint64_t path = path_of(passes, roles, i);
        const uint32_t *n = mt_idmap_find(&seen, path);
        uint32_t came = n ? *n : 0, comes = *mt_idmap_find(&left, path) - 1;
        begins[i] = over && !came;
        over = came && !comes;
        ok = mt_idmap_put(&seen, path, came + 1) && mt_idmap_put(&left, path, comes);
    }
    mt_idmap_release(&left);
    mt_idmap_release(&seen);
    return ok;
}

static enum mt_status by_passes(struct mt_periods *p, const struct mt_stack_roles *roles,
                                const struct mt_period_names *names, uint32_t optimizer,
                                struct mt_error *err)
{
    const struct mt_replay *r = roles->replay;
    const struct mt_passes *passes = &p->passes;
    bool *after = mt_mem_zalloc(passes->n, sizeof *after);
    bool *begins = mt_mem_zalloc(passes->n, sizeof *begins);
    bool together = false, ended = false; /* ended: a step of the optimizer since the last bound */
    bool ok = after && begins && find_loops(begins, passes, roles) &&
              mt_step_marks(after, &together, passes, roles, names, optimizer);
    for (size_t i = 0; ok && i < passes->n; i++) {
        ended |= i > 0 && (!together || after[i - 1]);
        if (i == 0 || (ended && (begins[i] || mt_pass_returns(passes, i, roles)))) {
            ok = mt_periods_add(p, mt_pass_head(passes, i, roles, i ? passes->v[i - 1].end : 0));
            ended = false;
        }
    }
    p->source = MT_PERIOD_DETECTED;
    p->of_frames = true;
    p->stack = ok ? r->events[p->bounds.v[p->bounds.n > 1]].stack : 0; /* the first may have more */
    mt_mem_free(after);
    mt_mem_free(begins);
    return ok ? MT_OK : mt_fail_nomem(err);
}

/* ---- the choice ---- */

struct evidence {
    const struct mt_replay *r;
    struct mt_stack_roles roles;
    struct mt_period_names *names;
    uint32_t best; /* name; 0: none */
};

/* Live memory in one round. */
struct round {
    uint64_t low, high;
};

static void find_rounds(struct round *rounds, const struct mt_periods *p, const struct mt_replay *r)
{
    struct mt_step at;
    size_t k = 0, n = mt_periods_count(p);
    mt_replay_begin(r, &at);
    while (mt_replay_next(r, &at) && at.index < p->bounds.v[n]) {
        bool first = k < n && at.index == p->bounds.v[k];
        k += first;
        if (k) {
            struct round *x = &rounds[k - 1];
            x->low = first || at.live_bytes < x->low ? at.live_bytes : x->low;
            x->high = at.live_bytes > x->high ? at.live_bytes : x->high;
        }
    }
}

/* Layers of one pass: the lows rise and fall again, by far more than what a round moves; steps come
 * back to where they were. */
static bool rise_and_fall(const struct round *rounds, size_t n)
{
    uint64_t top = 0, moves = 0;
    for (size_t i = 0; i < n; i++) {
        top = rounds[i].low > top ? rounds[i].low : top;
        moves += (rounds[i].high - rounds[i].low) / n;
    }
    uint64_t ends = rounds[0].low > rounds[n - 1].low ? rounds[0].low : rounds[n - 1].low;
    return top - ends > 2 * moves;
}

/* Each round keeps more than half of what memory moves in it, and none gives it back. */
static bool keep_and_rise(const struct round *rounds, size_t n)
{
    uint64_t moves = 0;
    for (size_t i = 0; i < n; i++) {
        moves += rounds[i].high - rounds[i].low;
    }
    uint64_t first = rounds[0].low, last = rounds[n - 1].low;
    return n > 1 && last > first && last - first > moves / 2;
}

/* Without call stacks nothing else tells layers from steps. */
static enum mt_status drop_layers(struct mt_periods *p, const struct mt_replay *r,
                                  struct mt_error *err)
{
    size_t n = mt_periods_count(p);
    struct round *rounds = n ? mt_mem_zalloc(n, sizeof *rounds) : NULL;
    if (n && !rounds) {
        return mt_fail_nomem(err);
    }
    if (n) {
        find_rounds(rounds, p, r);
    }
    p->may_be_layers = n && keep_and_rise(rounds, n);
    if (n && rise_and_fall(rounds, n)) {
        mt_vec_release(&p->bounds);
        p->source = MT_PERIOD_NONE;
        p->stack = 0;
    }
    mt_mem_free(rounds);
    return MT_OK;
}

static bool is_of_program(const struct mt_snapshot *s, uint32_t frame)
{
    const struct mt_frame *f = &s->frames[frame];
    unsigned file = mt_frame_file_kind(mt_snapshot_str(s, f->filename));
    unsigned name = mt_frame_name_kind(mt_snapshot_str(s, f->name));
    enum mt_frame_class class = mt_frame_class(mt_frame_is_python(s, f), file, name);
    return class == MT_FRAME_USER || class == MT_FRAME_STEP;
}

/* Lines of the program, from outside, in which all allocations of the rounds are alike; 0 where one
 * has none. The first round is passed over: what was made before may count to it. */
static size_t lines_around(const struct mt_periods *p, const struct mt_replay *r)
{
    const struct mt_snapshot *s = r->snapshot;
    const uint32_t *frames = s->stack_frames, *model = NULL;
    size_t alike = 0, lines = 0;
    for (size_t i = p->bounds.v[1]; i < p->bounds.v[p->bounds.n - 1]; i++) {
        const struct mt_stack *k = &s->stacks[r->events[i].stack];
        if (!mt_event_allocates(&r->events[i])) {
            continue;
        }
        const uint32_t *outer = frames + k->first + k->n;
        alike = model ? alike : k->n;
        model = model ? model : outer;
        size_t same = 0;
        while (same < alike && same < k->n &&
               outer[-1 - (ptrdiff_t)same] == model[-1 - (ptrdiff_t)same]) {
            same++;
        }
        alike = same;
    }
    for (size_t i = 0; i < alike; i++) {
        lines += is_of_program(s, model[-1 - (ptrdiff_t)i]);
    }
    return lines;
}

/* A loop in the script itself or in its main function is one of the program; what repeats further
 * inside, in a function that was called once, may be the layers of a model written as functions. */
static void doubt_lines(struct mt_periods *p, const struct mt_replay *r)
{
    p->may_be_layers = mt_periods_count(p) > 1 && lines_around(p, r) > 1;
}

/* A step of training holds a backward pass and what comes before it. Rounds of which most lack
 * either are the layers of one pass, or of what a ring buffer has left of it. */
static void doubt_halves(struct mt_periods *p, const struct mt_stack_roles *roles)
{
    const struct mt_replay *r = roles->replay;
    size_t n = mt_periods_count(p), whole = 0;
    for (size_t k = 0; k < n; k++) {
        bool backward = false, other = false;
        for (size_t i = p->bounds.v[k]; i < p->bounds.v[k + 1]; i++) {
            bool alloc = mt_event_allocates(&r->events[i]);
            bool is = alloc && mt_stack_role_of(roles, r->events[i].stack) == MT_ROLE_BACKWARD;
            backward |= is;
            other |= alloc && !is;
        }
        whole += backward && other;
    }
    p->may_be_layers |= n > 1 && whole < (n + 1) / 2;
}

static enum mt_status by_order(struct mt_periods *p, struct evidence *e, struct mt_error *err)
{
    const struct mt_snapshot *s = e->r->snapshot;
    MT_TRY(mt_period_by_order(p, &e->roles, 0, e->r->n, false, err));
    if (!p->bounds.n) {
        MT_TRY(mt_period_by_order(p, &e->roles, 0, e->r->n, true, err));
    }
    p->of_frames = p->stack && s->stacks[p->stack].n > 0;
    if (!p->of_frames) {
        MT_TRY(drop_layers(p, e->r, err));
    } else if (!p->learns && e->roles.has_frames) {
        doubt_lines(p, e->r);
    }
    if (p->learns) {
        doubt_halves(p, &e->roles);
    }
    return MT_OK;
}

static enum mt_status choose(struct mt_periods *p, struct evidence *e, struct mt_error *err)
{
    size_t count = e->best ? mt_period_name_count(e->names, e->best) : 0;
    int rank = e->best ? mt_period_name_rank(e->names, e->best) : 0;
    bool optimizer = rank == MT_RANK_OPTIMIZER;
    bool steps = rank >= MT_RANK_STEP && !optimizer && count >= 2;
    if (p->passes.n && !steps && !(optimizer && count > p->passes.n)) {
        MT_TRY(by_passes(p, &e->roles, e->names, optimizer ? e->best : 0, err));
        if (p->learns) {
            doubt_halves(p, &e->roles);
        } else if (p->passes.of_layers) {
            doubt_lines(p, e->r);
        }
        return MT_OK;
    }
    if (e->best) {
        p->source = MT_PERIOD_ANNOTATIONS;
        return mt_period_names_bounds(p, e->names, e->r, e->best) ? MT_OK : mt_fail_nomem(err);
    }
    return by_order(p, e, err);
}

static bool has_backward(const struct mt_stack_roles *roles)
{
    const struct mt_replay *r = roles->replay;
    size_t i = 0;
    while (i < r->n && (!mt_event_allocates(&r->events[i]) ||
                        mt_stack_role_of(roles, r->events[i].stack) != MT_ROLE_BACKWARD)) {
        i++;
    }
    return i < r->n;
}

static enum mt_status weigh(struct mt_periods *p, struct evidence *e,
                            const struct mt_period_options *o, struct mt_error *err)
{
    MT_TRY(mt_stack_roles_init(&e->roles, e->r, err));
    MT_TRY(mt_passes_find(&p->passes, &e->roles, err));
    p->learns = has_backward(&e->roles);
    if (o->events) {
        return every_so_many(p, e->r, o->events, err);
    }
    e->names = mt_period_names_new(e->r);
    if (!e->names) {
        return mt_fail_nomem(err);
    }
    if (o->annotation) {
        return mt_period_names_wanted(p, e->names, e->r, o->annotation, err);
    }
    bool timed = e->r->events[0].time_us != MT_NO_TIME;
    e->best = timed ? mt_period_names_best(e->names) : 0;
    return choose(p, e, err);
}

enum mt_status mt_periods_find(struct mt_periods *p, const struct mt_replay *r,
                               const struct mt_period_options *o, struct mt_error *err)
{
    *p = (struct mt_periods){0};
    if (r->n == 0) {
        return MT_OK;
    }
    struct evidence e = {.r = r};
    enum mt_status status = weigh(p, &e, o, err);
    mt_stack_roles_release(&e.roles);
    mt_period_names_free(e.names);
    return status;
}
