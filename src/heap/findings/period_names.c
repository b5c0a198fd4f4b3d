/* SPDX-License-Identifier: MIT */
/*
 * Annotations that mark steps. PyTorch itself writes one per optimizer step, profilers and trainers
 * add their own. Numbers in names are taken as equal ("## step 12 ##"), and a name that speaks of a
 * step wins over one that does not.
 */
#include <inttypes.h>
#include <stdio.h>

#include "support/hash.h"
#include "support/mem.h"
#include "snapshot/model/step_name.h"

#include "heap/findings/period_ways.h"

static bool is_start_on(const struct mt_snapshot *s, const struct mt_annotation *a, int32_t device)
{
    return (a->device == device || a->device < 0) &&
           mt_str_equal(mt_snapshot_str(s, a->stage), MT_STR("START"));
}

/* The name with every run of digits as one '#'. */
static void plain_name(struct mt_buf *b, struct mt_str name)
{
    mt_buf_reset(b);
    for (size_t i = 0; i < name.n; i++) {
        bool digit = name.p[i] >= '0' && name.p[i] <= '9';
        if (!digit) {
            mt_buf_char(b, name.p[i]);
        } else if (!b->n || b->p[b->n - 1] != '#') {
            mt_buf_char(b, '#');
        }
    }
}

struct mt_period_names {
    const struct mt_snapshot *s;
    struct mt_arena arena;
    struct mt_intern names;  /* plain names */
    MT_VEC(uint32_t) counts; /* STARTs by plain name */
    MT_VEC(uint32_t) of;     /* plain name of each annotation, 0: not a START here */
    struct mt_buf text;
};

void mt_period_names_free(struct mt_period_names *n)
{
    if (n) {
        mt_intern_release(&n->names);
        mt_arena_release(&n->arena);
        mt_vec_release(&n->counts);
        mt_vec_release(&n->of);
        mt_buf_release(&n->text);
        mt_mem_free(n);
    }
}

static bool count_name(struct mt_period_names *n, const struct mt_annotation *a, int32_t device)
{
    uint32_t id = 0;
    if (is_start_on(n->s, a, device)) {
        plain_name(&n->text, mt_str_head(mt_snapshot_str(n->s, a->name), MT_ASKED_BYTES));
        id = n->text.failed ? 0 : mt_intern_put(&n->names, mt_buf_view(&n->text).p, n->text.n);
        if (!id) {
            return false;
        }
        while (n->counts.n <= id) {
            if (!mt_vec_push(&n->counts, 0)) {
                return false;
            }
        }
        n->counts.v[id]++;
    }
    return mt_vec_push(&n->of, id);
}

/* What people call it: "## Step # ##" as step. */
static void letters_of(struct mt_buf *b, struct mt_str name)
{
    mt_buf_reset(b);
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] - 'A' + 'a') : name.p[i];
        bool sign = c != '_' && ((c >= ' ' && c < 'a') || (c > 'z' && c < 0x7f));
        if (!sign) {
            mt_buf_char(b, c);
        }
    }
}

/* Marks the names that the user may mean: this one, else those of the same letters, else those that
 * these letters are a part of. False: no memory. */
static bool find_meant(struct mt_period_names *n, const char *wanted, bool *meant)
{
    struct mt_buf letters = {0};
    plain_name(&n->text, mt_str_from(wanted));
    uint32_t exact =
        n->text.failed ? 0 : mt_intern_find(&n->names, mt_buf_view(&n->text).p, n->text.n);
    letters_of(&letters, mt_str_from(wanted));
    bool any = exact != 0;
    if (exact) {
        meant[exact] = true;
    }
    for (int part = 0; part < 2 && !any && letters.n && !letters.failed; part++) {
        for (uint32_t id = 1; id < n->counts.n; id++) {
            letters_of(&n->text, mt_intern_get(&n->names, id));
            struct mt_str name = mt_buf_view(&n->text), key = mt_buf_view(&letters);
            meant[id] = part ? mt_str_find(name, key) != SIZE_MAX : mt_str_equal(name, key);
            any |= meant[id];
        }
    }
    bool ok = !letters.failed && !n->text.failed;
    mt_buf_release(&letters);
    return ok;
}

int mt_period_name_rank(const struct mt_period_names *n, uint32_t id)
{
    return id ? mt_step_name_rank(mt_intern_get(&n->names, id)) : 0;
}

size_t mt_period_name_count(const struct mt_period_names *n, uint32_t id)
{
    return id ? n->counts.v[id] : 0;
}

bool mt_period_name_is(const struct mt_period_names *n, size_t index, uint32_t id)
{
    return n->of.v[index] == id;
}

/* Of those that are meant; NULL: of those that may mark steps. */
static uint32_t best_name(const struct mt_period_names *n, const bool *meant)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id < n->counts.n; id++) {
        int rank = mt_period_name_rank(n, id), best_rank = best ? mt_period_name_rank(n, best) : -1;
        bool often = rank >= MT_RANK_STEP || n->counts.v[id] > MT_PERIODS_NEEDED;
        if (meant ? !meant[id] : !often) {
            continue;
        }
        if (rank > best_rank || (rank == best_rank && n->counts.v[id] > n->counts.v[best])) {
            best = id;
        }
    }
    return best;
}

uint32_t mt_period_names_best(const struct mt_period_names *n)
{
    return best_name(n, NULL);
}

bool mt_period_names_bounds(struct mt_periods *p, const struct mt_period_names *n,
                            const struct mt_replay *r, uint32_t id)
{
    for (size_t i = 0; i < n->s->n_annotations; i++) {
        if (n->of.v[i] != id) {
            continue;
        }
        if (!p->name) {
            p->name = n->s->annotations[i].name;
        }
        size_t at = mt_event_at_time(r, n->s->annotations[i].time_us);
        if (at > 0 && at < r->n && !mt_periods_add(p, at)) {
            return false;
        }
    }
    return true;
}

/* Refuses a name that no annotation has, and tells the most frequent ones as they stand there. */
static enum mt_status no_such_name(struct mt_period_names *n, const struct mt_replay *r,
                                   const char *wanted, struct mt_error *err)
{
    enum { FEW = 3 };
    const struct mt_snapshot *s = n->s;
    char known[sizeof err->hint] = "";
    size_t used = 0;
    for (int k = 0; k < FEW; k++) {
        uint32_t best = 0;
        for (uint32_t id = 1; id < n->counts.n; id++) {
            best = n->counts.v[id] > (best ? n->counts.v[best] : 0) ? id : best;
        }
        size_t i = 0;
        while (best && i < s->n_annotations && n->of.v[i] != best) {
            i++;
        }
        if (best && i < s->n_annotations && used < sizeof known) {
            struct mt_str name = mt_snapshot_str(s, s->annotations[i].name);
            used += (size_t)snprintf(known + used, sizeof known - used, "%s'%.*s'",
                                     used ? ", " : "", (int)(name.n < 40 ? name.n : 40), name.p);
            n->counts.v[best] = 0;
        }
    }
    mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
            "--period: no annotation of device %" PRId32 " is called '%.80s'", r->device, wanted);
    return known[0] ? mt_hint(err, "it has %s", known)
                    : mt_hint(err, "it has none; --period EVENTS counts events instead");
}

enum mt_status mt_period_names_wanted(struct mt_periods *p, struct mt_period_names *n,
                                      const struct mt_replay *r, const char *wanted,
                                      struct mt_error *err)
{
    bool *meant = mt_mem_zalloc(n->counts.n + 1, sizeof *meant);
    bool ok = meant && find_meant(n, wanted, meant);
    uint32_t id = ok ? best_name(n, meant) : 0;
    ok = ok && (!id || mt_period_names_bounds(p, n, r, id));
    p->source = MT_PERIOD_OPTION;
    mt_mem_free(meant);
    return !ok ? mt_fail_nomem(err) : id ? MT_OK : no_such_name(n, r, wanted, err);
}

struct mt_period_names *mt_period_names_new(const struct mt_replay *r)
{
    struct mt_period_names *n = mt_mem_zalloc(1, sizeof *n);
    if (!n) {
        return NULL;
    }
    n->s = r->snapshot;
    mt_intern_init(&n->names, &n->arena, 0);
    for (size_t i = 0; i < n->s->n_annotations; i++) {
        if (!count_name(n, &n->s->annotations[i], r->device)) {
            mt_period_names_free(n);
            return NULL;
        }
    }
    return n;
}
