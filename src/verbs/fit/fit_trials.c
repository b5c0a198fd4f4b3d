/* SPDX-License-Identifier: MIT */
/*
 * What the recordings say of the method: in which order of addresses they come out as they were,
 * and how far off a recording is that took another path at a larger size.
 */
#include "verbs/fit/fit_core.h"

static void take(const struct mt_fit *f, const struct mt_sim_run *run, struct trial *t)
{
    t->reserved = run->peak.reserved;
    t->requested = (uint64_t)run->stats.stat[MT_STAT_REQUESTED_BYTES][MT_SLOT_ALL].peak;
    t->stack = mt_sim_stack_of(f->sim, run->allocated_peak_event);
    t->refused = run->ooms.n ? run->ooms.v[0].size : 0;
    t->refused_stack = run->ooms.n ? mt_sim_stack_of(f->sim, run->ooms.v[0].event) : 0;
}

/* The same sizes of calls. */
static bool is_same(const struct trial *x, const struct trial *y)
{
    return x->size == y->size && x->guess == y->guess;
}

enum mt_status mt_fit_run_trials(struct mt_fit *f, const struct mt_alloc_settings *settings,
                                 struct trial *list, size_t n, struct mt_error *err)
{
    struct mt_sim_try tries[TRIALS];
    size_t calls = f->calls[f->base].list.n, other = 1;
    for (size_t i = 1; i < n; i++) {
        other += !is_same(&list[i], &list[i - 1]);
    }
    uint64_t *sizes = mt_mem_alloc(other * calls, sizeof *sizes), *at = sizes;
    if (!sizes) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && is_same(&list[i], &list[i - 1]);
        at += i == 0 || same ? 0 : calls;
        if (!same) {
            mt_fit_sizes_at(f, list[i].size, list[i].guess, at);
        }
        const struct trial *t = &list[i];
        tries[i] = (struct mt_sim_try){.settings = settings, .order = t->order, .sizes = at};
    }
    enum mt_status status = mt_sim_try_all(f->sim, tries, n, err);
    for (size_t i = 0; i < n; i++) {
        take(f, &tries[i].run, &list[i]);
        mt_sim_run_release(&tries[i].run);
    }
    mt_mem_free(sizes);
    return status;
}

/* How many recordings on the base's path come out as they were. *all: each of them. */
static enum mt_status try_order(struct mt_fit *f, enum mt_device_order order, size_t *right,
                                bool *all, struct mt_error *err)
{
    struct trial list[MT_FIT_RECORDINGS];
    uint64_t were[MT_FIT_RECORDINGS];
    size_t n = 0;
    *right = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct mt_fit_recording *r = &f->recordings[i];
        if (r->same_path) {
            were[n] = r->reserved;
            list[n++] = (struct trial){.size = r->size, .order = order};
        }
    }
    MT_TRY(mt_fit_run_trials(f, mt_sim_settings(f->sim), list, n, err));
    for (size_t i = 0; i < n; i++) {
        *right += list[i].reserved == were[i];
    }
    *all = *right == n;
    return MT_OK;
}

static enum mt_status choose_order(struct mt_fit *f, struct mt_error *err)
{
    size_t most = 0, right;
    bool all = false;
    for (int o = 0; !all && o < MT_DEVICE_ORDERS; o++) {
        MT_TRY(try_order(f, (enum mt_device_order)o, &right, &all, err));
        if (right > most) {
            most = right;
            f->order_of_addresses = (enum mt_device_order)o;
        }
    }
    return MT_OK;
}

/* Larger recordings that are no points of the laws: what is predicted for them, and what was. */
static enum mt_status check_others(struct mt_fit *f, struct mt_error *err)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct mt_fit_recording *r = &f->recordings[i];
        struct trial t = {.size = r->size, .order = f->order_of_addresses};
        if (r->used || r->size < f->recordings[f->base].size) {
            continue;
        }
        MT_TRY(mt_fit_run_trials(f, mt_sim_settings(f->sim), &t, 1, err));
        double off = t.reserved ? (double)r->reserved / (double)t.reserved : 1;
        f->off_low = off < f->off_low ? off : f->off_low;
        f->off_high = off > f->off_high ? off : f->off_high;
    }
    return MT_OK;
}

enum mt_status mt_fit_try(struct mt_fit *f, struct mt_error *err)
{
    f->off_low = f->off_high = 1;
    MT_TRY(choose_order(f, err));
    return check_others(f, err);
}
