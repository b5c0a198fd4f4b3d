/* SPDX-License-Identifier: MIT */
/*
 * Evidence beyond the rules for frames.
 *
 * Stacks cannot tell a gradient from scratch memory of the backward part: autograd runs in a thread
 * of its own, where Python has no frames (the stack is empty in files recorded with
 * stacks="python"). Lifetimes can. What the backward part allocates and frees before the main
 * program allocates again was scratch, the rest are gradients; an optimizer that works in place
 * allocates nothing before they go, so what dies behind the last allocation of the backward part
 * and has the size of something older, as a gradient has that of its parameter, is one as well.
 * What the forward part frees before the backward part begins was scratch, the rest are
 * activations; what an optimizer allocates and the next pass of the model finds alive is its state.
 * In a trace without a backward part (inference) everything of the forward part stays an
 * activation.
 *
 * Sizes tell what no stack does: each parameter that learns has one gradient of its size, and Adam
 * has two moments of it, SGD one. Memory older than the trace that matches the gradients, all of
 * them, is parameters, and what is there twice more is the optimizer's.
 */
#include "heap/stacks/category_evidence.h"

#include <stdlib.h>

#include "support/hash.h"
#include "torch/torch_rules.h"
#include "support/mem.h"
#include "support/vec.h"

#include "heap/findings/counting.h"
#include "heap/findings/passes.h"
#include "heap/stacks/stack_roles.h"
#include "heap/stacks/workspaces.h"

struct weighing {
    struct mt_categories *c;
    const struct mt_replay *r;
    struct mt_stack_roles roles;
    struct mt_passes passes;
    struct mt_idmap lasting;   /* size -> how many live through all backward passes */
    struct mt_idmap paired;    /* the same -> gradients that have it in the pass at hand */
    struct mt_idmap gradients; /* size -> how many are alive at a time */
    uint64_t gradient_bytes;
    uint32_t first_backward; /* event, MT_NEVER without */
    size_t unknown;          /* allocations of no category that stacks and lives tell */
    bool ends_in_oom;
};

static bool is_alloc(const struct weighing *x, size_t i)
{
    return mt_event_allocates(&x->r->events[i]);
}

static enum mt_role role_at(const struct weighing *x, size_t i)
{
    return mt_stack_role_of(&x->roles, x->r->events[i].stack);
}

static bool is_fixed(const struct weighing *x, size_t i)
{
    return x->c->fixed[x->r->events[i].stack];
}

static void set(struct weighing *x, size_t i, enum mt_category category, enum mt_sureness sure)
{
    x->c->events[i] = (unsigned char)category;
    x->c->events_sure[i] = (unsigned char)sure;
}

static uint32_t count_of(const struct mt_idmap *counts, uint64_t key)
{
    const uint32_t *n = mt_idmap_find(counts, key);
    return n ? *n : 0;
}

/* ---- lifetimes ---- */

/* Parameters live from before the first backward pass to behind what comes after the last. */
static bool collect_lasting(struct weighing *x)
{
    uint32_t first = MT_NEVER, last = 0;
    for (size_t i = 0; i < x->r->n; i++) {
        if (is_alloc(x, i) && x->c->events[i] == MT_CATEGORY_GRADIENT) {
            first = first == MT_NEVER ? (uint32_t)i : first;
            last = MT_NEVER;
        } else if (is_alloc(x, i) && last == MT_NEVER) {
            last = (uint32_t)i;
        }
    }
    bool ok = true;
    for (size_t i = 0; ok && first != MT_NEVER && i < first; i++) {
        ok = !is_alloc(x, i) || x->r->partner[i] < last ||
             mt_count_key(&x->lasting, x->r->events[i].size);
    }
    for (size_t i = 0; ok && first != MT_NEVER && i < x->r->ghosts.n; i++) {
        const struct mt_ghost *g = &x->r->ghosts.v[i];
        ok = (g->freed != MT_NEVER && g->freed < last) || mt_count_key(&x->lasting, g->size);
    }
    return ok;
}

/* When each part of the program allocates next; MT_NEVER: not again. */
struct next {
    uint32_t backward, other; /* by category: of the backward part, of all else */
    uint32_t model;           /* by role: the model or its backward pass */
    uint32_t last_backward;   /* by category: the last one of the backward pass at hand */
};

/* Of what died before anything else was allocated: whether it outlived the backward pass and pairs
 * with something older. */
static bool pairs(struct weighing *x, size_t i, const struct next *next, bool *ok)
{
    uint64_t size = x->r->events[i].size;
    bool found = x->r->partner[i] > next->last_backward &&
                 count_of(&x->paired, size) < count_of(&x->lasting, size);
    *ok &= !found || mt_count_key(&x->paired, size);
    return found;
}

static bool judge_life(struct weighing *x, size_t i, const struct next *next)
{
    enum mt_category c = (enum mt_category)x->c->events[i];
    uint32_t end = x->r->partner[i];
    bool ok = true, by_optimizer = role_at(x, i) == MT_ROLE_OPTIMIZER;
    if (is_fixed(x, i)) {
        return true;
    }
    if (c == MT_CATEGORY_GRADIENT && end != MT_NEVER && end < next->other) {
        c = pairs(x, i, next, &ok) ? c : MT_CATEGORY_TEMPORARY;
        set(x, i, c,
            c == MT_CATEGORY_GRADIENT ? MT_SURE_MEDIUM : (enum mt_sureness)x->c->events_sure[i]);
    } else if (c == MT_CATEGORY_ACTIVATION && next->backward != MT_NEVER && end < next->backward) {
        c = MT_CATEGORY_TEMPORARY;
        x->c->events[i] = MT_CATEGORY_TEMPORARY;
    }
    if (by_optimizer && (c == MT_CATEGORY_TEMPORARY || c == MT_CATEGORY_UNKNOWN)) {
        /* Of a step that ended in a refusal nothing has been freed yet. */
        bool outlives =
            next->model == MT_NEVER ? end == MT_NEVER && !x->ends_in_oom : end > next->model;
        enum mt_sureness sure = c == MT_CATEGORY_UNKNOWN ? MT_SURE_MEDIUM : MT_SURE_HIGH;
        set(x, i, outlives ? MT_CATEGORY_OPTIMIZER_STATE : MT_CATEGORY_TEMPORARY, sure);
    }
    return ok;
}

/* From the end to the beginning: which part of the program allocates next. */
static bool apply_lifetimes(struct weighing *x)
{
    struct next next = {MT_NEVER, MT_NEVER, MT_NEVER, MT_NEVER};
    bool ok = collect_lasting(x), in_backward = false;
    for (size_t i = x->r->n; ok && i-- > 0;) {
        x->ends_in_oom |= next.model == MT_NEVER && x->r->events[i].action == MT_ACTION_OOM;
        if (!is_alloc(x, i)) {
            continue;
        }
        bool backward = x->c->events[i] == MT_CATEGORY_GRADIENT;
        if (backward && !in_backward) {
            next.last_backward = (uint32_t)i;
            mt_idmap_release(&x->paired);
        }
        in_backward = backward;
        ok = judge_life(x, i, &next);
        x->unknown += x->c->events[i] == MT_CATEGORY_UNKNOWN;
        *(backward ? &next.backward : &next.other) = (uint32_t)i;
        enum mt_role role = role_at(x, i);
        if (role == MT_ROLE_MODULE || role == MT_ROLE_BACKWARD) {
            next.model = (uint32_t)i;
            x->first_backward = role == MT_ROLE_BACKWARD ? (uint32_t)i : x->first_backward;
        }
    }
    return ok;
}

/* ---- workspaces ---- */

static enum mt_status mark_workspaces(struct weighing *x, struct mt_error *err)
{
    struct mt_events_list found = {0};
    enum mt_status status = mt_workspaces_find(&found, &x->roles, &x->passes, x->c->fixed, err);
    for (size_t i = 0; status == MT_OK && i < found.n; i++) {
        bool told = role_at(x, found.v[i]) == MT_ROLE_WORKSPACE;
        set(x, found.v[i], MT_CATEGORY_WORKSPACE, told ? MT_SURE_HIGH : MT_SURE_MEDIUM);
    }
    mt_vec_release(&found);
    return status;
}

/* How many ghosts that are alive at the end have that size and stack. */
static size_t ghosts_alike(const struct mt_replay *r, const struct mt_ghost *g)
{
    size_t n = 0;
    for (size_t i = 0; i < r->ghosts.n; i++) {
        const struct mt_ghost *k = &r->ghosts.v[i];
        n += k->freed == MT_NEVER && k->size == g->size && k->stack == g->stack;
    }
    return n;
}

/* Taken before the trace began: the one of a layer's call, what stands in the same call beside it,
 * and then the one of the backward pass, which has no stack. */
static void mark_old_workspaces(struct weighing *x)
{
    const struct mt_replay *r = x->r;
    uint32_t call = 0; /* stack of the first */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < r->ghosts.n; i++) {
            const struct mt_ghost *g = &r->ghosts.v[i];
            bool own = g->stack && x->roles.of[g->stack].role == MT_ROLE_MODULE;
            bool first = round == 0 && own && mt_workspace_size(g->size);
            bool beside =
                round == 1 && call && g->stack == call && g->size == MT_TORCH_WORKSPACE_LT;
            bool bare = round == 1 && call && r->snapshot->stacks[g->stack].n == 0 &&
                        mt_workspace_size(g->size) && x->c->ghosts[i] == MT_CATEGORY_UNKNOWN;
            bool open = g->freed == MT_NEVER && !x->c->fixed[g->stack];
            if (open && (first || beside || bare) && ghosts_alike(r, g) == 1) {
                x->c->ghosts[i] = MT_CATEGORY_WORKSPACE;
                x->c->ghosts_sure[i] = bare ? MT_SURE_LOW : MT_SURE_MEDIUM;
                call = first ? g->stack : call;
            }
        }
    }
}

/* ---- sizes ---- */

/* The event after which most memory is held by gradients. */
static size_t fullest_of_gradients(const struct weighing *x)
{
    uint64_t live = 0, most = 0;
    size_t done = 0;
    struct mt_step at;
    mt_replay_begin(x->r, &at);
    while (mt_replay_next(x->r, &at)) {
        bool frees = (at.kind == MT_STEP_FREE || at.kind == MT_STEP_ALLOC) && at.alloc != MT_NEVER;
        if (frees && x->c->events[at.alloc] == MT_CATEGORY_GRADIENT) {
            live -= x->r->events[at.alloc].size;
        }
        if (at.kind == MT_STEP_ALLOC && x->c->events[at.index] == MT_CATEGORY_GRADIENT) {
            live += at.event->size;
            done = live > most ? at.index + 1 : done;
            most = live > most ? live : most;
        }
    }
    return done;
}

static bool collect_gradients(struct weighing *x)
{
    size_t done = fullest_of_gradients(x);
    bool ok = true;
    for (size_t i = 0; ok && i < done; i++) {
        bool there =
            is_alloc(x, i) && x->c->events[i] == MT_CATEGORY_GRADIENT && x->r->partner[i] >= done;
        ok = !there || mt_count_key(&x->gradients, x->r->events[i].size);
        x->gradient_bytes += there ? x->r->events[i].size : 0;
    }
    return ok;
}

/* Things of one kind that may match the gradients, by their sizes. */
struct match {
    struct mt_idmap sizes;
    uint64_t bytes; /* of gradients that have a partner among them */
};

static bool match_add(struct match *m, const struct weighing *x, uint64_t size)
{
    const uint32_t *want = mt_idmap_find(&x->gradients, size);
    const uint32_t *have = mt_idmap_find(&m->sizes, size);
    if (!want) {
        return true;
    }
    m->bytes += !have || *have < *want ? size : 0;
    return mt_count_key(&m->sizes, size);
}

/* Nine tenths: parameters that got no gradient, or an odd buffer, do not spoil it. */
static bool match_holds(const struct match *m, const struct weighing *x)
{
    return x->gradient_bytes && m->bytes >= x->gradient_bytes / 10 * 9;
}

/* How the n-th thing of a size that has `want` gradients is called: a parameter, two moments. */
static enum mt_category call_nth(uint32_t n, uint32_t want)
{
    return n < want       ? MT_CATEGORY_PARAMETER
           : n < 3 * want ? MT_CATEGORY_OPTIMIZER_STATE
                          : MT_CATEGORY_UNKNOWN;
}

static bool sort_ghosts(struct weighing *x)
{
    struct match m = {0};
    struct mt_idmap used = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < x->r->ghosts.n; i++) {
        bool open = x->c->ghosts[i] == MT_CATEGORY_UNKNOWN;
        ok = !open || match_add(&m, x, x->r->ghosts.v[i].size);
    }
    for (size_t i = 0; ok && match_holds(&m, x) && i < x->r->ghosts.n; i++) {
        uint64_t size = x->r->ghosts.v[i].size;
        const uint32_t *want = mt_idmap_find(&x->gradients, size);
        if (x->c->ghosts[i] == MT_CATEGORY_UNKNOWN && want) {
            const uint32_t *n = mt_idmap_find(&used, size);
            x->c->ghosts[i] = (unsigned char)call_nth(n ? *n : 0, *want);
            bool first = x->c->ghosts[i] == MT_CATEGORY_PARAMETER;
            x->c->ghosts_sure[i] = first ? MT_SURE_MEDIUM : MT_SURE_LOW;
            ok = mt_count_key(&used, size);
        }
    }
    mt_idmap_release(&m.sizes);
    mt_idmap_release(&used);
    return ok;
}

/* Whether nothing is known of it, and it is alive when the model is called next. */
static bool is_open(const struct weighing *x, size_t i, bool before_backward)
{
    if (!is_alloc(x, i) || is_fixed(x, i) || x->c->events[i] != MT_CATEGORY_UNKNOWN ||
        role_at(x, i) != MT_ROLE_OTHER || (i < x->first_backward) != before_backward) {
        return false;
    }
    size_t k = mt_pass_after(&x->passes, (uint32_t)i);
    return x->r->partner[i] == MT_NEVER ||
           (k < x->passes.n && x->r->partner[i] > x->passes.v[k].end);
}

/* Made by functions of the user's: what matches the gradients before the first backward pass are
 * parameters, what matches them after it the state of an optimizer. */
static bool sort_unnamed(struct weighing *x, bool before_backward)
{
    struct match m = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < x->r->n; i++) {
        ok = !is_open(x, i, before_backward) || match_add(&m, x, x->r->events[i].size);
    }
    enum mt_category name = before_backward ? MT_CATEGORY_PARAMETER : MT_CATEGORY_OPTIMIZER_STATE;
    for (size_t i = 0; ok && match_holds(&m, x) && i < x->r->n; i++) {
        if (is_open(x, i, before_backward) && mt_idmap_find(&x->gradients, x->r->events[i].size)) {
            set(x, i, name, MT_SURE_MEDIUM);
        }
    }
    mt_idmap_release(&m.sizes);
    return ok;
}

/* ---- buffers ---- */

/* The line of nn.Module._apply that asks for memory: of two that do, the first moves parameters,
 * the last buffers. 0: the stack has none. */
static int32_t line_of_apply(const struct mt_snapshot *s, uint32_t stack)
{
    for (uint32_t k = 0; k < s->stacks[stack].n; k++) { /* from inside */
        const struct mt_frame *f = &s->frames[s->stack_frames[s->stacks[stack].first + k]];
        if (mt_str_equal(mt_frame_function(s, f), MT_STR("_apply")) &&
            mt_path_contains(mt_frame_path(s, f), MT_STR("torch/nn/modules/module.py"))) {
            return f->line;
        }
    }
    return 0;
}

static bool may_be_buffer(const struct weighing *x, size_t i)
{
    return is_alloc(x, i) && !is_fixed(x, i) && x->c->events[i] == MT_CATEGORY_PARAMETER;
}

static bool find_buffers(struct weighing *x)
{
    const struct mt_snapshot *s = x->r->snapshot;
    int32_t *lines = mt_mem_zalloc(s->n_stacks ? s->n_stacks : 1, sizeof *lines), least = INT32_MAX;
    for (size_t i = 0; lines && i < x->r->n; i++) {
        uint32_t stack = x->r->events[i].stack;
        if (may_be_buffer(x, i) && !lines[stack]) {
            lines[stack] = line_of_apply(s, stack);
            least = lines[stack] && lines[stack] < least ? lines[stack] : least;
        }
    }
    for (size_t i = 0; lines && i < x->r->n; i++) {
        if (may_be_buffer(x, i) && lines[x->r->events[i].stack] > least) {
            set(x, i, MT_CATEGORY_BUFFER, MT_SURE_MEDIUM);
        }
    }
    mt_mem_free(lines);
    return lines != NULL;
}

/* ---- inputs ---- */

/* What stands above the call of the model in the same functions and dies with its step. */
static void find_inputs(struct weighing *x)
{
    for (size_t k = 0; k < x->passes.n; k++) {
        uint32_t least = k ? x->passes.v[k - 1].end : 0;
        uint32_t head = k ? mt_pass_head(&x->passes, k, &x->roles, least) : x->passes.v[k].begin;
        uint32_t after = k + 1 < x->passes.n ? x->passes.v[k + 1].end : MT_NEVER;
        for (uint32_t i = head; i < x->passes.v[k].begin; i++) {
            bool dies = x->r->partner[i] != MT_NEVER ? x->r->partner[i] < after : after == MT_NEVER;
            if (is_alloc(x, i) && !is_fixed(x, i) && dies &&
                x->c->events[i] == MT_CATEGORY_UNKNOWN) {
                set(x, i, MT_CATEGORY_INPUT, MT_SURE_MEDIUM);
            }
        }
    }
}

static enum mt_status weigh(struct weighing *x, struct mt_error *err)
{
    MT_TRY(mt_stack_roles_init(&x->roles, x->r, err));
    MT_TRY(mt_passes_find(&x->passes, &x->roles, err));
    if (!apply_lifetimes(x)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(mark_workspaces(x, err));
    bool ok = find_buffers(x);
    if (ok && (x->unknown || x->r->ghosts.n)) {
        find_inputs(x);
        ok = collect_gradients(x) && sort_ghosts(x) && sort_unnamed(x, true) &&
             sort_unnamed(x, false);
        mark_old_workspaces(x);
    }
    return ok ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_categories_weigh(struct mt_categories *c, struct mt_error *err)
{
    struct weighing x = {.c = c, .r = c->replay, .first_backward = MT_NEVER};
    enum mt_status status = weigh(&x, err);
    mt_stack_roles_release(&x.roles);
    mt_vec_release(&x.passes);
    mt_idmap_release(&x.lasting);
    mt_idmap_release(&x.paired);
    mt_idmap_release(&x.gradients);
    return status;
}
