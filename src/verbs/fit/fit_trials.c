/* SPDX-License-Identifier: MIT */
/*
 * What the recordings say of the method: in which order of addresses they come out as they were,
 * and how far off a recording is that took another path at a larger size.
 */
#include "verbs/fit/fit_core.h"

static enum mt_status reserved_at(struct mt_fit *f, size_t recording, enum mt_device_order order,
                                  uint64_t *reserved, struct mt_error *err)
{
    struct mt_sim_run run = {0};
    mt_fit_sizes_at(f, f->recordings[recording].size, GUESS_MIDDLE);
    mt_sim_set_sizes(f->sim, f->sizes);
    mt_sim_set_order(f->sim, order);
    enum mt_status status =
        mt_sim_what_if(f->sim, mt_sim_settings(f->sim), MT_STR(""), &run, NULL, err);
    *reserved = run.peak.reserved;
    mt_sim_run_release(&run);
    mt_sim_set_sizes(f->sim, NULL);
    return status;
}

/* How many recordings on the base's path come out as they were. *all: each of them. */
static enum mt_status try_order(struct mt_fit *f, enum mt_device_order order, size_t *right,
                                bool *all, struct mt_error *err)
{
    *right = 0;
    *all = true;
    for (size_t i = 0; i < f->n; i++) {
        uint64_t reserved = 0;
        if (f->recordings[i].same_path) {
            MT_TRY(reserved_at(f, i, order, &reserved, err));
            bool is = reserved == f->recordings[i].reserved;
            *right += is;
            *all &= is;
        }
    }
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
        uint64_t reserved;
        if (r->used || r->size < f->recordings[f->base].size) {
            continue;
        }
        MT_TRY(reserved_at(f, i, f->order_of_addresses, &reserved, err));
        double off = reserved ? (double)r->reserved / (double)reserved : 1;
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
