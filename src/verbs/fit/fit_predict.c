/* SPDX-License-Identifier: MIT */
/*
 * One size, replayed. The range is what these runs span: each order in which the driver may hand
 * out addresses; calls that lie on no law small and large; and, far from the recordings, sizes a
 * little off, whose share of unused memory shows how much a small change of the program does.
 */
#include "verbs/fit/fit_core.h"

struct asked {
    struct mt_fit *fit;
    const struct mt_fit_question *question;
    const struct mt_alloc_settings *settings;
    struct mt_fit_run *out;
};

static void widen(struct mt_fit_run *out, uint64_t reserved)
{
    out->low = reserved < out->low ? reserved : out->low;
    out->high = reserved > out->high ? reserved : out->high;
}

static void take(struct mt_fit_run *out, const struct trial *t)
{
    widen(out, t->reserved);
    if (t->refused && out->verdict == MT_SIM_FITS) {
        out->verdict = MT_SIM_OUT_OF_MEMORY;
        out->refused = t->refused;
        out->refused_stack = t->refused_stack;
    }
}

/* The sizes of the laws, under every order of addresses; those of calls on no law small and large.
 * An expandable segment has one range of addresses: there the order decides nothing. The first is
 * what is predicted. */
static enum mt_status try_orders(const struct asked *a, struct mt_error *err)
{
    const size_t *laws = a->fit->law_counts;
    bool some = laws[MT_FIT_UNKNOWN] || laws[MT_FIT_UNCONFIRMED];
    int orders = a->settings->expandable_segments ? 1 : MT_DEVICE_ORDERS;
    enum mt_device_order likely =
        orders == 1 ? (enum mt_device_order)0 : a->fit->order_of_addresses;
    struct trial list[TRIALS] = {{.size = a->out->size, .order = likely}};
    size_t n = 1;
    for (int o = 0; o < orders; o++) {
        if (o != (int)likely) {
            list[n++] = (struct trial){.size = a->out->size, .order = (enum mt_device_order)o};
        }
    }
    for (int g = GUESS_LOW; some && g < GUESSES; g++) {
        list[n++] = (struct trial){.size = a->out->size, .guess = (enum guess)g, .order = likely};
    }
    MT_TRY(mt_fit_run_trials(a->fit, a->settings, list, n, err));
    for (size_t i = 0; i < n; i++) {
        take(a->out, &list[i]);
    }
    a->out->reserved = list[0].reserved;
    a->out->requested = list[0].requested;
    a->out->peak_stack = list[0].stack;
    return MT_OK;
}

/* What the size would reserve with the share of unused memory that a size near it has. */
static enum mt_status try_neighbours(const struct asked *a, struct mt_error *err)
{
    static const int off[] = {-50, -30, -15, 15, 30, 50}; /* thousandths */
    uint64_t size = a->out->size, last = size;
    struct trial list[MT_COUNT(off)];
    size_t n = 0;
    for (size_t i = 0; i < MT_COUNT(off); i++) {
        double away = (double)size * off[i] / 1000.0;
        uint64_t at = (uint64_t)((double)size + away + 0.5);
        at = at == size ? (off[i] < 0 ? size - 1 : size + 1) : at;
        if (at != last && at != 0) {
            list[n++] = (struct trial){.size = at, .order = a->fit->order_of_addresses};
            last = at;
        }
    }
    MT_TRY(mt_fit_run_trials(a->fit, a->settings, list, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct trial *t = &list[i];
        if (t->requested > 0 && !t->refused) {
            widen(a->out, (uint64_t)((double)t->reserved / (double)t->requested *
                                     (double)a->out->requested));
        }
    }
    return MT_OK;
}

/* Beyond one and a half times the largest recording that was used, or as far below the smallest. */
static bool is_far(const struct mt_fit *f, uint64_t size)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < f->n; i++) {
        uint64_t at = f->recordings[i].size;
        if (f->recordings[i].used) {
            least = at < least ? at : least;
            most = at > most ? at : most;
        }
    }
    return size / 3 > most / 2 || size < least / 3 * 2;
}

/* Whether the largest call that a library chooses is small beside the peak at a size. */
static bool is_small_at(const struct mt_fit *f, uint64_t size, uint64_t reserved)
{
    uint64_t largest = 0;
    bool some = f->law_counts[MT_FIT_UNKNOWN] || f->law_counts[MT_FIT_UNCONFIRMED];
    for (size_t i = 0; some && i < f->calls[f->base].list.n; i++) {
        if (mt_fit_is_chosen(f, i)) {
            uint64_t bytes = mt_fit_size_of(f, i, size, GUESS_HIGH);
            largest = bytes > largest ? bytes : largest;
        }
    }
    return largest <= reserved / 100 * MOST_UNKNOWN;
}

/* Whatever a library chooses there, the figure stands. */
static bool laws_suffice(const struct mt_fit *f, const struct mt_fit_run *out)
{
    const struct mt_fit_recording *base = &f->recordings[f->base];
    return is_small_at(f, base->size, base->reserved) && is_small_at(f, out->size, out->reserved);
}

/* Whoever fits reserves no more than the bounds let it. */
static void cap(const struct mt_fit_question *q, struct mt_fit_run *out)
{
    const uint64_t bounds[] = {q->limit, q->capacity};
    for (size_t i = 0; i < MT_COUNT(bounds); i++) {
        out->high = bounds[i] && out->high > bounds[i] ? bounds[i] : out->high;
    }
}

/* The range is no smaller than what the recordings bear out. */
static void add_margin(const struct mt_fit *f, struct mt_fit_run *out)
{
    size_t used = 0;
    for (size_t i = 0; i < f->n; i++) {
        used += f->recordings[i].used;
    }
    double margin = is_far(f, out->size) ? MARGIN_OF_FAR : used == 2 ? MARGIN_OF_TWO : 0;
    double reserved = (double)out->reserved, off = reserved * margin / 100;
    bool larger = out->size > f->recordings[f->base].size;
    widen(out, (uint64_t)(reserved - off));
    widen(out, (uint64_t)(reserved + off));
    if (larger) {
        widen(out, (uint64_t)(reserved * f->off_low));
        widen(out, (uint64_t)(reserved * f->off_high));
    }
}

static enum mt_status predict(struct mt_fit *f, uint64_t size, const struct mt_fit_question *q,
                              bool neighbours, struct mt_fit_run *out, struct mt_error *err)
{
    struct asked a = {f, q, q->settings ? q->settings : mt_sim_settings(f->sim), out};
    *out = (struct mt_fit_run){.size = size, .low = UINT64_MAX, .verdict = MT_SIM_FITS};
    mt_sim_set_bounds(f->sim, q->limit, q->capacity);
    enum mt_status status = try_orders(&a, err);
    bool fits = status == MT_OK && out->verdict == MT_SIM_FITS;
    if (fits) {
        add_margin(f, out);
        out->known =
            out->high - out->low <= out->reserved / 100 * MOST_RANGE && laws_suffice(f, out);
    }
    if (fits && neighbours && is_far(f, size)) {
        status = try_neighbours(&a, err);
    }
    if (fits) {
        cap(q, out);
    }
    return status;
}

enum mt_status mt_fit_predict(struct mt_fit *f, uint64_t size, const struct mt_fit_question *q,
                              struct mt_fit_run *out, struct mt_error *err)
{
    MT_TRY(predict(f, size, q, true, out, err));
    if (!laws_suffice(f, out) || (out->verdict == MT_SIM_FITS && !out->known)) {
        out->verdict = MT_SIM_UNKNOWN;
    }
    return MT_OK;
}

enum mt_status mt_fit_largest(struct mt_fit *f, const struct mt_fit_question *q,
                              struct mt_fit_run *fits, struct mt_fit_run *next,
                              struct mt_error *err)
{
    uint64_t base = f->recordings[f->base].size, low = 0, high = 0;
    struct mt_fit_run run;
    *fits = *next = (struct mt_fit_run){.size = 0};
    /* Doubles from the base until it fails, or halves until it fits; then the middle of both. */
    for (uint64_t at = base;
         at / SEARCH_FACTOR <= base && high != 1 && (low == 0 || high == 0 || high - low > 1);) {
        MT_TRY(predict(f, at, q, false, &run, err));
        if (run.verdict == MT_SIM_FITS) {
            low = at;
            *fits = run;
        } else {
            high = at;
            *next = run;
        }
        at = high == 0 ? low * 2 : low == 0 ? high / 2 : low + (high - low) / 2;
    }
    if (!laws_suffice(f, low ? fits : next)) {
        fits->verdict = next->verdict = MT_SIM_UNKNOWN;
    }
    return MT_OK;
}

enum mt_status mt_fit_find_cures(struct mt_fit *f, uint64_t size, const struct mt_fit_question *q,
                                 struct mt_sim_cures *out, struct mt_error *err)
{
    uint64_t *sizes = mt_mem_alloc(f->calls[f->base].list.n, sizeof *sizes);
    if (!sizes) {
        return mt_fail_nomem(err);
    }
    struct mt_sim_patient patient = {.snapshot = f->snapshots[f->base],
                                     .device = f->recordings[f->base].device,
                                     .options = {.release = mt_sim_release(f->sim)},
                                     .sizes = sizes,
                                     .limit = q->limit,
                                     .capacity = q->capacity};
    mt_fit_sizes_at(f, size, GUESS_MIDDLE, sizes);
    enum mt_status status = mt_sim_find_cures(&patient, out, err);
    mt_mem_free(sizes);
    return status;
}
