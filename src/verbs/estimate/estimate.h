/* SPDX-License-Identifier: MIT */
/*
 * How much memory a model should need on one device, term by term, each with its least, its most
 * and what lies between: arithmetic over the lists of parts.h, not measurement. All sizes are
 * bytes. memtool-estimate(1) states the formulas and where they come from.
 */
#ifndef MEMTOOL_VERBS_ESTIMATE_ESTIMATE_H
#define MEMTOOL_VERBS_ESTIMATE_ESTIMATE_H

#include "verbs/estimate/model/parts.h"

enum mt_optimizer {
    MT_OPTIMIZER_ADAM, /* Adam and AdamW: two moments */
    MT_OPTIMIZER_ADAM8BIT,
    MT_OPTIMIZER_ADAFACTOR,
    MT_OPTIMIZER_MOMENTUM, /* SGD with momentum */
    MT_OPTIMIZER_LION,
    MT_OPTIMIZER_MUON, /* one moment of matrices in layers, AdamW for the rest */
    MT_OPTIMIZER_SGD,
    MT_OPTIMIZER_COUNT
};

/* Who keeps what of each parameter that is trained; the table stands in states.c. */
enum mt_account {
    MT_ACCOUNT_MIXED,    /* DeepSpeed, ZeRO */
    MT_ACCOUNT_AMP,      /* torch.autocast over fp32 parameters */
    MT_ACCOUNT_PURE,     /* torch.optim on parameters of --dtype, no copy */
    MT_ACCOUNT_MEGATRON, /* Megatron-LM: gradients in fp32 */
    MT_ACCOUNT_NEMO,     /* gradients in both */
    MT_ACCOUNT_COUNT
};

enum mt_recompute { MT_RECOMPUTE_NONE, MT_RECOMPUTE_SELECTIVE, MT_RECOMPUTE_FULL };
enum mt_lora_targets { MT_LORA_ALL, MT_LORA_ATTENTION, MT_LORA_MLP };
enum mt_offload { MT_OFFLOAD_NONE, MT_OFFLOAD_OPTIMIZER, MT_OFFLOAD_ALL };

struct mt_estimate_options {
    bool inference;
    enum mt_dtype dtype; /* of computing, and of weights that are not quantized */
    int grad_dtype;      /* enum mt_dtype + 1; 0: as the account says */
    enum mt_dtype kv_dtype;
    enum mt_optimizer optimizer;
    enum mt_account account;
    int zero;                 /* ZeRO or FSDP stage, 0 to 3 */
    uint64_t ranks;           /* data-parallel size, at least 1 */
    uint64_t tp, pp, ep, cp;  /* tensor, pipeline, expert, context parallel sizes, at least 1 */
    bool sp;                  /* sequence parallel: what tp leaves whole is divided too */
    uint64_t micro_batches;   /* of a step, for the pipeline; 0: as many as stages */
    uint64_t batch, sequence; /* of one device; 0: no activations, no KV cache */
    enum mt_recompute recompute;
    bool eager;      /* attention keeps its matrix; else flash attention */
    bool fused_loss; /* no logits for all tokens */
    uint64_t lora;   /* rank of the adapters, 0: all parameters are trained */
    enum mt_lora_targets lora_targets;
    enum mt_offload offload;
    uint64_t page; /* tokens of a page of the KV cache, at least 1 */
    uint64_t workspace, context;
    double fragmentation; /* share of reserved memory that is lost, [0, 1); < 0: not known */
    const char *fragmentation_from; /* for the doubt; NULL: not given */
    uint64_t card;                  /* bytes of the device, 0: not known */
};
void mt_estimate_options_init(struct mt_estimate_options *o);

/* The parts of a total. id, name in JSON */
#define MT_ESTIMATE_TERMS(X)                                                                       \
    X(WEIGHTS, "weights")                                                                          \
    X(GRADIENTS, "gradients")                                                                      \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(GATHERED, "gathered")                                                                        \
    X(ACTIVATIONS, "activations")                                                                  \
    X(LOGITS, "logits")                                                                            \
    X(KV_CACHE, "kv_cache")                                                                        \
    X(STATE, "state")                                                                              \
    X(WORKSPACE, "workspace")                                                                      \
    X(FRAGMENTATION, "fragmentation")                                                              \
    X(CONTEXT, "context")

enum mt_estimate_id {
#define X(id, name) MT_TERM_##id,
    MT_ESTIMATE_TERMS(X)
#undef X
        MT_TERM_COUNT
};

struct mt_range {
    uint64_t low, middle, high;
};

struct mt_estimate_term {
    enum mt_estimate_id id;
    struct mt_range bytes;
    char formula[240]; /* with the numbers in it */
    char doubt[240];   /* what it assumes or leaves out; empty when exact */
};

enum mt_verdict { MT_VERDICT_FITS, MT_VERDICT_TIGHT, MT_VERDICT_NOT };

struct mt_estimate {
    struct mt_estimate_term terms[MT_TERM_COUNT];
    size_t n;
    uint64_t states;     /* weights, gradients, optimizer of this device */
    uint64_t states_all; /* the same of the whole model, once */
    uint64_t trained;    /* parameters that are trained */
    uint64_t on_host;    /* offloaded */
    uint64_t stage;      /* pipeline stage that needs most */
    struct mt_range total;
    size_t largest; /* index into terms */
};

/* Errors: MT_LIMIT (beyond 64 bits). */
enum mt_status mt_estimate_find(struct mt_estimate *e, const struct mt_model *m,
                                const struct mt_estimate_options *o, struct mt_error *err)
    MT_NODISCARD;

const char *mt_estimate_term_name(enum mt_estimate_id id);
const struct mt_estimate_term *mt_estimate_term(const struct mt_estimate *e,
                                                enum mt_estimate_id id); /* NULL: not there */
/* What a snapshot should hold in the category of a term: activations are told with the logits of
 * the loss, which no call stack tells apart. False: the term is not there. */
bool mt_estimate_expected(const struct mt_estimate *e, enum mt_estimate_id id,
                          struct mt_range *expected);
/* Of a total on a card; `card` is not 0. */
enum mt_verdict mt_estimate_verdict(const struct mt_range *total, uint64_t card);
const char *mt_verdict_name(enum mt_verdict v); /* "fits", "tight", "does not fit" */

#endif
