/* SPDX-License-Identifier: MIT */
/* Phases by the roles of stacks; what is evaluation is known only when a step is over. */
#include "heap/findings/phases.h"

#include "support/mem.h"

static const char *const WORDS[MT_PHASE_COUNT] = {
#define X(name, word) [MT_PHASE_##name] = word,
    MT_PHASE_MAP(X)
#undef X
};

const char *mt_phase_name(enum mt_phase p)
{
    return WORDS[p];
}

/* The phase after an allocation of that role. */
static enum mt_phase phase_after(enum mt_phase before, enum mt_role role)
{
    switch (role) {
    case MT_ROLE_MODULE: return MT_PHASE_FORWARD;
    case MT_ROLE_BACKWARD: return MT_PHASE_BACKWARD;
    case MT_ROLE_OPTIMIZER: return MT_PHASE_OPTIMIZER;
    case MT_ROLE_WORKSPACE: return before;
    case MT_ROLE_OTHER: return before == MT_PHASE_FORWARD ? before : MT_PHASE_OTHER;
    default: return MT_PHASE_OTHER;
    }
}

static void first_guess(unsigned char *phases, const struct mt_stack_roles *roles,
                        const struct mt_periods *p)
{
    const struct mt_replay *r = roles->replay;
    enum mt_phase now = MT_PHASE_OTHER;
    for (size_t i = 0, k = 0; i < r->n; i++) {
        if (k < p->bounds.n && i == p->bounds.v[k]) {
            now = MT_PHASE_OTHER;
            k++;
        }
        if (mt_event_allocates(&r->events[i])) {
            now = phase_after(now, mt_stack_role_of(roles, r->events[i].stack));
        }
        phases[i] = (unsigned char)now;
    }
}

/* Events [from, to) are one step: forward behind its last backward event is evaluation, and all of
 * it where it has none. */
static void find_evaluation(unsigned char *phases, size_t from, size_t to, bool last)
{
    size_t end = to; /* of what may be evaluation: behind the last backward event */
    while (end > from && phases[end - 1] != MT_PHASE_BACKWARD) {
        end--;
    }
    if (end == from && last) {
        return;
    }
    for (size_t i = end; i < to; i++) {
        phases[i] = phases[i] == MT_PHASE_FORWARD ? (unsigned char)MT_PHASE_EVALUATION : phases[i];
    }
}

/* A run of forward events in one function of the program, read from its end. */
struct forward_run {
    size_t to;     /* behind its last event */
    uint64_t site; /* 0: not known yet */
    bool kept;     /* something of it is alive when the next backward pass begins */
};

static void close_run(struct forward_run *run, unsigned char *phases, size_t from, bool learned)
{
    for (size_t i = from; run->site && !run->kept && learned && i < run->to; i++) {
        phases[i] = MT_PHASE_EVALUATION;
    }
    *run = (struct forward_run){.to = from};
}

/* Passes of which nothing is alive when the next backward pass begins: whatever stands around them,
 * nothing is learned from them. */
static void find_unkept(unsigned char *phases, const struct mt_stack_roles *roles,
                        const struct mt_passes *passes)
{
    const struct mt_replay *r = roles->replay;
    size_t k = passes->n;
    uint32_t backward = MT_NEVER; /* the next allocation of one */
    struct forward_run run = {.to = r->n};
    for (size_t i = r->n; i-- > 0;) {
        const struct mt_stack_role *role = &roles->of[r->events[i].stack];
        bool alloc = mt_event_allocates(&r->events[i]), forward = phases[i] == MT_PHASE_FORWARD;
        uint64_t site = alloc && role->role == MT_ROLE_MODULE ? role->site : run.site;
        bool begins = k && passes->v[k - 1].begin == i + 1;
        k -= begins;
        if (!forward || begins || (run.site && site != run.site)) {
            close_run(&run, phases, i + 1, backward != MT_NEVER);
        }
        if (forward) {
            run.site = site;
            run.kept |= alloc && r->partner[i] > backward;
        }
        backward = alloc && phases[i] == MT_PHASE_BACKWARD ? (uint32_t)i : backward;
    }
    close_run(&run, phases, 0, backward != MT_NEVER);
}

unsigned char *mt_phases_of(const struct mt_stack_roles *roles, const struct mt_periods *periods)
{
    size_t n = roles->replay->n;
    unsigned char *phases = mt_mem_alloc(n ? n : 1, 1);
    if (!phases) {
        return NULL;
    }
    first_guess(phases, roles, periods);
    for (size_t k = 0; periods->learns && k < periods->bounds.n; k++) {
        bool last = k + 1 == periods->bounds.n;
        find_evaluation(phases, periods->bounds.v[k], last ? n : periods->bounds.v[k + 1], last);
    }
    if (periods->learns) {
        find_unkept(phases, roles, &periods->passes);
    }
    return phases;
}
