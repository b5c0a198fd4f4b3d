/* SPDX-License-Identifier: MIT */
/*
 * Calls of a model. The rule was made on 28 recordings of known programs and tried on 21 single
 * passes of public models, all of which an earlier rule (what repeats most often) took for as many
 * steps as the model has layers. What repeats outside of the outermost module's call is a loop of
 * the program, what repeats inside is a layer.
 */
#include "heap/findings/passes.h"

#include "support/hash.h"
#include "support/mem.h"

/* A function of the program that calls a module. */
struct site {
    uint64_t key;
    uint32_t stack;       /* the first seen */
    uint32_t allocs;      /* made there */
    uint32_t runs;        /* of allocations with nothing between */
    uint32_t kept;        /* of them, alive when the next backward pass begins */
    uint32_t first, last; /* events */
};

struct search {
    const struct mt_stack_roles *roles;
    const struct mt_snapshot *s;
    const struct mt_replay *r;
    struct mt_idmap ids; /* key to index */
    MT_VEC(struct site) sites;
};

static struct site *site_at(struct search *x, const struct mt_stack_role *role, size_t event)
{
    uint32_t *found = mt_idmap_find(&x->ids, role->site);
    if (found) {
        return &x->sites.v[*found];
    }
    struct site fresh = {
        .key = role->site, .stack = x->r->events[event].stack, .first = (uint32_t)event};
    if (!mt_idmap_put(&x->ids, role->site, (uint32_t)x->sites.n) ||
        !mt_vec_push(&x->sites, fresh)) {
        return NULL;
    }
    return &x->sites.v[x->sites.n - 1];
}

static bool collect_sites(struct search *x)
{
    uint64_t before = 0;
    for (size_t i = 0; i < x->r->n; i++) {
        if (!mt_event_allocates(&x->r->events[i])) {
            continue;
        }
        const struct mt_stack_role *role = &x->roles->of[x->r->events[i].stack];
        struct site *site = role->role == MT_ROLE_MODULE ? site_at(x, role, i) : NULL;
        if (role->role == MT_ROLE_MODULE && !site) {
            return false;
        }
        if (site) {
            site->allocs++;
            site->runs += before != site->key;
            site->last = (uint32_t)i;
        }
        before = site ? site->key : 0;
    }
    return true;
}

/* From the end to the beginning: what is alive when the next backward pass begins is kept for it.
 */
static void count_kept(struct search *x)
{
    uint32_t backward = MT_NEVER; /* the next event of one */
    for (size_t i = x->r->n; i-- > 0;) {
        uint32_t stack = x->r->events[i].stack;
        if (!mt_event_allocates(&x->r->events[i])) {
            continue;
        }
        if (mt_stack_role_of(x->roles, stack) == MT_ROLE_BACKWARD) {
            backward = (uint32_t)i;
        }
        const struct mt_stack_role *role = &x->roles->of[stack];
        if (role->role == MT_ROLE_MODULE && backward != MT_NEVER && x->r->partner[i] > backward) {
            x->sites.v[*mt_idmap_find(&x->ids, role->site)].kept++;
        }
    }
}

/* A program that learns is in its training, however much it evaluates or generates between. */
static const struct site *busiest(const struct search *x)
{
    const struct site *best = NULL;
    for (size_t i = 0; i < x->sites.n; i++) {
        const struct site *k = &x->sites.v[i];
        bool more =
            best && (k->kept != best->kept ? k->kept > best->kept : k->allocs > best->allocs);
        best = !best || more ? k : best;
    }
    return best;
}

/* Of the layers that the program calls itself, the first of the outermost loop: the call that
 * stands furthest above the busiest, returns, and reaches over half of what that one spans. */
static const struct site *outermost(const struct search *x, const struct site *busy)
{
    const struct site *best = busy;
    uint32_t half = (busy->last - busy->first) / 2;
    for (size_t i = 0; i < x->sites.n; i++) {
        const struct site *k = &x->sites.v[i];
        if (k->runs >= 2 && k->last - k->first >= half &&
            mt_stack_order(x->s, k->stack, best->stack, UINT32_MAX) < 0) {
            best = k;
        }
    }
    return best;
}

/* The first and the last line that allocate in the function inside of the call. */
struct span {
    int32_t low, high;
};

static struct span span_of(const struct search *x, const struct site *site)
{
    const struct mt_frame *f = &x->s->frames[x->roles->of[site->stack].inside];
    struct span span = {f->line, f->line};
    for (uint32_t i = 1; i < x->s->n_stacks; i++) {
        const struct mt_stack_role *role = &x->roles->of[i];
        if (role->role == MT_ROLE_MODULE && role->site == site->key) {
            int32_t line = x->s->frames[role->inside].line;
            span.low = line < span.low ? line : span.low;
            span.high = line > span.high ? line : span.high;
        }
    }
    return span;
}

static bool cut(const struct search *x, const struct site *site, struct mt_passes *out)
{
    struct span span = span_of(x, site);
    uint64_t before = 0, path = 0;
    int32_t line_before = 0;
    for (size_t i = site->first; i <= site->last; i++) {
        if (!mt_event_allocates(&x->r->events[i])) {
            continue;
        }
        const struct mt_stack_role *role = &x->roles->of[x->r->events[i].stack];
        uint64_t key = role->role == MT_ROLE_MODULE ? role->site : 0;
        int32_t line = key == site->key ? x->s->frames[role->inside].line : 0;
        bool again = span.low < span.high && line == span.low && line_before == span.high;
        struct mt_pass pass = {(uint32_t)i, (uint32_t)i + 1};
        bool begins = before != key || again || role->path != path;
        if (key == site->key && begins && !mt_vec_push(out, pass)) {
            return false;
        }
        if (key == site->key) {
            out->v[out->n - 1].end = (uint32_t)i + 1;
            line_before = line;
            path = role->path;
        }
        /* What cuBLAS takes for itself inside of a call does not end it. */
        before = role->role == MT_ROLE_WORKSPACE ? before : key;
    }
    return true;
}

/* Layers called by the program itself: the rounds reach from one to the next. */
static void close_rounds(const struct search *x, struct mt_passes *out)
{
    for (size_t i = 0; i < out->n; i++) {
        uint32_t end = i + 1 < out->n ? out->v[i + 1].begin : (uint32_t)x->r->n;
        out->v[i].end = end;
    }
}

enum mt_status mt_passes_find(struct mt_passes *out, const struct mt_stack_roles *roles,
                              struct mt_error *err)
{
    struct search x = {.roles = roles, .r = roles->replay, .s = roles->replay->snapshot};
    bool ok = collect_sites(&x);
    if (ok) {
        count_kept(&x);
    }
    const struct site *site = ok ? busiest(&x) : NULL;
    if (site && roles->of[site->stack].leaf) {
        const struct site *outer = outermost(&x, site);
        out->of_layers = true;
        ok = cut(&x, outer, out);
        if (outer != site) {
            close_rounds(&x, out);
        }
    } else if (site) {
        ok = cut(&x, site, out);
    }
    mt_idmap_release(&x.ids);
    mt_vec_release(&x.sites);
    return ok ? MT_OK : mt_fail_nomem(err);
}

size_t mt_pass_after(const struct mt_passes *passes, uint32_t event)
{
    size_t low = 0, high = passes->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (passes->v[mid].begin < event) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

bool mt_pass_returns(const struct mt_passes *passes, size_t i, const struct mt_stack_roles *roles)
{
    const struct mt_replay *r = roles->replay;
    uint32_t before = r->events[passes->v[i - 1].begin].stack;
    uint32_t stack = r->events[passes->v[i].begin].stack;
    return mt_stack_order(r->snapshot, before, stack, roles->of[stack].n_outer) >= 0;
}

/* How an allocation before the call of a model belongs to the round of the loop that it is in. */
enum place { PLACE_ELSEWHERE, PLACE_SAME_LINE, PLACE_ABOVE };

static enum place place_of(const struct mt_stack_roles *roles, uint32_t stack, uint32_t call)
{
    const struct mt_snapshot *s = roles->replay->snapshot;
    if (mt_stack_role_of(roles, stack) != MT_ROLE_OTHER) {
        return PLACE_ELSEWHERE;
    }
    bool above = mt_stack_order(s, stack, call, UINT32_MAX) < 0;
    return above ? PLACE_ABOVE : mt_stack_leads(s, stack, call) ? PLACE_SAME_LINE : PLACE_ELSEWHERE;
}

uint32_t mt_pass_head(const struct mt_passes *passes, size_t i, const struct mt_stack_roles *roles,
                      uint32_t least)
{
    const struct mt_replay *r = roles->replay;
    uint32_t at = passes->v[i].begin, head = at, reached = at;
    uint32_t stack = r->events[at].stack;
    while (at > least) {
        at--;
        if (!mt_event_allocates(&r->events[at])) {
            continue;
        }
        enum place place = place_of(roles, r->events[at].stack, stack);
        if (place == PLACE_ELSEWHERE) {
            /* What the line of the call allocates behind the backward pass is for the next call;
             * else it may be of the one before. */
            enum mt_role role = mt_stack_role_of(roles, r->events[at].stack);
            bool over = role == MT_ROLE_BACKWARD || role == MT_ROLE_OPTIMIZER;
            return over ? reached : head;
        }
        reached = at;
        head = place == PLACE_ABOVE ? at : head;
    }
    return head;
}
