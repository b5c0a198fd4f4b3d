/* SPDX-License-Identifier: MIT */
#include "heap/stacks/workspaces.h"

#include "heap/findings/counting.h"
#include "support/hash.h"
#include "support/mem.h"
#include "support/vec.h"
#include "torch/torch_rules.h"

struct search {
    struct mt_events_list *out;
    const struct mt_stack_roles *roles;
    const struct mt_passes *passes;
    const struct mt_replay *r;
    const bool *fixed;
};

static bool is_alloc(const struct search *x, size_t i)
{
    return mt_event_allocates(&x->r->events[i]);
}

bool mt_workspace_size(uint64_t size)
{
    return size == MT_TORCH_WORKSPACE_HOPPER || size == MT_TORCH_WORKSPACE;
}

enum { LT_NEAR = 8 /* events between the workspaces of one call */ };

/* Never freed, by stack, size and stream; of those of before the last call of the model alone too.
 */
struct kept {
    struct mt_idmap all, old;
    uint32_t last_pass; /* event */
};

static uint64_t twin_key(const struct mt_event *e)
{
    return mt_hash_mix(e->size, (uint64_t)e->stack << 16 | e->stream);
}

static bool collect_kept(struct kept *k, const struct search *x)
{
    bool ok = true;
    k->last_pass = x->passes->n ? x->passes->v[x->passes->n - 1].begin : 0;
    for (size_t i = 0; ok && i < x->r->n; i++) {
        const struct mt_event *e = &x->r->events[i];
        if (is_alloc(x, i) && x->r->partner[i] == MT_NEVER &&
            (mt_workspace_size(e->size) || e->size == MT_TORCH_WORKSPACE_LT)) {
            ok = mt_count_key(&k->all, twin_key(e)) &&
                 (i >= k->last_pass || mt_count_key(&k->old, twin_key(e)));
        }
    }
    return ok;
}

/* Whether another allocation of that stack and size is alive to the end as well, so that it may be
 * the program's own. What a step leaves behind at the end is no twin of what outlived steps. */
static bool has_twin(const struct kept *k, const struct search *x, size_t i)
{
    const struct mt_idmap *of = i < k->last_pass ? &k->old : &k->all;
    const uint32_t *n = mt_idmap_find(of, twin_key(&x->r->events[i]));
    return n && *n > 1;
}

/* The small one of cuBLASLt, asked for within the same call. */
static bool add_lt(struct search *x, const struct kept *kept, size_t i)
{
    size_t from = i > LT_NEAR ? i - LT_NEAR : 0;
    for (size_t k = from; k < x->r->n && k <= i + LT_NEAR; k++) {
        const struct mt_event *e = &x->r->events[k];
        if (is_alloc(x, k) && e->size == MT_TORCH_WORKSPACE_LT &&
            e->stack == x->r->events[i].stack && x->r->partner[k] == MT_NEVER &&
            !has_twin(kept, x, k)) {
            return mt_vec_push(x->out, (uint32_t)k);
        }
    }
    return true;
}

static bool add_by_size(struct search *x, const struct kept *kept, struct mt_idmap *seen, size_t i)
{
    const struct mt_event *e = &x->r->events[i];
    enum mt_role role = mt_stack_role_of(x->roles, e->stack);
    uint64_t key = (uint64_t)e->stream << 8 | (uint64_t)role;
    bool may = (role == MT_ROLE_MODULE || role == MT_ROLE_BACKWARD) && mt_workspace_size(e->size) &&
               x->r->partner[i] == MT_NEVER;
    if (!may || mt_idmap_find(seen, key) || has_twin(kept, x, i)) {
        return true;
    }
    return mt_idmap_put(seen, key, 1) && mt_vec_push(x->out, (uint32_t)i) && add_lt(x, kept, i);
}

static bool find(struct search *x, const struct kept *kept, struct mt_idmap *seen)
{
    bool ok = true;
    for (size_t i = 0; ok && i < x->r->n; i++) {
        uint32_t stack = x->r->events[i].stack;
        if (!is_alloc(x, i) || (x->fixed && x->fixed[stack])) {
            continue;
        }
        bool told = mt_stack_role_of(x->roles, stack) == MT_ROLE_WORKSPACE;
        ok = told ? mt_vec_push(x->out, (uint32_t)i) : add_by_size(x, kept, seen, i);
    }
    return ok;
}

enum mt_status mt_workspaces_find(struct mt_events_list *out, const struct mt_stack_roles *roles,
                                  const struct mt_passes *passes, const bool *fixed,
                                  struct mt_error *err)
{
    struct search x = {
        .out = out, .roles = roles, .passes = passes, .r = roles->replay, .fixed = fixed};
    struct mt_idmap seen = {0}; /* stream and role */
    struct kept kept = {.last_pass = 0};
    bool ok = collect_kept(&kept, &x) && find(&x, &kept, &seen);
    mt_idmap_release(&seen);
    mt_idmap_release(&kept.all);
    mt_idmap_release(&kept.old);
    return ok ? MT_OK : mt_fail_nomem(err);
}
