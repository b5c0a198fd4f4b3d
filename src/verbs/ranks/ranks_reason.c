/* SPDX-License-Identifier: MIT */
/* Why a rank is odd, one sentence for each oddity. */
#include <inttypes.h>

#include "verbs/ranks/print.h"

static const struct mt_rank *rank_of(const struct mt_ranks *ranks, const struct mt_rank_outlier *o)
{
    return &ranks->ranks.v[o->index];
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- the reason, one sentence for each oddity ---- */

static void add_sentence(struct mt_buf *b, const char *text)
{
    mt_buf_text(b, b->n ? " " : "");
    mt_buf_text(b, text);
}

void mt_rank_stack_label(struct mt_buf *b, const struct mt_report *r, const struct mt_ranks *ranks,
                         uint32_t stack)
{
    struct mt_report one = *r;
    one.stack_lines = 1;
    mt_stack_label_inner(b, &ranks->names, stack, &one);
}

/* Of two ranks the other is not "most". */
static const char *others(const struct mt_ranks *ranks, const char *most, const char *one)
{
    return ranks->ranks.n == 2 ? one : most;
}

static const char *of_stage(const struct mt_ranks_result *x)
{
    return x->stages.n ? " of its stage" : "";
}

/* Which stack it is that has more allocations than in the median rank. */
static void explain_more(struct mt_buf *b, const struct mt_report *r, const struct mt_ranks *ranks,
                         const struct mt_rank_outlier *o)
{
    for (size_t i = 0; i < o->stacks.n; i++) {
        const struct mt_rank_excess *e = &o->stacks.v[i];
        if (e->stack && e->median_count && e->count > e->median_count) {
            mt_buf_printf(b, " It keeps memory that the others free: %" PRIu64 " more of ",
                          e->count - e->median_count);
            mt_rank_stack_label(b, r, ranks, e->stack);
            mt_buf_text(b, ".");
            return;
        }
    }
}

/* Where the excess at the peak comes from. */
static void explain_high(struct mt_buf *b, const struct mt_report *r, const struct mt_ranks *ranks,
                         const struct mt_ranks_result *x, const struct mt_rank_outlier *o)
{
    uint64_t peak = rank_of(ranks, o)->figure[MT_RANK_PEAK];
    bool highest = peak == x->figure[MT_RANK_PEAK].max;
    mt_buf_printf(b, "Its peak is %s%s above the median%s.", highest ? "the highest, " : "",
                  mt_report_size(r, (uint64_t)o->delta).s, of_stage(x));
    if (!rank_of(ranks, o)->knows_stacks) {
        add_sentence(b, "These results hold no stacks: peak --json or the snapshot tells more.");
    } else if (o->last_stage) {
        add_sentence(b, "It is the last rank and holds the loss or output layer: the last stage of "
                        "a pipeline is expected to be the fullest.");
    } else if (o->larger + o->more + o->alone == 0) {
        add_sentence(b, "The difference lies in memory without a stack, or below the rows of these "
                        "results.");
    } else if (o->larger >= o->more && o->larger >= o->alone) {
        mt_buf_text(b, " The same allocations are ");
        if (o->factor > 0) {
            mt_buf_printf(b, "%.1f times as large as", o->factor);
        } else {
            mt_buf_text(b, "larger than");
        }
        mt_buf_text(b, " elsewhere: longer sequences or a larger batch.");
    } else if (o->alone > o->more) {
        mt_buf_printf(b, " %s of it lies in stacks that %s not have.",
                      mt_report_size(r, o->alone).s,
                      others(ranks, "most other ranks do", "the other rank does"));
    } else {
        explain_more(b, r, ranks, o);
    }
}

/* Whether a higher peak or what lies beside it makes it reserve more. */
static void explain_reserved(struct mt_buf *b, const struct mt_report *r,
                             const struct mt_rank *rank, const struct mt_rank_outlier *o)
{
    if (!(rank->known >> MT_RANK_PEAK & 1)) {
        add_sentence(b, "Its peak is not in these results: peak --json or the snapshot tells why.");
    } else if (o->delta > 0 && (uint64_t)o->delta > o->reserved_delta / 2) {
        mt_buf_printf(b, " Its peak is %s above the median too.",
                      mt_report_size(r, (uint64_t)o->delta).s);
    } else {
        add_sentence(b, "Its peak does not explain that; fragmentation may (memtool frag).");
    }
}

static void explain_growth(struct mt_buf *b, const struct mt_report *r,
                           const struct mt_ranks *ranks, const struct mt_rank_outlier *o)
{
    size_t steady = 0, unknown = 0, n = ranks->ranks.n - 1;
    for (size_t i = 0; i < ranks->ranks.n; i++) {
        const struct mt_rank *other = &ranks->ranks.v[i];
        steady += i != o->index && other->knows_growth && other->bytes_per_step <= 0;
        unknown += i != o->index && !other->knows_growth;
    }
    mt_buf_printf(b, "%sIts live memory rises by %s per step", b->n ? " " : "",
                  mt_report_size(r, (uint64_t)rank_of(ranks, o)->bytes_per_step).s);
    if (n && steady == n) {
        mt_buf_printf(b, ", that of the other%s does not.", n == 1 ? "" : "s");
    } else if (n && unknown == n) {
        mt_buf_printf(b, "; of the other%s it is not known.", n == 1 ? "" : "s");
    } else {
        mt_buf_printf(b, "; of the %zu other%s %zu %s not, and of %zu it is not known.", n,
                      n == 1 ? "" : "s", steady, steady == 1 ? "does" : "do", unknown);
    }
}

static void explain_device(struct mt_buf *b, const struct mt_ranks *ranks,
                           const struct mt_rank_outlier *o)
{
    mt_buf_printf(b,
                  "%sIts memory is on device %" PRId32 ", as that of rank %" PRId64
                  " is, while most ranks have a device of their own: look at LOCAL_RANK and at "
                  "torch.cuda.set_device().",
                  b->n ? " " : "", rank_of(ranks, o)->device, ranks->ranks.v[o->shares].rank);
}

static void explain_others(struct mt_buf *b, const struct mt_report *r,
                           const struct mt_ranks *ranks, const struct mt_ranks_result *x,
                           const struct mt_rank_outlier *o)
{
    const struct mt_rank *rank = rank_of(ranks, o);
    if (o->odd & MT_ODD_LOW) {
        mt_buf_printf(b, "Its peak is %s below the median%s: less work, or it stopped early.",
                      mt_report_size(r, (uint64_t)-o->delta).s, of_stage(x));
    }
    if (o->odd & MT_ODD_RESERVED) {
        mt_buf_printf(b, "%sIt reserves %s more than the median%s.", b->n ? " " : "",
                      mt_report_size(r, o->reserved_delta).s, of_stage(x));
        explain_reserved(b, r, rank, o);
    }
    if (o->odd & MT_ODD_GROWS) {
        explain_growth(b, r, ranks, o);
    }
    if (o->odd & MT_ODD_OOM) {
        add_sentence(b, others(ranks, "It ran out of memory; most others did not.",
                               "It ran out of memory; the other rank did not."));
    }
    if (o->odd & MT_ODD_OUTSIDE) {
        mt_buf_printf(b,
                      "%s%s on its device are not its own (median %s): contexts of other ranks "
                      "that touched this device, or other programs. Each rank must choose its "
                      "device before the first CUDA call.",
                      b->n ? " " : "", mt_report_size(r, rank->outside_bytes).s,
                      mt_report_size(r, o->outside_median).s);
    }
    if (o->odd & MT_ODD_SHARES) {
        explain_device(b, ranks, o);
    }
    if (o->odd & MT_ODD_TWO_DEVICES) {
        mt_buf_printf(b,
                      "%sIt also holds %s on device %" PRId32
                      ": with one device a rank, that belongs to another one.",
                      b->n ? " " : "", mt_report_size(r, rank->second_bytes).s,
                      rank->second_device);
    }
    if (o->odd & MT_ODD_UNEXPLAINED) {
        mt_buf_printf(b, "%s%s more than elsewhere have no stack.", b->n ? " " : "",
                      mt_report_size(r, above(o->unexplained, o->unexplained_median)).s);
    }
}

void mt_rank_reason(struct mt_buf *b, const struct mt_report *r, const struct mt_ranks *ranks,
                    const struct mt_ranks_result *x, const struct mt_rank_outlier *o)
{
    mt_buf_reset(b);
    if (o->odd & MT_ODD_HIGH) {
        explain_high(b, r, ranks, x, o);
    }
    explain_others(b, r, ranks, x, o);
}
