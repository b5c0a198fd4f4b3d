/* SPDX-License-Identifier: MIT */
/* The ranks of a job as they are gathered: figures and stacks of each, one table of stacks for all,
 * so that the same stack has the same id in every rank. */
#include "verbs/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/checked.h"
#include "torch/keys.h"
#include "heap/findings/leaks.h"
#include "heap/findings/peak.h"
#include "heap/walk/query.h"
#include "heap/sums/totals.h"

enum mt_status mt_ranks_init(struct mt_ranks *r, uint64_t seed, struct mt_error *err)
{
    *r = (struct mt_ranks){.table = mt_builder_new(seed)};
    return r->table ? MT_OK : mt_fail_nomem(err);
}

void mt_rank_release(struct mt_rank *rank)
{
    mt_vec_release(&rank->stacks);
    mt_mem_free(rank->curve);
    rank->curve = NULL;
}

void mt_ranks_release(struct mt_ranks *r)
{
    for (size_t i = 0; i < r->ranks.n; i++) {
        mt_rank_release(&r->ranks.v[i]);
    }
    mt_vec_release(&r->ranks);
    mt_vec_release(&r->lost);
    mt_vec_release(&r->gaps);
    mt_vec_release(&r->spares);
    mt_vec_release(&r->scratch);
    mt_idmap_release(&r->string_of);
    mt_idmap_release(&r->rank_of);
    mt_builder_free(r->table);
    mt_snapshot_release(&r->names);
    mt_arena_release(&r->arena);
    *r = (struct mt_ranks){0};
}

size_t mt_ranks_of_file(struct mt_ranks *r, struct mt_str file)
{
    uint64_t hash = mt_hash_bytes(file.p, file.n, (uint64_t)(uintptr_t)r);
    const uint32_t *at = mt_idmap_find(&r->rank_of, hash);
    if (at && mt_str_equal(r->ranks.v[*at].file, file)) {
        return *at;
    }
    r->hashes_coincide |= at != NULL;
    for (size_t i = r->hashes_coincide ? r->ranks.n : 0; i > 0; i--) {
        if (mt_str_equal(r->ranks.v[i - 1].file, file)) {
            return i - 1;
        }
    }
    if (!at && !mt_idmap_put(&r->rank_of, hash, (uint32_t)r->ranks.n)) {
        return SIZE_MAX;
    }
    struct mt_rank rank = {
        .rank = -1, .stage = -1, .device = -1, .second_device = -1, .first_oom_us = MT_NO_TIME};
    rank.file = mt_arena_copy(&r->arena, file.p, file.n);
    return rank.file.p && mt_vec_push(&r->ranks, rank) ? r->ranks.n - 1 : SIZE_MAX;
}

static int by_stack(const void *a, const void *b)
{
    const struct mt_rank_stack *x = a, *y = b;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

void mt_rank_sort_stacks(struct mt_rank *rank)
{
    size_t n = 0;
    if (rank->stacks.n) {
        qsort(rank->stacks.v, rank->stacks.n, sizeof *rank->stacks.v, by_stack);
    }
    for (size_t i = 0; i < rank->stacks.n; i++) {
        struct mt_rank_stack row = rank->stacks.v[i];
        struct mt_rank_stack *last = n ? &rank->stacks.v[n - 1] : NULL;
        if (last && last->stack == row.stack) {
            last->bytes = mt_add_sat(last->bytes, row.bytes);
            last->count = mt_add_sat(last->count, row.count);
        } else {
            rank->stacks.v[n++] = row;
        }
    }
    rank->stacks.n = rank->n_sorted = n;
}

bool mt_rank_add_stack(struct mt_ranks *r, size_t index, uint32_t stack, uint64_t bytes,
                       uint64_t count)
{
    enum { FEW = 1024 };
    struct mt_rank *rank = &r->ranks.v[index];
    if (rank->stacks.n >= 2 * rank->n_sorted + FEW) { /* so repetitions take no more than twice */
        mt_rank_sort_stacks(rank);
    }
    struct mt_rank_stack row = {stack, bytes, count};
    return mt_vec_push(&rank->stacks, row);
}

/* ---- from a snapshot ---- */

/* A snapshot's string in the common table, hashed once; 0: no memory. */
static uint32_t common_string(struct mt_ranks *r, const struct mt_snapshot *s, uint32_t id)
{
    const uint32_t *known = mt_idmap_find(&r->string_of, id);
    if (known) {
        return *known;
    }
    struct mt_str text = mt_snapshot_str(s, id);
    uint32_t common = mt_builder_str(r->table, text.p, text.n);
    return common && mt_idmap_put(&r->string_of, id, common) ? common : 0;
}

/* The id of a snapshot's stack in the common table; 0 for an empty one or when out of memory, which
 * *ok tells. */
static uint32_t common_stack(struct mt_ranks *r, const struct mt_snapshot *s, uint32_t id, bool *ok)
{
    const struct mt_stack *stack = &s->stacks[id];
    r->scratch.n = 0;
    for (uint32_t i = 0; i < stack->n && *ok; i++) {
        const struct mt_frame *from = &s->frames[s->stack_frames[stack->first + i]];
        struct mt_frame f = {.name = common_string(r, s, from->name),
                             .filename = common_string(r, s, from->filename),
                             .line = from->line,
                             .present = (1u << MT_FRAME_KEY_COUNT) - 1};
        uint32_t frame = f.name && f.filename ? mt_builder_frame(r->table, &f) : 0;
        *ok = frame && mt_vec_push(&r->scratch, frame);
    }
    uint32_t common = 0;
    if (*ok && stack->n) {
        common = mt_builder_stack(r->table, r->scratch.v, r->scratch.n);
        *ok = common != 0;
    }
    return common;
}

static void set_figure(struct mt_rank *rank, enum mt_rank_figure figure, uint64_t n)
{
    rank->figure[figure] = n;
    rank->known |= 1u << figure;
}

static void add_figure(struct mt_rank *rank, enum mt_rank_figure figure, uint64_t n)
{
    set_figure(rank, figure, mt_add_sat(rank->figure[figure], n));
}

static bool add_peak(struct mt_ranks *r, size_t index, const struct mt_snapshot *s,
                     const struct mt_peak *p)
{
    bool ok = true;
    mt_idmap_release(&r->string_of);
    for (size_t i = 0; i < p->rows.n && ok; i++) {
        uint32_t stack = common_stack(r, s, p->rows.v[i].key, &ok);
        ok = ok && mt_rank_add_stack(r, index, stack, p->rows.v[i].bytes, p->rows.v[i].count);
    }
    add_figure(&r->ranks.v[index], MT_RANK_PEAK, p->bytes);
    r->ranks.v[index].knows_stacks = true;
    return ok;
}

/* The same question as `peak` asks, so that its JSON says the same as the snapshot. */
static enum mt_status read_peak(struct mt_ranks *r, size_t index, const struct mt_replay *replay,
                                struct mt_filtered *f, struct mt_error *err)
{
    static const struct mt_peak_options o = {.at = {.kind = MT_AT_PEAK}, .by = MT_BY_STACK};
    struct mt_peak p;
    enum mt_status status = mt_peak_find(&p, replay->snapshot, replay, f, &o, err);
    if (status == MT_OK && !add_peak(r, index, replay->snapshot, &p)) {
        status = mt_fail_nomem(err);
    }
    mt_peak_release(&p);
    return status;
}

static enum mt_status read_growth(struct mt_rank *rank, const struct mt_replay *replay,
                                  struct mt_filtered *f, struct mt_error *err)
{
    static const struct mt_leak_options o = {.threshold = MT_LEAK_THRESHOLD};
    struct mt_leaks leaks;
    enum mt_status status = mt_leaks_find(&leaks, replay->snapshot, replay, f, &o, err);
    if (status == MT_OK && leaks.verdict != MT_LEAK_UNKNOWN) {
        rank->knows_growth = true;
        rank->bytes_per_step += leaks.bytes_per_step;
    }
    mt_leaks_release(&leaks);
    return status;
}

static void read_oom(struct mt_rank *rank, const struct mt_event *e)
{
    bool first = rank->first_oom_us == MT_NO_TIME || e->time_us < rank->first_oom_us;
    if (e->time_us != MT_NO_TIME && first) {
        rank->first_oom_us = e->time_us;
    }
}

static void read_headroom(struct mt_rank *rank, uint64_t reserved, uint64_t capacity)
{
    uint64_t taken = mt_add_sat(reserved, rank->knows_outside ? rank->outside_bytes : 0);
    int64_t headroom = (int64_t)(capacity - taken);
    if (capacity && (!rank->knows_headroom || headroom < rank->headroom_bytes)) {
        rank->knows_headroom = true;
        rank->headroom_bytes = headroom;
    }
}

/* What the driver said was in use at the last OOM, less what this process had reserved then; when
 * the first was; and what is left above the most that was reserved. */
static void read_limits(struct mt_rank *rank, const struct mt_replay *r, uint64_t capacity)
{
    struct mt_step at;
    uint64_t most = r->start_reserved > r->end_reserved ? r->start_reserved : r->end_reserved;
    for (mt_replay_begin(r, &at); mt_replay_next(r, &at);) {
        most = at.reserved_bytes > most ? at.reserved_bytes : most;
        if (at.event->action == MT_ACTION_OOM) {
            read_oom(rank, at.event);
        }
        if (capacity && at.event->action == MT_ACTION_OOM && at.event->addr <= capacity &&
            capacity - at.event->addr >= at.reserved_bytes) {
            rank->knows_outside = true;
            rank->outside_bytes = capacity - at.event->addr - at.reserved_bytes;
        }
    }
    read_headroom(rank, most, capacity);
}

static size_t curve_column(const struct mt_rank_curve *c, const struct mt_replay *r, size_t event)
{
    double share = (double)event / (double)r->n;
    if (c->timed) {
        int64_t us = r->events[event].time_us;
        us = us < c->first_us ? c->first_us : us > c->last_us ? c->last_us : us;
        share = ((double)us - (double)c->first_us) / ((double)c->last_us - (double)c->first_us);
    }
    size_t column = (size_t)(share * MT_RANK_COLUMNS);
    return column < MT_RANK_COLUMNS ? column : MT_RANK_COLUMNS - 1;
}

/* A value holds until the next event. */
static void fill_curve(struct mt_rank_curve *c, const struct mt_replay *r)
{
    struct mt_step at;
    size_t column = 0;
    uint64_t live = r->ghost_bytes;
    for (mt_replay_begin(r, &at); mt_replay_next(r, &at);) {
        size_t to = curve_column(c, r, at.index);
        for (; column < to; column++) {
            c->most[column] = live > c->most[column] ? live : c->most[column];
        }
        live = at.live_bytes;
        c->most[column] = live > c->most[column] ? live : c->most[column];
    }
    for (; column < MT_RANK_COLUMNS; column++) {
        c->most[column] = live > c->most[column] ? live : c->most[column];
    }
}

static bool read_curve(struct mt_rank *rank, const struct mt_replay *r)
{
    if (r->n == 0 || (rank->curve && rank->curve->peak >= r->peak_bytes)) {
        return true;
    }
    mt_mem_free(rank->curve);
    struct mt_rank_curve *c = rank->curve = mt_mem_zalloc(1, sizeof *c);
    if (!c) {
        return false;
    }
    c->peak = r->peak_bytes;
    c->first_us = r->events[0].time_us;
    c->last_us = r->events[r->n - 1].time_us;
    c->timed = c->first_us != MT_NO_TIME && c->last_us != MT_NO_TIME && c->last_us > c->first_us;
    fill_curve(c, r);
    return true;
}

static enum mt_status read_device(struct mt_ranks *r, size_t index, const struct mt_snapshot *s,
                                  int32_t device, const struct mt_rank_read_options *o,
                                  struct mt_error *err)
{
    struct mt_replay replay;
    struct mt_filtered *f = mt_filter_is_open(o->filtered->filter) ? NULL : o->filtered;
    MT_TRY(mt_replay_init(&replay, s, device, err));
    enum mt_status status = read_peak(r, index, &replay, f, err);
    if (status == MT_OK) {
        status = read_growth(&r->ranks.v[index], &replay, f, err);
    }
    if (status == MT_OK) {
        read_limits(&r->ranks.v[index], &replay, o->capacity);
        bool ok = !o->curves || read_curve(&r->ranks.v[index], &replay);
        status = ok ? MT_OK : mt_fail_nomem(err);
    }
    mt_replay_release(&replay);
    return status;
}

static void read_totals(struct mt_rank *rank, const struct mt_totals *t, int32_t device)
{
    uint64_t most = 0;
    int32_t own = -1;
    for (size_t i = 0; i < t->devices.n; i++) {
        const struct mt_device_totals *d = &t->devices.v[i];
        if (device >= 0 && d->device != device) {
            continue;
        }
        add_figure(rank, MT_RANK_RESERVED, d->all.reserved);
        add_figure(rank, MT_RANK_ALLOCATED, d->all.allocated);
        add_figure(rank, MT_RANK_OOMS, d->trace.actions[MT_ACTION_OOM]);
        if (own < 0 || d->all.reserved > most) {
            if (most > 0) {
                rank->second_device = own;
                rank->second_bytes = most;
            }
            own = rank->device = d->device;
            most = d->all.reserved;
        } else if (d->all.reserved > rank->second_bytes) {
            rank->second_device = d->device;
            rank->second_bytes = d->all.reserved;
        }
    }
}

enum mt_status mt_rank_read_snapshot(struct mt_ranks *r, size_t index, const struct mt_snapshot *s,
                                     const struct mt_rank_read_options *o, struct mt_error *err)
{
    struct mt_totals t;
    struct mt_devices devices = {0};
    enum mt_status status = mt_totals_find(&t, s, o->filtered, 0, err);
    if (status == MT_OK) {
        read_totals(&r->ranks.v[index], &t, o->device);
        status = mt_devices_find(&devices, s, false, err);
    }
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        int32_t device = devices.ids.v[i];
        if ((o->device < 0 || o->device == device) && mt_filtered_device(o->filtered, device)) {
            status = read_device(r, index, s, device, o, err);
        }
    }
    mt_devices_release(&devices);
    mt_totals_release(&t);
    return status;
}

/* ---- from other ranks ---- */

static enum mt_status merge_rank(struct mt_ranks *to, struct mt_rank *from,
                                 const struct mt_snapshot *names, struct mt_error *err)
{
    size_t had = to->ranks.n, index = mt_ranks_of_file(to, from->file);
    if (index == SIZE_MAX) {
        return mt_fail_nomem(err);
    }
    struct mt_rank *rank = &to->ranks.v[index], old = *rank;
    *rank = *from;
    from->curve = NULL;
    mt_mem_free(old.curve);
    rank->file = old.file;
    memcpy(&rank->stacks, &old.stacks, sizeof rank->stacks);
    rank->n_sorted = old.n_sorted;
    for (int k = 0; index < had && k < MT_RANK_FIGURE_COUNT; k++) {
        if (old.known >> k & 1) {
            add_figure(rank, (enum mt_rank_figure)k, old.figure[k]);
        }
    }
    bool ok = true;
    for (size_t i = 0; i < from->stacks.n && ok; i++) {
        const struct mt_rank_stack *row = &from->stacks.v[i];
        uint32_t stack = common_stack(to, names, row->stack, &ok);
        ok = ok && mt_rank_add_stack(to, index, stack, row->bytes, row->count);
    }
    return ok ? MT_OK : mt_fail_nomem(err);
}

enum mt_status mt_ranks_merge(struct mt_ranks *to, struct mt_ranks *from, struct mt_error *err)
{
    struct mt_builder *table = from->table;
    from->table = NULL;
    MT_TRY(mt_builder_finish(table, &from->names, err));
    mt_idmap_release(&to->string_of);
    for (size_t i = 0; i < from->ranks.n; i++) {
        MT_TRY(merge_rank(to, &from->ranks.v[i], &from->names, err));
    }
    return MT_OK;
}

/* ---- numbers of ranks ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number at p[*i], and *i behind it; at most 9 digits, else -1. */
static int64_t number_at(struct mt_str p, size_t *i)
{
    int64_t n = 0;
    size_t from = *i;
    for (; *i < p.n && is_digit(p.p[*i]); (*i)++) {
        n = *i - from < 9 ? n * 10 + (p.p[*i] - '0') : -1;
    }
    return *i - from <= 9 ? n : -1;
}

static int64_t number_behind_rank(struct mt_str path)
{
    int64_t found = -1;
    for (size_t i = 0; i + 5 <= path.n; i++) {
        if (strncmp(path.p + i, "rank", 4) != 0 && strncmp(path.p + i, "RANK", 4) != 0 &&
            strncmp(path.p + i, "Rank", 4) != 0) {
            continue;
        }
        size_t at = i + 4;
        at += strchr("_-.=", path.p[at]) && path.p[at] ? 1 : 0;
        if (at < path.n && is_digit(path.p[at])) {
            found = number_at(path, &at); /* the last one: a folder may have one too */
        }
    }
    return found;
}

/* Whether what stands before a number says that it counts moments of one process: "it100",
 * "step_20", "epoch-3". */
static bool is_moment(struct mt_str before)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("it"),    MT_STR_INIT("iter"),  MT_STR_INIT("iteration"), MT_STR_INIT("step"),
        MT_STR_INIT("epoch"), MT_STR_INIT("batch"), MT_STR_INIT("steps"),     MT_STR_INIT("time")};
    if (before.n && strchr("_-.=", before.p[before.n - 1])) {
        before.n--;
    }
    size_t from = before.n;
    while (from > 0 && (before.p[from - 1] | 32) >= 'a' && (before.p[from - 1] | 32) <= 'z') {
        from--;
    }
    struct mt_str word = {before.p + from, before.n - from};
    for (size_t i = 0; i < MT_COUNT(WORDS); i++) {
        if (word.n == WORDS[i].n && strncasecmp(word.p, WORDS[i].p, word.n) == 0) {
            return true;
        }
    }
    return false;
}

int64_t mt_rank_number(struct mt_str path, bool *weak)
{
    int64_t n = number_behind_rank(path);
    *weak = n < 0;
    struct mt_str name = mt_str_basename(path);
    for (size_t i = 0; n < 0 && i < name.n; i++) {
        size_t last = name.n - 1 - i;
        if (is_digit(name.p[last])) {
            while (last > 0 && is_digit(name.p[last - 1])) {
                last--;
            }
            return is_moment((struct mt_str){name.p, last}) ? -1 : number_at(name, &last);
        }
    }
    return n;
}
