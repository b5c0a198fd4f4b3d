/* SPDX-License-Identifier: MIT */
/* Private to estimate/: what the terms of a total are made with. */
#ifndef MEMTOOL_VERBS_ESTIMATE_TERMS_H
#define MEMTOOL_VERBS_ESTIMATE_TERMS_H

#include "support/checked.h"
#include "support/units.h"
#include "torch/torch_rules.h"

#include "verbs/estimate/estimate.h"

struct mt_summing {
    const struct mt_model *m;
    const struct mt_estimate_options *o;
    struct mt_estimate *e;
    uint64_t stage;
    struct mt_torch_rules rules; /* PyTorch's defaults */
    uint64_t unsplit;            /* what blocks of the states have beyond their tensors */
    bool failed;                 /* something did not fit 64 bits */
};

struct mt_estimate_term *mt_term_add(struct mt_summing *x, enum mt_estimate_id id,
                                     struct mt_range bytes);
uint64_t mt_times(struct mt_summing *x, uint64_t a, uint64_t b);
uint64_t mt_plus(struct mt_summing *x, uint64_t a, uint64_t b);
static inline uint64_t mt_divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}
static inline struct mt_range mt_exactly(uint64_t bytes)
{
    return (struct mt_range){bytes, bytes, bytes};
}
/* Bytes of an element of activations and of what is computed with. */
uint64_t mt_compute_bytes(const struct mt_estimate_options *o);

/* Whether the stage that is summed holds the part or layer. */
bool mt_on_stage(const struct mt_summing *x, const struct mt_part *p);
bool mt_layer_on_stage(const struct mt_summing *x, uint32_t layer, bool tower);
/* Ranks that hold one share each of a part: of tensors and experts. */
uint64_t mt_shares(const struct mt_summing *x, const struct mt_part *p);
/* Whether adapters stand on it. */
bool mt_adapted(const struct mt_estimate_options *o, const struct mt_part *p);

/* Each adds its terms. */
void mt_add_states(struct mt_summing *x);
void mt_add_activations(struct mt_summing *x);
void mt_add_cache(struct mt_summing *x);
/* Gradients live on while nothing is computed: buffers of the framework. */
bool mt_gradients_stay(const struct mt_estimate_options *o);

#endif
