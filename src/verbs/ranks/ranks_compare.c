/* SPDX-License-Identifier: MIT */
/*
 * Which ranks are odd, and why. Everything is measured against the median over ranks, stack by
 * stack: what a rank holds beyond it is split into "the same allocations, larger", "more of the
 * same allocations" and "stacks that the others do not have". Which of the three prevails tells
 * longer inputs from memory that is kept, without knowing the model.
 */
#include "verbs/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "heap/findings/leaks.h"
#include "support/units.h"

/* A deviation of this many spreads is odd; 1.4826 turns a median deviation into a standard one. */
#define SPREADS 3.0
#define MEDIAN_TO_SIGMA 1.4826
/* Less than this outside the allocator is nothing to name: a CUDA context takes 0.3 to 1 GiB. */
#define OUTSIDE_MIN (256 * MT_MIB)
/* Growth below this is nothing to name: a tenth of a leak. */
#define GROWTH_MIN ((int64_t)MT_LEAK_THRESHOLD / 10)
/* Memory without a stack below this share of a peak is not worth a line. */
#define UNEXPLAINED_SHARE 0.05

struct comparison {
    struct mt_ranks *r;
    struct mt_ranks_result *out;
    int64_t stage;                                     /* only ranks of this one; -1: all */
    struct mt_rank_range figure[MT_RANK_FIGURE_COUNT]; /* of them */
    double threshold;
    uint64_t *scratch;      /* one a rank */
    uint64_t *median_bytes; /* by stack id */
    uint64_t *median_count; /* likewise */
    uint64_t cut;           /* results were cut off at rows of this size; 0: mostly whole */
    bool median_growing;    /* most ranks grow */
    struct mt_rank_range outside, unexplained;
};

static bool takes_part(const struct comparison *c, size_t index)
{
    return c->stage < 0 || c->r->ranks.v[index].stage == c->stage;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of values[0 .. n), which are sorted in place. */
static struct mt_rank_range range_of(uint64_t *values, size_t n)
{
    if (n == 0) {
        return (struct mt_rank_range){0};
    }
    qsort(values, n, sizeof *values, ascending);
    uint64_t lower = values[(n - 1) / 2], upper = values[n / 2];
    return (struct mt_rank_range){.min = values[0],
                                  .max = values[n - 1],
                                  .median = lower + (upper - lower) / 2,
                                  .lower = lower,
                                  .n = n};
}

static struct mt_rank_range figure_range(struct comparison *c, enum mt_rank_figure figure)
{
    size_t n = 0;
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        if (takes_part(c, i) && c->r->ranks.v[i].known >> figure & 1) {
            c->scratch[n++] = c->r->ranks.v[i].figure[figure];
        }
    }
    return range_of(c->scratch, n);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* How far from the median a figure may lie. */
static double allowed(struct comparison *c, enum mt_rank_figure figure)
{
    uint64_t median = c->figure[figure].lower;
    size_t n = 0;
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        if (takes_part(c, i) && c->r->ranks.v[i].known >> figure & 1) {
            c->scratch[n++] = distance(c->r->ranks.v[i].figure[figure], median);
        }
    }
    double spread = SPREADS * MEDIAN_TO_SIGMA * (double)range_of(c->scratch, n).lower;
    double share = c->threshold * (double)median;
    return spread > share ? spread : share;
}

/* ---- stacks over all ranks ---- */

struct cell {
    uint32_t stack;
    uint32_t rank;
    uint64_t bytes, count;
};

static int by_stack(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    return x->stack != y->stack ? (x->stack > y->stack) - (x->stack < y->stack)
                                : (x->rank > y->rank) - (x->rank < y->rank);
}

static uint64_t value_with_zeros(const uint64_t *values, size_t zeros, size_t index)
{
    return index < zeros ? 0 : values[index - zeros];
}

/* The lower median of `have` values and zeros for the ranks that have none; `mean` (NULL: not asked
 * for) is that of the two in the middle. */
static uint64_t median_with_zeros(uint64_t *values, size_t have, size_t all, uint64_t *mean)
{
    qsort(values, have, sizeof *values, ascending);
    uint64_t lower = value_with_zeros(values, all - have, (all - 1) / 2);
    if (mean) {
        *mean = lower + (value_with_zeros(values, all - have, all / 2) - lower) / 2;
    }
    return lower;
}

static bool add_common(struct comparison *c, const struct cell *cells, size_t n, size_t all)
{
    struct mt_rank_common row = {.stack = cells[0].stack, .ranks = n, .min = UINT64_MAX};
    for (size_t i = 0; i < n; i++) {
        c->scratch[i] = cells[i].bytes;
        row.min = cells[i].bytes < row.min ? cells[i].bytes : row.min;
        if (cells[i].bytes > row.max) {
            row.max = cells[i].bytes;
            row.max_index = cells[i].rank;
        }
    }
    row.min = n < all ? 0 : row.min;
    c->median_bytes[row.stack] = median_with_zeros(c->scratch, n, all, &row.median);
    for (size_t i = 0; i < n; i++) {
        c->scratch[i] = cells[i].count;
    }
    c->median_count[row.stack] = median_with_zeros(c->scratch, n, all, NULL);
    return c->stage >= 0 || mt_vec_push(&c->out->stacks, row);
}

static int wider_first(const void *a, const void *b)
{
    const struct mt_rank_common *x = a, *y = b;
    uint64_t dx = x->max - x->min, dy = y->max - y->min;
    if (dx != dy) {
        return dx < dy ? 1 : -1;
    }
    if (x->max != y->max) {
        return x->max < y->max ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static bool fill_cells(const struct comparison *c, struct cell *cells)
{
    const struct mt_ranks *r = c->r;
    size_t n = 0;
    for (size_t i = 0; i < r->ranks.n; i++) {
        for (size_t k = 0; takes_part(c, i) && k < r->ranks.v[i].stacks.n; k++) {
            const struct mt_rank_stack *row = &r->ranks.v[i].stacks.v[k];
            cells[n++] = (struct cell){row->stack, (uint32_t)i, row->bytes, row->count};
        }
    }
    qsort(cells, n, sizeof *cells, by_stack);
    return true;
}

static bool find_common(struct comparison *c)
{
    size_t n = 0, all = 0;
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        n += takes_part(c, i) ? c->r->ranks.v[i].stacks.n : 0;
        all += takes_part(c, i) && c->r->ranks.v[i].knows_stacks;
    }
    struct cell *cells = mt_mem_alloc(n, sizeof *cells);
    bool ok = cells && fill_cells(c, cells);
    for (size_t from = 0, to; from < n && ok; from = to) {
        for (to = from + 1; to < n && cells[to].stack == cells[from].stack; to++) {
        }
        ok = add_common(c, cells + from, to - from, all);
    }
    mt_mem_free(cells);
    if (ok && c->stage < 0 && c->out->stacks.n) {
        qsort(c->out->stacks.v, c->out->stacks.n, sizeof *c->out->stacks.v, wider_first);
    }
    return ok;
}

/* ---- one rank against the median ---- */

static int more_excess(const void *a, const void *b)
{
    const struct mt_rank_excess *x = a, *y = b;
    uint64_t dx = x->bytes - x->median_bytes, dy = y->bytes - y->median_bytes;
    return dx != dy ? (dx < dy ? 1 : -1) : (x->stack > y->stack) - (x->stack < y->stack);
}

/* Splits what a stack holds beyond the median: larger allocations at the usual number, and more of
 * them. */
static void split_excess(struct mt_rank_outlier *o, const struct mt_rank_excess *e)
{
    uint64_t excess = e->bytes - e->median_bytes;
    if (e->median_count == 0) {
        o->alone += excess;
        return;
    }
    double usual = (double)e->median_bytes / (double)e->median_count;
    double here = (double)e->bytes / (double)(e->count ? e->count : 1);
    double larger = (here - usual) * (double)e->median_count;
    if (larger > (double)excess || e->count <= e->median_count) {
        larger = (double)excess;
    }
    o->larger += larger > 0 ? (uint64_t)larger : 0;
    o->more += larger > 0 ? excess - (uint64_t)larger : excess;
}

static bool find_excess(struct comparison *c, struct mt_rank_outlier *o)
{
    const struct mt_rank *rank = &c->r->ranks.v[o->index];
    uint64_t usual = 0, here = 0; /* of stacks with the usual number of allocations, but larger */
    for (size_t i = 0; i < rank->stacks.n; i++) {
        const struct mt_rank_stack *row = &rank->stacks.v[i];
        struct mt_rank_excess e = {row->stack, row->bytes, row->count, c->median_bytes[row->stack],
                                   c->median_count[row->stack]};
        if (e.bytes <= e.median_bytes || (!e.median_count && e.bytes <= 2 * c->cut)) {
            continue; /* the others may have it below the cut */
        }
        if (e.stack) {
            split_excess(o, &e);
        }
        if (e.stack && e.count == e.median_count &&
            e.bytes - e.median_bytes > e.median_bytes / 10) {
            usual += e.median_bytes;
            here += e.bytes;
        }
        if (!mt_vec_push(&o->stacks, e)) {
            return false;
        }
    }
    o->factor = usual ? (double)here / (double)usual : 0;
    if (o->stacks.n) {
        qsort(o->stacks.v, o->stacks.n, sizeof *o->stacks.v, more_excess);
    }
    return true;
}

/* The last stage of a pipeline holds the output layer and the loss. */
static bool is_last_stage(const struct comparison *c, const struct mt_rank_outlier *o)
{
    static const struct mt_str words[] = {
        MT_STR_INIT("loss"),   MT_STR_INIT("cross_entropy"), MT_STR_INIT("lm_head"),
        MT_STR_INIT("logits"), MT_STR_INIT("log_softmax"),   MT_STR_INIT("criterion"),
        MT_STR_INIT("vocab"),  MT_STR_INIT("output_layer"),
    };
    const struct mt_snapshot *s = &c->r->names;
    if (c->stage >= 0 || o->index + 1 != c->r->ranks.n || o->stacks.n == 0 ||
        o->alone <= o->more + o->larger) {
        return false;
    }
    const struct mt_stack *stack = &s->stacks[o->stacks.v[0].stack];
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[stack->first + i]];
        for (size_t w = 0; w < MT_COUNT(words); w++) {
            if (mt_str_find(mt_frame_function(s, f), words[w]) != SIZE_MAX ||
                mt_str_find(mt_str_basename(mt_snapshot_str(s, f->filename)), words[w]) !=
                    SIZE_MAX) {
                return true;
            }
        }
    }
    return false;
}

/* The smallest row of a rank whose result was cut off. */
static uint64_t cut_of(const struct mt_rank *rank)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < rank->stacks.n; i++) {
        least = rank->stacks.v[i].bytes < least ? rank->stacks.v[i].bytes : least;
    }
    return rank->other_bytes && rank->stacks.n ? least : 0;
}

static uint64_t unexplained_of(const struct mt_rank *rank)
{
    return rank->stacks.n && rank->stacks.v[0].stack == 0 ? rank->stacks.v[0].bytes : 0;
}

/* What is odd beside the peak. */
static unsigned other_oddities(const struct comparison *c, const struct mt_rank *rank)
{
    const struct mt_rank_range *ooms = &c->out->figure[MT_RANK_OOMS];
    unsigned odd = 0;
    if (rank->knows_growth && rank->bytes_per_step >= GROWTH_MIN && !c->median_growing) {
        odd |= MT_ODD_GROWS;
    }
    if (rank->figure[MT_RANK_OOMS] > 0 && ooms->lower == 0) {
        odd |= MT_ODD_OOM;
    }
    if (rank->knows_outside && rank->outside_bytes > c->outside.lower + OUTSIDE_MIN) {
        odd |= MT_ODD_OUTSIDE;
    }
    if (rank->second_bytes > 0) {
        odd |= MT_ODD_TWO_DEVICES;
    }
    return odd;
}

static bool add_outlier(struct comparison *c, size_t index, const double *limit)
{
    const struct mt_rank *rank = &c->r->ranks.v[index];
    const struct mt_rank_range *peak = &c->figure[MT_RANK_PEAK];
    const struct mt_rank_range *reserved = &c->figure[MT_RANK_RESERVED];
    struct mt_rank_outlier o = {.index = index, .odd = other_oddities(c, rank)};
    o.odd |= mt_ranks_shared_device(c->r, index, &o.shares) ? MT_ODD_SHARES : 0;
    if (rank->known >> MT_RANK_PEAK & 1) {
        o.delta = (int64_t)(rank->figure[MT_RANK_PEAK] - peak->median);
        bool far = (double)distance(rank->figure[MT_RANK_PEAK], peak->lower) > limit[MT_RANK_PEAK];
        o.odd |= !far ? 0 : o.delta > 0 ? MT_ODD_HIGH : MT_ODD_LOW;
    }
    if (!(o.odd & (MT_ODD_HIGH | MT_ODD_LOW)) && (rank->known >> MT_RANK_RESERVED & 1) &&
        rank->figure[MT_RANK_RESERVED] > reserved->lower &&
        (double)(rank->figure[MT_RANK_RESERVED] - reserved->lower) > limit[MT_RANK_RESERVED]) {
        o.odd |= MT_ODD_RESERVED;
        o.reserved_delta = rank->figure[MT_RANK_RESERVED] - reserved->median;
    }
    o.outside_median = c->outside.lower;
    o.unexplained = unexplained_of(rank);
    o.unexplained_median = c->unexplained.lower;
    if ((o.odd & MT_ODD_HIGH) && o.unexplained > o.unexplained_median &&
        (double)(o.unexplained - o.unexplained_median) > UNEXPLAINED_SHARE * (double)peak->median &&
        o.unexplained - o.unexplained_median > (uint64_t)o.delta / 4 * 3) {
        o.odd |= MT_ODD_UNEXPLAINED;
    }
    if (!o.odd) {
        return true;
    }
    if (!find_excess(c, &o) || !mt_vec_push(&c->out->outliers, o)) {
        mt_vec_release(&o.stacks);
        return false;
    }
    c->out->outliers.v[c->out->outliers.n - 1].last_stage = is_last_stage(c, &o);
    return true;
}

static int higher_first(const void *a, const void *b)
{
    const struct mt_rank_outlier *x = a, *y = b;
    return x->delta != y->delta ? (x->delta < y->delta ? 1 : -1)
                                : (x->index > y->index) - (x->index < y->index);
}

static bool find_outliers(struct comparison *c)
{
    double limit[MT_RANK_FIGURE_COUNT];
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        limit[k] = allowed(c, (enum mt_rank_figure)k);
    }
    bool ok = true;
    for (size_t i = 0; i < c->r->ranks.n && c->r->ranks.n > 1 && ok; i++) {
        ok = !takes_part(c, i) || add_outlier(c, i, limit);
    }
    return ok;
}

/* ---- stages ---- */

static bool have_stages(const struct mt_ranks *r)
{
    bool several = false;
    for (size_t i = 0; i < r->ranks.n; i++) {
        if (r->ranks.v[i].stage < 0) {
            return false;
        }
        several |= r->ranks.v[i].stage != r->ranks.v[0].stage;
    }
    return several;
}

static int by_stage(const void *a, const void *b)
{
    const struct mt_rank_stage *x = a, *y = b;
    return (x->stage > y->stage) - (x->stage < y->stage);
}

static bool list_stages(struct comparison *c)
{
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        size_t k = 0;
        while (k < c->out->stages.n && c->out->stages.v[k].stage != c->r->ranks.v[i].stage) {
            k++;
        }
        struct mt_rank_stage stage = {.stage = c->r->ranks.v[i].stage};
        if (k == c->out->stages.n && !mt_vec_push(&c->out->stages, stage)) {
            return false;
        }
        c->out->stages.v[k].ranks++;
    }
    qsort(c->out->stages.v, c->out->stages.n, sizeof *c->out->stages.v, by_stage);
    return true;
}

static void find_odd_stages(struct comparison *c)
{
    for (size_t i = 1; i + 1 < c->out->stages.n; i++) {
        struct mt_rank_stage *stage = &c->out->stages.v[i];
        uint64_t before = stage[-1].peak.median, here = stage->peak.median;
        stage->odd = stage[-1].peak.n && stage->peak.n && here > before &&
                     (double)(here - before) > c->threshold * (double)before;
    }
}

/* Each rank against those of its stage. */
static bool compare_stages(struct comparison *c)
{
    size_t n_stacks = c->r->names.n_stacks;
    bool ok = list_stages(c);
    for (size_t i = 0; ok && i < c->out->stages.n; i++) {
        struct mt_rank_stage *stage = &c->out->stages.v[i];
        c->stage = stage->stage;
        memset(c->median_bytes, 0, n_stacks * sizeof *c->median_bytes);
        memset(c->median_count, 0, n_stacks * sizeof *c->median_count);
        for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
            c->figure[k] = figure_range(c, (enum mt_rank_figure)k);
        }
        stage->peak = c->figure[MT_RANK_PEAK];
        ok = find_common(c) && find_outliers(c);
    }
    find_odd_stages(c);
    return ok;
}

/* ---- all together ---- */

static void find_ranges(struct comparison *c)
{
    size_t outside = 0, growing = 0, grown = 0;
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        c->figure[k] = c->out->figure[k] = figure_range(c, (enum mt_rank_figure)k);
    }
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        const struct mt_rank *rank = &c->r->ranks.v[i];
        growing += rank->knows_growth;
        grown += rank->knows_growth && rank->bytes_per_step >= GROWTH_MIN;
        if (rank->knows_outside) {
            c->scratch[outside++] = rank->outside_bytes;
        }
    }
    c->outside = range_of(c->scratch, outside);
    c->median_growing = 2 * grown > growing;
    size_t n = 0;
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        if (c->r->ranks.v[i].knows_stacks) {
            c->scratch[n++] = unexplained_of(&c->r->ranks.v[i]);
        }
    }
    c->unexplained = range_of(c->scratch, n);
    n = 0;
    for (size_t i = 0; i < c->r->ranks.n; i++) {
        if (c->r->ranks.v[i].knows_stacks) {
            c->scratch[n++] = cut_of(&c->r->ranks.v[i]);
        }
    }
    c->cut = range_of(c->scratch, n).lower;
}

static int by_number(const void *a, const void *b)
{
    const struct mt_rank *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : mt_str_compare(x->file, y->file);
}

static bool prepare(struct comparison *c)
{
    size_t n_stacks = c->r->names.n_stacks;
    c->scratch = mt_mem_alloc(c->r->ranks.n + 1, sizeof *c->scratch);
    c->median_bytes = mt_mem_zalloc(n_stacks, sizeof *c->median_bytes);
    c->median_count = mt_mem_zalloc(n_stacks, sizeof *c->median_count);
    return c->scratch && c->median_bytes && c->median_count;
}

enum mt_status mt_ranks_compare(struct mt_ranks *r, double threshold, struct mt_ranks_result *out,
                                struct mt_error *err)
{
    *out = (struct mt_ranks_result){0};
    struct comparison c = {.r = r, .out = out, .threshold = threshold, .stage = -1};
    struct mt_builder *table = r->table;
    r->table = NULL;
    MT_TRY(mt_builder_finish(table, &r->names, err));
    if (r->ranks.n) {
        qsort(r->ranks.v, r->ranks.n, sizeof *r->ranks.v, by_number);
    }
    for (size_t i = 0; i < r->ranks.n; i++) {
        mt_rank_sort_stacks(&r->ranks.v[i]);
    }
    bool ok = prepare(&c);
    if (ok) {
        find_ranges(&c);
        ok = find_common(&c) && (have_stages(r) ? compare_stages(&c) : find_outliers(&c));
    }
    if (ok && out->outliers.n) {
        qsort(out->outliers.v, out->outliers.n, sizeof *out->outliers.v, higher_first);
    }
    mt_mem_free(c.scratch);
    mt_mem_free(c.median_bytes);
    mt_mem_free(c.median_count);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_ranks_result_release(struct mt_ranks_result *x)
{
    for (size_t i = 0; i < x->outliers.n; i++) {
        mt_vec_release(&x->outliers.v[i].stacks);
    }
    mt_vec_release(&x->outliers);
    mt_vec_release(&x->stages);
    mt_vec_release(&x->stacks);
}
