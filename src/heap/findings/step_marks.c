/* SPDX-License-Identifier: MIT */
/* Three kinds of evidence for the end of a step, the surest first. */
#include "heap/findings/step_marks.h"

#include "support/mem.h"

#include "heap/findings/passes.h"

/* The pass that event i comes after; passes->n: none. */
static size_t pass_before(const struct mt_passes *passes, size_t event)
{
    size_t k = mt_pass_after(passes, (uint32_t)event);
    return k ? k - 1 : passes->n;
}

static size_t count_marks(const bool *after, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        found += after[i];
    }
    return found;
}

static void mark(bool *after, const struct mt_passes *passes, size_t event)
{
    size_t k = pass_before(passes, event);
    if (k < passes->n) {
        after[k] = true;
    }
}

static void by_annotations(bool *after, const struct mt_passes *passes, const struct mt_replay *r,
                           const struct mt_period_names *names, uint32_t id)
{
    for (size_t i = 0; i < r->snapshot->n_annotations; i++) {
        if (mt_period_name_is(names, i, id)) {
            mark(after, passes, mt_event_at_time(r, r->snapshot->annotations[i].time_us));
        }
    }
}

static void by_stacks(bool *after, const struct mt_passes *passes,
                      const struct mt_stack_roles *roles)
{
    const struct mt_replay *r = roles->replay;
    for (size_t i = 0; i < r->n; i++) {
        if (mt_event_allocates(&r->events[i]) &&
            roles->of[r->events[i].stack].role == MT_ROLE_OPTIMIZER) {
            mark(after, passes, i);
        }
    }
}

/* Bytes of what the backward part leaves behind, by the pass after which they are freed. */
static uint64_t *freed_gradients(const struct mt_passes *passes, const struct mt_stack_roles *roles)
{
    const struct mt_replay *r = roles->replay;
    uint64_t *freed = mt_mem_zalloc(passes->n, sizeof *freed);
    uint32_t next_other = MT_NEVER; /* the next allocation of another part */
    for (size_t i = freed ? r->n : 0; i-- > 0;) {
        if (!mt_event_allocates(&r->events[i])) {
            continue;
        }
        if (mt_stack_role_of(roles, r->events[i].stack) != MT_ROLE_BACKWARD) {
            next_other = (uint32_t)i;
        } else if (r->partner[i] != MT_NEVER && r->partner[i] > next_other) {
            size_t k = pass_before(passes, r->partner[i]);
            freed[k < passes->n ? k : 0] += r->events[i].size;
        }
    }
    return freed;
}

static bool by_gradients(bool *after, const struct mt_passes *passes,
                         const struct mt_stack_roles *roles)
{
    uint64_t *freed = freed_gradients(passes, roles), most = 0;
    for (size_t i = 0; freed && i < passes->n; i++) {
        most = freed[i] > most ? freed[i] : most;
    }
    for (size_t i = 0; freed && i < passes->n; i++) {
        after[i] = most && freed[i] >= most / 2;
    }
    mt_mem_free(freed);
    return freed != NULL;
}

/* What is only seen where memory is asked for or given back must come evenly to be all of it: an
 * optimizer that works in place allocates in its first step only. */
static bool are_even(const bool *after, size_t n)
{
    size_t found = count_marks(after, n), longest = 0, run = 0;
    for (size_t i = 0; i < n; i++) {
        run++;
        longest = run > longest ? run : longest;
        run = after[i] ? 0 : run;
    }
    return found >= 2 && longest <= 2 * ((n + found - 1) / found);
}

bool mt_step_marks(bool *after, bool *together, const struct mt_passes *passes,
                   const struct mt_stack_roles *roles, const struct mt_period_names *names,
                   uint32_t optimizer)
{
    if (optimizer) {
        by_annotations(after, passes, roles->replay, names, optimizer);
        *together = count_marks(after, passes->n) > 0;
        return true;
    }
    by_stacks(after, passes, roles);
    *together = are_even(after, passes->n);
    if (!*together) {
        if (!by_gradients(after, passes, roles)) {
            return false;
        }
        *together = are_even(after, passes->n);
    }
    return true;
}
