/* SPDX-License-Identifier: MIT */
/*
 * One failure is printed many times: by the library, by the worker, by the launcher, twice by a
 * logger; and in parts (ggml tells the bytes in a second line, TensorFlow its table a thousand
 * lines later). An entry takes in whatever tells the same numbers, and the parts that tell others
 * as long as none contradicts.
 */
#include "triage/log/incidents.h"

/* Lines within which two messages of one process may be parts of one failure. */
#define PART_LINES 60

void mt_incidents_release(struct mt_incidents *l)
{
    mt_vec_release(&l->list);
}

/* Printed with two digits: 9866.00 MiB and 10345253120 are the same. */
static bool alike(uint64_t a, uint64_t b)
{
    uint64_t larger = a > b ? a : b;
    return larger - (a > b ? b : a) <= larger / 200;
}

static bool contradict(const struct mt_oom_numbers *a, const struct mt_oom_numbers *b)
{
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        if (mt_oom_has(a, f) && mt_oom_has(b, f) && !alike(a->v[f], b->v[f])) {
            return true;
        }
    }
    return false;
}

static bool same_numbers(const struct mt_oom_numbers *a, const struct mt_oom_numbers *b)
{
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        if (mt_oom_has(a, f) && mt_oom_has(b, f) && a->v[f] != b->v[f]) {
            return false;
        }
    }
    return a->present == b->present ||
           (a->present && b->present &&
            ((a->present & b->present) == a->present || (a->present & b->present) == b->present));
}

static bool same_place(const struct mt_incident *a, const struct mt_incident *b)
{
    return (a->rank < 0 || b->rank < 0 || a->rank == b->rank) &&
           (a->device < 0 || b->device < 0 || a->device == b->device);
}

/* The same message once more. */
static bool is_repetition(const struct mt_incident *old, const struct mt_incident *fresh)
{
    bool tail = !fresh->numbers.present && strcmp(old->format, fresh->format) == 0 &&
                fresh->line - old->last_line <= 2 * PART_LINES; /* of the same traceback */
    if (tail && old->file == fresh->file && old->origin == fresh->origin &&
        same_place(old, fresh) && old->numbers.present && !old->recovered) {
        return true;
    }
    return old->file == fresh->file && old->kind == fresh->kind &&
           strcmp(old->framework, fresh->framework) == 0 && same_place(old, fresh) &&
           same_numbers(&old->numbers, &fresh->numbers) &&
           (old->numbers.present || strcmp(old->format, fresh->format) == 0);
}

static bool is_library_of(const struct mt_incident *a, const struct mt_incident *b)
{
    return strcmp(a->framework, b->framework) == 0 || strcmp(a->framework, "cuda") == 0 ||
           strcmp(b->framework, "cuda") == 0;
}

/* Another part of the same failure. */
static bool is_part(const struct mt_incident *old, const struct mt_incident *fresh)
{
    bool far_table =
        strcmp(old->framework, "tensorflow") == 0 && !mt_oom_has(&old->numbers, MT_OOM_TOTAL);
    return old->file == fresh->file && old->kind != MT_KIND_SOFT && fresh->kind != MT_KIND_SOFT &&
           mt_kind_is_oom(old->kind) && mt_kind_is_oom(fresh->kind) && is_library_of(old, fresh) &&
           old->origin == fresh->origin && same_place(old, fresh) && !old->recovered &&
           (fresh->line - old->last_line <= PART_LINES || far_table) &&
           !contradict(&old->numbers, &fresh->numbers) &&
           (old->numbers.present & fresh->numbers.present) != fresh->numbers.present;
}

static void merge(struct mt_incident *old, const struct mt_incident *fresh)
{
    for (unsigned f = 0; f < MT_OOM_FIELD_COUNT; f++) {
        if (!mt_oom_has(&old->numbers, f) && mt_oom_has(&fresh->numbers, f)) {
            mt_oom_set(&old->numbers, f, fresh->numbers.v[f]);
            old->numbers.derived |= fresh->numbers.derived & 1u << f;
        }
    }
    for (size_t i = 0; i < fresh->n_processes && old->n_processes == 0; i++) {
        old->processes[i] = fresh->processes[i];
    }
    old->n_processes = old->n_processes ? old->n_processes : fresh->n_processes;
    old->own_process = old->own_process ? old->own_process : fresh->own_process;
    old->device = old->device < 0 ? fresh->device : old->device;
    old->rank = old->rank < 0 ? fresh->rank : old->rank;
    old->last_line = fresh->last_line;
    old->truncated = old->truncated && fresh->truncated;
    old->doubtful = old->doubtful && fresh->doubtful;
    old->recovered |= fresh->recovered;
    old->expandable_hint |= fresh->expandable_hint;
    old->whole_is_limit |= fresh->whole_is_limit;
    if (fresh->kind == MT_KIND_LIMIT || strcmp(old->framework, "cuda") == 0) {
        old->kind = fresh->kind;
        old->format = fresh->format;
        old->framework = fresh->framework;
    }
}

bool mt_incidents_add(struct mt_incidents *l, const struct mt_incident *incident, size_t *index)
{
    for (size_t i = l->list.n; i-- > 0;) {
        struct mt_incident *old = &l->list.v[i];
        bool again = is_repetition(old, incident);
        if (again || is_part(old, incident)) {
            merge(old, incident);
            old->repeats += again;
            *index = i;
            return true;
        }
    }
    *index = l->list.n;
    if (l->list.n < MT_INCIDENTS_MAX) {
        return mt_vec_push(&l->list, *incident);
    }
    l->dropped++;
    *index = SIZE_MAX;
    return true;
}
