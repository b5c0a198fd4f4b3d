/* SPDX-License-Identifier: MIT */
/*
 * Segments give every owner's bytes, the trace its peak; then come what the watcher measured beside
 * its allocations (memtool-snapshot(5), WHAT MEMTOOL ADDS), what nvidia-smi says of other
 * processes, and last what none of it explains.
 */
#include "heap/sums/account_finder.h"

#include <stdlib.h>

#include "support/checked.h"
#include "heap/walk/query.h"

#include "heap/sums/own_key.h"

/* ---- rows ---- */

/* The row of an owner, made when new; UINT32_MAX when out of memory. */
static uint32_t row_of(struct mt_account_finder *f, struct mt_owner_name owner)
{
    struct mt_account *a = f->a;
    uint32_t name = mt_intern_put(&f->names, owner.name.p, owner.name.n);
    uint64_t key = (uint64_t)owner.kind << 32 | name;
    const uint32_t *known = name ? mt_idmap_find(&f->by_name, key) : NULL;
    if (known || !name) {
        return known ? *known : UINT32_MAX;
    }
    const struct mt_owner fresh = {.kind = owner.kind, .name = mt_intern_get(&f->names, name)};
    const struct mt_tally zero = {0};
    uint32_t row = (uint32_t)a->rows.n;
    bool added = mt_idmap_put(&f->by_name, key, row) && mt_vec_push(&a->rows, fresh) &&
                 mt_vec_push(&f->tallies, zero);
    return added ? row : UINT32_MAX;
}

/* In mode cache, what the watcher counted for a library passed the cache by. The program's own
 * calls do both; most of them are served. */
static bool passed_by(const struct mt_account_finder *f, struct mt_owner_name owner)
{
    uint32_t n;
    const struct mt_value *list = mt_own_key_list(f->s, f->own, "libraries", &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_value *path = mt_own_key_get(f->s, &list[i], "library");
        struct mt_owner_name one = {MT_OWNER_UNKNOWN, MT_STR("")};
        if (path && path->kind == MT_VALUE_STR) {
            one = mt_owner_of_file(mt_snapshot_str(f->s, path->u.id));
        }
        if (one.kind == MT_OWNER_LIBRARY && one.kind == owner.kind &&
            mt_str_equal(one.name, owner.name)) {
            return true;
        }
    }
    return false;
}

static struct mt_owner_name owner_of(const struct mt_account_finder *f, uint32_t stack)
{
    const struct mt_recorded *r = &f->a->recorded;
    if (f->by_caller) {
        struct mt_owner_name owner = mt_owner_of_stack(f->s, stack);
        if (r->watched || passed_by(f, owner)) {
            return owner;
        }
    }
    return (struct mt_owner_name){MT_OWNER_ALLOCATOR, r->plain || r->cached
                                                          ? MT_STR("memtool's caching allocator")
                                                          : MT_STR("PyTorch's caching allocator")};
}

/* Most come in runs of one stack. */
uint32_t mt_account_row(struct mt_account_finder *f, uint32_t stack)
{
    if (f->last_row != UINT32_MAX && stack == f->last_stack) {
        return f->last_row;
    }
    const uint32_t *known = mt_idmap_find(&f->by_stack, stack);
    uint32_t row = known ? *known : row_of(f, owner_of(f, stack));
    if (row == UINT32_MAX || (!known && !mt_idmap_put(&f->by_stack, stack, row))) {
        return UINT32_MAX;
    }
    f->last_stack = stack;
    f->last_row = row;
    return row;
}

void mt_account_add_bytes(struct mt_account *a, struct mt_owner *row, uint64_t bytes)
{
    row->bytes = mt_add_sat(row->bytes, bytes);
    a->seen = mt_add_sat(a->seen, bytes);
}

bool mt_account_add_sum(struct mt_account_finder *f, enum mt_owner_kind kind, struct mt_str name,
                        uint64_t bytes)
{
    uint32_t row = bytes ? row_of(f, (struct mt_owner_name){kind, name}) : 0;
    if (bytes && row != UINT32_MAX) {
        mt_account_add_bytes(f->a, &f->a->rows.v[row], bytes);
    }
    return row != UINT32_MAX;
}

/* ---- what the watcher measured ---- */

/* A library of the watcher's list: the code of its kernels, and a peak that a trace that lost its
 * beginning cannot tell. */
static bool add_library(struct mt_account_finder *f, const struct mt_value *one)
{
    const struct mt_value *path = mt_own_key_get(f->s, one, "library");
    uint64_t code = 0, peak = 0;
    if (!path || path->kind != MT_VALUE_STR) {
        return true;
    }
    struct mt_owner_name owner = mt_owner_of_file(mt_snapshot_str(f->s, path->u.id));
    bool counts = f->by_caller && mt_own_key_bytes(f->s, one, "peak_bytes", &peak) && peak > 0;
    uint32_t row = counts ? row_of(f, owner) : 0;
    if (counts && row != UINT32_MAX) {
        struct mt_owner *r = &f->a->rows.v[row];
        bool larger = peak >= r->bytes && (!r->peak_known || peak > r->peak);
        r->peak = larger ? peak : r->peak;
        r->peak_known |= larger;
    }
    (void)mt_own_key_bytes(f->s, one, "code_bytes", &code);
    return row != UINT32_MAX && mt_account_add_sum(f, MT_OWNER_CODE, owner.name, code);
}

static bool add_libraries(struct mt_account_finder *f)
{
    uint32_t n;
    const struct mt_value *list = mt_own_key_list(f->s, f->own, "libraries", &n);
    bool fine = true;
    for (uint32_t i = 0; fine && i < n; i++) {
        fine = add_library(f, &list[i]);
    }
    return fine;
}

/* The process's own: its context, and what the driver's pools keep beyond what was asked for. */
static bool add_measured(struct mt_account_finder *f)
{
    uint64_t before, start, reserved = 0, used = 0;
    bool fine = add_libraries(f);
    if (mt_own_key_bytes(f->s, f->own, "free_before_context_bytes", &before) &&
        mt_own_key_bytes(f->s, f->own, "free_start_bytes", &start)) {
        fine = fine && mt_account_add_sum(f, MT_OWNER_CONTEXT, MT_STR("the CUDA context"),
                                          mt_sub_sat(before, start));
    }
    if (mt_own_key_bytes(f->s, f->own, "pool_reserved_bytes", &reserved) &&
        mt_own_key_bytes(f->s, f->own, "pool_used_bytes", &used)) {
        fine = fine &&
               mt_account_add_sum(f, MT_OWNER_POOL, MT_STR("kept by the driver's memory pools"),
                                  mt_sub_sat(reserved, used));
    }
    return fine;
}

/* What was in use before, unless a list of processes tells it better. */
static bool add_before(struct mt_account_finder *f)
{
    uint64_t total, before;
    if (!mt_own_key_bytes(f->s, f->own, "total_bytes", &total)) {
        return true;
    }
    if (mt_own_key_bytes(f->s, f->own, "free_before_context_bytes", &before)) {
        return mt_account_add_sum(f, MT_OWNER_BEFORE, MT_STR("in use before this process"),
                                  mt_sub_sat(total, before));
    }
    if (mt_own_key_bytes(f->s, f->own, "free_start_bytes", &before)) {
        return mt_account_add_sum(
            f, MT_OWNER_BEFORE,
            MT_STR("in use before its first allocation: context, other processes"),
            mt_sub_sat(total, before));
    }
    return true;
}

static int by_size(const void *x, const void *y)
{
    const struct mt_owner *a = x, *b = y;
    bool rest_a = a->kind == MT_OWNER_UNEXPLAINED, rest_b = b->kind == MT_OWNER_UNEXPLAINED;
    if (rest_a != rest_b) {
        return rest_a ? 1 : -1;
    }
    if (a->bytes != b->bytes) {
        return a->bytes > b->bytes ? -1 : 1;
    }
    if (a->peak != b->peak) {
        return a->peak > b->peak ? -1 : 1;
    }
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : mt_str_compare(a->name, b->name);
}

/* Largest first; owners that never held anything are no rows. */
static void put_in_order(struct mt_account *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->rows.n; i++) {
        if (a->rows.v[i].bytes > 0 || (a->rows.v[i].peak_known && a->rows.v[i].peak > 0)) {
            a->rows.v[n++] = a->rows.v[i];
        }
    }
    a->rows.n = n;
    if (n > 1) {
        qsort(a->rows.v, n, sizeof *a->rows.v, by_size);
    }
}

static bool fill(struct mt_account_finder *f, const struct mt_account_figures *given)
{
    struct mt_account *a = f->a;
    bool processes = false;
    f->own = mt_own_key_device(f->s, f->a->device);
    f->by_caller = a->recorded.watched || (a->recorded.cached && f->own);
    if (!mt_account_segments(f) || !mt_account_walk(f, given->after)) {
        return false;
    }
    mt_account_peaks(f);
    if (given->after > 0 && !f->wild) {
        mt_account_go_back(f);
    }
    if (!add_measured(f)) {
        return false;
    }
    a->process = a->seen;
    mt_account_figures_find(f, given);
    return mt_account_processes(f, given->smi, &processes) && (processes || add_before(f)) &&
           mt_account_rest(f, processes);
}

static enum mt_status find_one(struct mt_account *a, const struct mt_snapshot *s, int32_t device,
                               const struct mt_recorded *recorded,
                               const struct mt_account_figures *given, struct mt_error *err)
{
    static const struct mt_account_figures NONE = {0};
    *a = (struct mt_account){.device = device, .recorded = *recorded};
    struct mt_account_finder f = {.a = a, .s = s, .last_row = UINT32_MAX};
    mt_intern_init(&f.names, &a->arena, 0);
    bool fine = fill(&f, given ? given : &NONE);
    put_in_order(a);
    mt_intern_release(&f.names);
    mt_idmap_release(&f.by_name);
    mt_idmap_release(&f.by_stack);
    mt_idmap_release(&f.held);
    mt_vec_release(&f.tallies);
    return fine ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_account_find(struct mt_account *a, const struct mt_snapshot *s, int32_t device,
                               const struct mt_account_figures *given, struct mt_error *err)
{
    struct mt_recorded recorded;
    mt_recorded_find(&recorded, s);
    return find_one(a, s, device, &recorded, given, err);
}

void mt_account_release(struct mt_account *a)
{
    mt_vec_release(&a->rows);
    mt_arena_release(&a->arena);
}

enum mt_status mt_accounts_find(struct mt_accounts *all, const struct mt_snapshot *s,
                                const struct mt_account_figures *given, struct mt_error *err)
{
    struct mt_devices devices;
    struct mt_recorded recorded;
    *all = (struct mt_accounts){0};
    mt_recorded_find(&recorded, s);
    enum mt_status status = mt_devices_find(&devices, s, false, err);
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        struct mt_account a;
        status = find_one(&a, s, devices.ids.v[i], &recorded, given, err);
        if (status == MT_OK && !mt_vec_push(&all->v, a)) {
            status = mt_fail_nomem(err);
        }
        if (status != MT_OK) {
            mt_account_release(&a);
        }
    }
    mt_devices_release(&devices);
    return status;
}

void mt_accounts_release(struct mt_accounts *all)
{
    for (size_t i = 0; i < all->v.n; i++) {
        mt_account_release(&all->v.v[i]);
    }
    mt_vec_release(&all->v);
}

static int by_device(const void *key, const void *item)
{
    int32_t device = *(const int32_t *)key, other = ((const struct mt_account *)item)->device;
    return (device > other) - (device < other);
}

const struct mt_account *mt_accounts_device(const struct mt_accounts *all, int32_t device)
{
    return all->v.n ? bsearch(&device, all->v.v, all->v.n, sizeof *all->v.v, by_device) : NULL;
}

bool mt_account_is_whole(const struct mt_account *a)
{
    return a->used_known || a->recorded.watched;
}

uint64_t mt_account_sum(const struct mt_account *a, enum mt_owner_kind kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < a->rows.n; i++) {
        sum = a->rows.v[i].kind == kind ? mt_add_sat(sum, a->rows.v[i].bytes) : sum;
    }
    return sum;
}
