/* SPDX-License-Identifier: MIT */
/*
 * Segments give every owner's bytes, the trace its peak; then come what the watcher measured beside
 * its allocations (memtool-snapshot(5), WHAT MEMTOOL ADDS), what nvidia-smi says of other
 * processes, and last what none of it explains. One row more or less than the card reports is not
 * hidden: the figures are taken at different moments, and a wrong one should be seen.
 */
#include <memtool/account.h>

#include <stdlib.h>

#include <memtool/checked.h>
#include <memtool/hash.h>
#include <memtool/query.h>
#include <memtool/replay.h>

/* An owner while the trace is walked: bytes and allocations since its start, and what they were at
 * the moment that was asked for. */
struct tally {
    int64_t net, highest, then;
    int64_t n, n_then;
};

struct finder {
    struct mt_account *a;
    const struct mt_snapshot *s;
    const struct mt_value *own; /* the watcher's figures of this device, or NULL */
    struct mt_intern names;
    struct mt_idmap by_name;       /* kind and name -> row */
    struct mt_idmap by_stack;      /* -> row */
    uint32_t last_stack, last_row; /* UINT32_MAX: none yet */
    struct mt_idmap held;          /* address -> row, while the trace is walked */
    MT_VEC(struct tally) tallies;
    struct tally all;
    bool wild; /* the trace's sizes do not add up in 63 bits */
};

/* ---- rows ---- */

/* The row of an owner, made when new; UINT32_MAX when out of memory. */
static uint32_t row_of(struct finder *f, struct mt_owner_name owner)
{
    struct mt_account *a = f->a;
    uint32_t name = mt_intern_put(&f->names, owner.name.p, owner.name.n);
    uint64_t key = (uint64_t)owner.kind << 32 | name;
    const uint32_t *known = name ? mt_idmap_find(&f->by_name, key) : NULL;
    if (known || !name) {
        return known ? *known : UINT32_MAX;
    }
    const struct mt_owner fresh = {.kind = owner.kind, .name = mt_intern_get(&f->names, name)};
    const struct tally zero = {0};
    uint32_t row = (uint32_t)a->rows.n;
    bool added = mt_idmap_put(&f->by_name, key, row) && mt_vec_push(&a->rows, fresh) &&
                 mt_vec_push(&f->tallies, zero);
    return added ? row : UINT32_MAX;
}

static struct mt_owner_name owner_of(const struct finder *f, uint32_t stack)
{
    if (f->a->recorded.watched) {
        return mt_owner_of_stack(f->s, stack);
    }
    return (struct mt_owner_name){MT_OWNER_ALLOCATOR, f->a->recorded.plain
                                                          ? MT_STR("memtool's caching allocator")
                                                          : MT_STR("PyTorch's caching allocator")};
}

/* Most come in runs of one stack. */
static uint32_t row_of_stack(struct finder *f, uint32_t stack)
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

static void add_bytes(struct mt_account *a, struct mt_owner *row, uint64_t bytes)
{
    row->bytes = mt_add_sat(row->bytes, bytes);
    a->seen = mt_add_sat(a->seen, bytes);
}

/* A row of something that is known as a sum alone. */
static bool add_sum(struct finder *f, enum mt_owner_kind kind, struct mt_str name, uint64_t bytes)
{
    uint32_t row = bytes ? row_of(f, (struct mt_owner_name){kind, name}) : 0;
    if (bytes && row != UINT32_MAX) {
        add_bytes(f->a, &f->a->rows.v[row], bytes);
    }
    return row != UINT32_MAX;
}

/* ---- segments and trace ---- */

static uint32_t stack_of_segment(const struct mt_snapshot *s, const struct mt_segment *segment)
{
    bool has_block = segment->stack == 0 && segment->n_blocks > 0;
    return has_block ? s->blocks[segment->first_block].stack : segment->stack;
}

static bool add_segments(struct finder *f)
{
    for (size_t i = 0; i < f->s->n_segments; i++) {
        const struct mt_segment *segment = &f->s->segments[i];
        if (segment->device != f->a->device) {
            continue;
        }
        uint32_t row = row_of_stack(f, stack_of_segment(f->s, segment));
        if (row == UINT32_MAX) {
            return false;
        }
        add_bytes(f->a, &f->a->rows.v[row], segment->total_size);
        f->a->rows.v[row].count++;
    }
    return true;
}

static void count(struct finder *f, struct tally *t, uint64_t size, bool up)
{
    bool wild = size > INT64_MAX;
    wild = wild || (up ? mt_add_overflow(t->net, (int64_t)size, &t->net)
                       : mt_sub_overflow(t->net, (int64_t)size, &t->net));
    f->wild |= wild;
    t->n += up ? 1 : -1;
    t->highest = t->net > t->highest ? t->net : t->highest;
}

/* The moment that was asked for has come. */
static void keep_moment(struct finder *f)
{
    for (size_t i = 0; i < f->tallies.n; i++) {
        f->tallies.v[i].then = f->tallies.v[i].net;
        f->tallies.v[i].n_then = f->tallies.v[i].n;
    }
}

/* The row that an event speaks of: a free has no stack of its own, so its address tells. */
static uint32_t row_of_event(struct finder *f, const struct mt_event *e, bool up)
{
    if (!f->a->recorded.watched) {
        return row_of_stack(f, 0);
    }
    if (up) {
        uint32_t row = row_of_stack(f, e->stack);
        return row != UINT32_MAX && mt_idmap_put(&f->held, e->addr, row) ? row : UINT32_MAX;
    }
    const uint32_t *row = mt_idmap_find(&f->held, e->addr);
    return row ? *row : row_of_stack(f, 0); /* older than the trace */
}

static bool walk_trace(struct finder *f, size_t after)
{
    struct mt_trace trace = mt_device_trace(f->s, f->a->device);
    for (size_t i = 0; i < trace.n; i++) {
        const struct mt_event *e = &f->s->events[trace.first + i];
        bool up = e->action == MT_ACTION_SEGMENT_ALLOC || e->action == MT_ACTION_SEGMENT_MAP;
        if (after > 0 && i == after) {
            keep_moment(f);
        }
        if (!up && e->action != MT_ACTION_SEGMENT_FREE && e->action != MT_ACTION_SEGMENT_UNMAP) {
            continue;
        }
        uint32_t row = row_of_event(f, e, up);
        if (row == UINT32_MAX) {
            return false;
        }
        count(f, &f->tallies.v[row], e->size, up);
        count(f, &f->all, e->size, up);
        f->a->allocations++;
    }
    if (after >= trace.n) {
        keep_moment(f);
    }
    return true;
}

/* What was there before the trace is what is there now less what the trace added. */
static bool peak_of(const struct tally *t, uint64_t now, uint64_t *peak)
{
    int64_t start;
    if (now > INT64_MAX || mt_sub_overflow((int64_t)now, t->net, &start) || start < 0) {
        return false;
    }
    *peak = (uint64_t)start + (uint64_t)t->highest;
    return true;
}

static void find_peaks(struct finder *f)
{
    struct mt_account *a = f->a;
    bool traced = a->allocations > 0 && !f->wild;
    for (size_t i = 0; i < a->rows.n; i++) {
        struct mt_owner *row = &a->rows.v[i];
        row->peak_known = traced && peak_of(&f->tallies.v[i], row->bytes, &row->peak);
    }
    a->seen_peak_known = traced && peak_of(&f->all, a->seen, &a->seen_peak);
}

/* Rows as they were at the moment that was asked for; as they are where the trace does not tell. */
static void go_back(struct finder *f)
{
    struct mt_account *a = f->a;
    a->seen = 0;
    for (size_t i = 0; i < a->rows.n; i++) {
        struct mt_owner *row = &a->rows.v[i];
        const struct tally *t = &f->tallies.v[i];
        int64_t bytes = row->bytes <= INT64_MAX ? (int64_t)row->bytes : -1, n = (int64_t)row->count;
        if (bytes >= 0 && !mt_sub_overflow(bytes, t->net, &bytes) &&
            !mt_add_overflow(bytes, t->then, &bytes) && bytes >= 0) {
            n = n - t->n + t->n_then;
            row->bytes = (uint64_t)bytes;
            row->count = n > 0 ? (uint64_t)n : 0;
        }
        a->seen = mt_add_sat(a->seen, row->bytes);
    }
}

/* ---- what the watcher measured ---- */

static bool get_bytes(const struct finder *f, const struct mt_value *dict, const char *key,
                      uint64_t *out)
{
    const struct mt_value *v = dict ? mt_value_find(f->s, dict, key) : NULL;
    if (!v || v->kind != MT_VALUE_INT || v->u.i < 0) {
        return false;
    }
    *out = (uint64_t)v->u.i;
    return true;
}

static bool is_list(const struct mt_value *v)
{
    return v && (v->kind == MT_VALUE_LIST || v->kind == MT_VALUE_TUPLE);
}

/* The dictionary of this device in the file's own key, or NULL. */
static const struct mt_value *own_device(const struct finder *f)
{
    const struct mt_value *own = f->s->own ? &f->s->values[f->s->own] : NULL;
    const struct mt_value *list = own ? mt_value_find(f->s, own, "devices") : NULL;
    for (uint32_t i = 0; is_list(list) && i < list->n; i++) {
        const struct mt_value *one = &f->s->values[list->u.id + i];
        const struct mt_value *device = mt_value_find(f->s, one, "device");
        if (device && device->kind == MT_VALUE_INT && device->u.i == f->a->device) {
            return one;
        }
    }
    return NULL;
}

/* A library of the watcher's list: the code of its kernels, and a peak that a trace that lost its
 * beginning cannot tell. */
static bool add_library(struct finder *f, const struct mt_value *one)
{
    const struct mt_value *path = mt_value_find(f->s, one, "library");
    uint64_t code = 0, peak = 0;
    if (!path || path->kind != MT_VALUE_STR) {
        return true;
    }
    struct mt_owner_name owner = mt_owner_of_file(mt_snapshot_str(f->s, path->u.id));
    bool counts = f->a->recorded.watched && get_bytes(f, one, "peak_bytes", &peak) && peak > 0;
    uint32_t row = counts ? row_of(f, owner) : 0;
    if (counts && row != UINT32_MAX) {
        struct mt_owner *r = &f->a->rows.v[row];
        bool larger = peak >= r->bytes && (!r->peak_known || peak > r->peak);
        r->peak = larger ? peak : r->peak;
        r->peak_known |= larger;
    }
    (void)get_bytes(f, one, "code_bytes", &code);
    return row != UINT32_MAX && add_sum(f, MT_OWNER_CODE, owner.name, code);
}

static bool add_libraries(struct finder *f)
{
    const struct mt_value *list = f->own ? mt_value_find(f->s, f->own, "libraries") : NULL;
    bool fine = true;
    for (uint32_t i = 0; fine && is_list(list) && i < list->n; i++) {
        fine = add_library(f, &f->s->values[list->u.id + i]);
    }
    return fine;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The process's own: its context, and what the driver's pools keep beyond what was asked for. */
static bool add_measured(struct finder *f)
{
    uint64_t before, start, reserved = 0, used = 0;
    bool fine = add_libraries(f);
    if (get_bytes(f, f->own, "free_before_context_bytes", &before) &&
        get_bytes(f, f->own, "free_start_bytes", &start)) {
        fine =
            fine && add_sum(f, MT_OWNER_CONTEXT, MT_STR("the CUDA context"), less(before, start));
    }
    if (get_bytes(f, f->own, "pool_reserved_bytes", &reserved) &&
        get_bytes(f, f->own, "pool_used_bytes", &used)) {
        fine = fine && add_sum(f, MT_OWNER_POOL, MT_STR("kept by the driver's memory pools"),
                               less(reserved, used));
    }
    return fine;
}

/* What was in use before, unless a list of processes tells it better. */
static bool add_before(struct finder *f)
{
    uint64_t total, before;
    if (!get_bytes(f, f->own, "total_bytes", &total)) {
        return true;
    }
    if (get_bytes(f, f->own, "free_before_context_bytes", &before)) {
        return add_sum(f, MT_OWNER_BEFORE, MT_STR("in use before this process"),
                       less(total, before));
    }
    if (get_bytes(f, f->own, "free_start_bytes", &before)) {
        return add_sum(f, MT_OWNER_BEFORE,
                       MT_STR("in use before its first allocation: context, other processes"),
                       less(total, before));
    }
    return true;
}

/* ---- the card's figures ---- */

static void find_figures(struct finder *f, const struct mt_account_figures *given)
{
    struct mt_account *a = f->a;
    uint64_t total, left;
    if (get_bytes(f, f->own, "total_bytes", &total) && total > 0) {
        a->total_known = true;
        a->total = total;
        if (given->after == 0 && get_bytes(f, f->own, "free_dump_bytes", &left) && left <= total) {
            a->used_known = true;
            a->used = total - left;
            a->source = "the snapshot";
        }
    }
    const struct mt_smi_gpu *gpu = given->smi ? mt_smi_gpu_find(given->smi, a->device) : NULL;
    if (gpu && gpu->total_known && gpu->total > 0) {
        a->total_known = true;
        a->total = gpu->total;
    }
    if (given->total_known) {
        a->total_known = true;
        a->total = given->total;
    }
    if (given->free_known && a->total_known && given->free <= a->total) {
        a->used_known = true;
        a->used = a->total - given->free;
        a->source = "the snapshot";
    } else if (given->used_known || (gpu && gpu->used_known)) {
        a->used_known = true;
        a->used = given->used_known ? given->used : gpu->used;
        a->source = given->source;
    }
}

static bool is_here(const struct mt_account *a, const struct mt_smi *smi,
                    const struct mt_smi_process *p)
{
    const struct mt_smi_gpu *gpu = mt_smi_gpu_find(smi, a->device);
    return smi->gpus.n <= 1 || p->index < 0 || (gpu && gpu->index == p->index);
}

/*
 * The snapshot does not know its process id, and in a container nvidia-smi has another for it: the
 * process that holds at least what was seen, and least beyond it, is ours (nvidia-smi rounds to
 * MiB). NULL: none does.
 */
static const struct mt_smi_process *own_process(const struct mt_account *a,
                                                const struct mt_smi *smi)
{
    const struct mt_smi_process *best = NULL;
    for (size_t i = 0; i < smi->processes.n; i++) {
        const struct mt_smi_process *p = &smi->processes.v[i];
        bool enough = mt_add_sat(p->bytes, UINT64_C(1) << 20) >= a->process;
        if (is_here(a, smi, p) && enough && (!best || p->bytes < best->bytes)) {
            best = p;
        }
    }
    return best;
}

static bool add_process(struct finder *f, const struct mt_smi_process *p)
{
    struct mt_buf b = {0};
    mt_buf_printf(&b, "process %lld", (long long)p->pid);
    if (p->name.n > 0) {
        mt_buf_text(&b, ", ");
        mt_buf_str(&b, p->name);
    }
    bool fine = !b.failed && add_sum(f, MT_OWNER_OTHER_PROCESS, mt_buf_view(&b), p->bytes);
    mt_buf_release(&b);
    return fine;
}

/* False when out of memory; *any: processes of this card were listed. */
static bool add_processes(struct finder *f, const struct mt_smi *smi, bool *any)
{
    struct mt_account *a = f->a;
    const struct mt_smi_process *own = smi && a->process > 0 ? own_process(a, smi) : NULL;
    bool fine = true;
    for (size_t i = 0; smi && fine && i < smi->processes.n; i++) {
        const struct mt_smi_process *p = &smi->processes.v[i];
        if (is_here(a, smi, p)) {
            *any = true;
            fine = p == own || add_process(f, p);
        }
    }
    if (own) {
        a->own_is_inferred = true;
        uint64_t rest = less(own->bytes, a->process);
        a->process = mt_add_sat(a->process, rest);
        fine = fine && add_sum(f, MT_OWNER_OUTSIDE,
                               a->recorded.watched
                                   ? MT_STR("this process, not seen: context, code of kernels")
                                   : MT_STR("this process, outside the allocator: context, "
                                            "libraries"),
                               rest);
    }
    return fine;
}

/* ---- the rest ---- */

/* What may be in it depends on what was told apart before. */
static struct mt_str name_of_rest(const struct finder *f, bool processes)
{
    uint64_t start;
    if (f->a->over) {
        return MT_STR("seen beyond what the card reports");
    }
    if (processes) {
        return MT_STR("in no process of the list");
    }
    if (f->a->recorded.watched) {
        return get_bytes(f, f->own, "free_start_bytes", &start)
                   ? MT_STR("since the recording began")
                   : MT_STR("context, code of kernels, other processes");
    }
    return f->a->recorded.plain ? MT_STR("outside the allocator: context, libraries, other "
                                         "processes")
                                : MT_STR("outside PyTorch's allocator: context, libraries, other "
                                         "processes");
}

static bool add_rest(struct finder *f, bool processes)
{
    struct mt_account *a = f->a;
    if (!a->used_known) {
        return true;
    }
    a->over = a->seen > a->used;
    const struct mt_owner rest = {.kind = MT_OWNER_UNEXPLAINED,
                                  .name = name_of_rest(f, processes),
                                  .bytes = a->over ? a->seen - a->used : a->used - a->seen};
    return rest.bytes == 0 || mt_vec_push(&a->rows, rest);
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

static bool fill(struct finder *f, const struct mt_account_figures *given)
{
    struct mt_account *a = f->a;
    bool processes = false;
    f->own = own_device(f);
    if (!add_segments(f) || !walk_trace(f, given->after)) {
        return false;
    }
    find_peaks(f);
    if (given->after > 0 && !f->wild) {
        go_back(f);
    }
    if (!add_measured(f)) {
        return false;
    }
    a->process = a->seen;
    find_figures(f, given);
    return add_processes(f, given->smi, &processes) && (processes || add_before(f)) &&
           add_rest(f, processes);
}

static enum mt_status find_one(struct mt_account *a, const struct mt_snapshot *s, int32_t device,
                               const struct mt_recorded *recorded,
                               const struct mt_account_figures *given, struct mt_error *err)
{
    static const struct mt_account_figures NONE = {0};
    *a = (struct mt_account){.device = device, .recorded = *recorded};
    struct finder f = {.a = a, .s = s, .last_row = UINT32_MAX};
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

const struct mt_owner *mt_account_largest(const struct mt_account *a, enum mt_owner_kind kind)
{
    for (size_t i = 0; i < a->rows.n; i++) {
        if (a->rows.v[i].kind == kind) {
            return &a->rows.v[i];
        }
    }
    return NULL;
}
