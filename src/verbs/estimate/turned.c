/* SPDX-License-Identifier: MIT */
/* What fits: searches over the estimate, which grows with everything that is searched for. */
#include "verbs/estimate/turned.h"

#include <math.h>

/* ---- the largest batch and sequence ---- */

struct search {
    const struct mt_model *m;
    struct mt_estimate_options o;
    uint64_t *field; /* of o */
    bool surely;
};

static bool fits(struct search *s, uint64_t n)
{
    struct mt_estimate e;
    struct mt_error err;
    *s->field = n;
    if (mt_estimate_find(&e, s->m, &s->o, &err) != MT_OK) {
        return false;
    }
    return (s->surely ? e.total.high : e.total.low) <= s->o.card;
}

static uint64_t largest(struct search *s, uint64_t most)
{
    uint64_t low = 0, high = 1;
    while (high < most && fits(s, high)) {
        low = high;
        high = high > most / 2 ? most : high * 2;
    }
    if (high == most && fits(s, most)) {
        return most;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fits(s, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

enum { MOST_BATCH = 1 << 16, MOST_SEQUENCE = 1 << 24 };

static struct mt_largest largest_of(struct search *s, uint64_t *field, uint64_t most)
{
    struct mt_largest l;
    uint64_t before = *field;
    s->field = field;
    s->surely = true;
    l.surely = largest(s, most);
    s->surely = false;
    l.perhaps = largest(s, most);
    *field = before;
    return l;
}

static void find_largest(struct mt_turned *t, const struct mt_model *m,
                         const struct mt_estimate_options *o)
{
    struct search s = {.m = m, .o = *o};
    if (!o->card || !o->batch || !o->sequence || !m->works.n) {
        return;
    }
    t->counted = true;
    t->batch = largest_of(&s, &s.o.batch, MOST_BATCH);
    t->sequence = largest_of(&s, &s.o.sequence, MOST_SEQUENCE);
}

/* ---- cards ---- */

static enum mt_status find_cards(struct mt_turned *t, const struct mt_model *m,
                                 const struct mt_estimate_options *o, struct mt_error *err)
{
    enum { MOST_TP = 64, MOST_RANKS = 1024 };
    struct mt_estimate_options with = *o;
    struct mt_estimate e;
    MT_TRY(mt_estimate_find(&e, m, o, err));
    for (size_t i = 0; i < MT_CARDS_N && !t->smallest; i++) {
        t->smallest = e.total.high <= MT_CARDS[i].bytes ? &MT_CARDS[i] : NULL;
    }
    bool one = o->inference ? o->tp == 1 : o->ranks == 1;
    bool already = o->card && e.total.high <= o->card;
    t->spread = o->inference ? "--tp" : "--zero 3 --ranks";
    uint64_t most = o->inference ? MOST_TP : MOST_RANKS;
    with.zero = o->inference ? 0 : 3;
    for (uint64_t n = 2; one && o->card && !already && n <= most && !t->cards; n *= 2) {
        *(o->inference ? &with.tp : &with.ranks) = n;
        MT_TRY(mt_estimate_find(&e, m, &with, err));
        t->cards = e.total.high <= o->card ? n : 0;
    }
    return MT_OK;
}

/* ---- what to change ---- */

static bool full_recompute(struct mt_estimate_options *o)
{
    bool changes = !o->inference && o->batch && o->recompute != MT_RECOMPUTE_FULL;
    o->recompute = MT_RECOMPUTE_FULL;
    return changes;
}

static bool fuse_loss(struct mt_estimate_options *o)
{
    bool changes = !o->inference && o->batch && !o->fused_loss;
    o->fused_loss = true;
    return changes;
}

static bool shard(struct mt_estimate_options *o)
{
    bool changes = !o->inference && o->ranks > 1 && o->zero < 3;
    o->zero = 3;
    return changes;
}

static bool eight_bit_optimizer(struct mt_estimate_options *o)
{
    bool changes = !o->inference && o->optimizer == MT_OPTIMIZER_ADAM && !o->lora;
    o->optimizer = MT_OPTIMIZER_ADAM8BIT;
    return changes;
}

static bool adapters(struct mt_estimate_options *o)
{
    bool changes = !o->inference && !o->lora;
    o->lora = 16;
    return changes;
}

static bool half_batch(struct mt_estimate_options *o)
{
    bool changes = o->batch > 1;
    o->batch /= changes ? 2 : 1;
    return changes;
}

static bool narrow_cache(struct mt_estimate_options *o)
{
    bool changes = o->inference && mt_dtype_bits(o->kv_dtype) > 8;
    o->kv_dtype = MT_FP8;
    return changes;
}

static bool split_tensors(struct mt_estimate_options *o)
{
    o->tp *= 2;
    return o->inference;
}

static const struct {
    const char *what;
    bool (*change)(struct mt_estimate_options *o); /* false: it is so already */
} changes[] = {
    {"--recompute full", full_recompute},
    {"--fused-loss", fuse_loss},
    {"--zero 3", shard},
    {"--kv-dtype fp8", narrow_cache},
    {"--optimizer adam8bit", eight_bit_optimizer},
    {"half the batch", half_batch},
    {"--lora 16", adapters},
    {"twice the --tp", split_tensors},
};
_Static_assert(sizeof changes / sizeof changes[0] <= MT_CHANGES_MOST, "room for each");

static void insert(struct mt_turned *t, struct mt_change c)
{
    size_t i = t->n_changes++;
    for (; i > 0 && t->changes[i - 1].saves < c.saves; i--) {
        t->changes[i] = t->changes[i - 1];
    }
    t->changes[i] = c;
}

static enum mt_status find_changes(struct mt_turned *t, const struct mt_model *m,
                                   const struct mt_estimate_options *o, struct mt_error *err)
{
    struct mt_estimate now, then;
    MT_TRY(mt_estimate_find(&now, m, o, err));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct mt_estimate_options with = *o;
        if (!changes[i].change(&with)) {
            continue;
        }
        MT_TRY(mt_estimate_find(&then, m, &with, err));
        int64_t saves = (int64_t)(now.total.middle - then.total.middle);
        if (now.total.middle > then.total.middle && saves > (int64_t)(now.total.middle / 100)) {
            insert(t, (struct mt_change){changes[i].what, saves, then.total});
        }
    }
    return MT_OK;
}

enum mt_status mt_turned_find(struct mt_turned *t, const struct mt_model *m,
                              const struct mt_estimate_options *o, struct mt_error *err)
{
    *t = (struct mt_turned){0};
    MT_TRY(find_cards(t, m, o, err));
    find_largest(t, m, o);
    return o->card ? find_changes(t, m, o, err) : MT_OK;
}

/* ---- the largest model of a card ---- */

void mt_ways_find(struct mt_way ways[MT_WAYS], uint64_t card)
{
    static const struct mt_way known[MT_WAYS] = {
        {"serve in bf16", 2, 0},
        {"serve in fp8", 1, 0},
        {"serve in 4 bits, scales of 128", 4.15625 / 8, 0},
        {"train, AdamW in fp32", 16, 0},
        {"train, bf16 with fp32 copy, AdamW", 16, 0},
        {"train, pure bf16 AdamW", 8, 0},
        {"train adapters (LoRA) on bf16", 2, 0},
        {"train adapters (QLoRA) on nf4", 4.127 / 8, 0},
    };
    for (size_t i = 0; i < MT_WAYS; i++) {
        ways[i] = known[i];
        ways[i].params = (uint64_t)((double)card * 0.9 / known[i].bytes);
    }
}

/* ---- serving ---- */

/* Up to two decimals, as engines are told. */
static double up(double x)
{
    double rounded = ceil(x * 100) / 100;
    return rounded > 0.99 ? 0.99 : rounded;
}

static uint64_t middle_of(const struct mt_estimate *e, enum mt_estimate_id id)
{
    const struct mt_estimate_term *t = mt_estimate_term(e, id);
    return t ? t->bytes.middle : 0;
}

/* By the same search as the largest batch, so that the two say the same. */
void mt_serving_find(struct mt_serving *s, const struct mt_model *m,
                     const struct mt_estimate_options *o)
{
    struct search of = {.m = m, .o = *o, .surely = true};
    struct mt_estimate e;
    struct mt_error err;
    *s = (struct mt_serving){0};
    if (!o->batch || !o->sequence || !m->works.n) {
        return;
    }
    of.field = &of.o.batch;
    s->sequences = largest(&of, MOST_BATCH);
    of.o.batch = s->sequences ? s->sequences : 1;
    if (mt_estimate_find(&e, m, &of.o, &err) != MT_OK) {
        return;
    }
    uint64_t cache = middle_of(&e, MT_TERM_KV_CACHE) + middle_of(&e, MT_TERM_STATE);
    uint64_t rest = e.total.high - cache;
    s->left = o->card > rest ? o->card - rest : 0;
    s->a_sequence = cache / of.o.batch;
    s->utilization = up((double)e.total.high / (double)o->card);
    s->fraction = up((double)(middle_of(&e, MT_TERM_WEIGHTS) + cache) / (double)o->card);
    of.o.batch = 1;
    of.field = &of.o.sequence;
    s->longest = largest(&of, m->positions ? m->positions : MOST_SEQUENCE);
}
