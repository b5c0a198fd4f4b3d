/* SPDX-License-Identifier: MIT */
/*
 * How much memory a model should need, term by term. Arithmetic, not measurement: every term
 * carries its formula and what it leaves out.
 */
#ifndef MEMTOOL_VERBS_ESTIMATE_ESTIMATE_H
#define MEMTOOL_VERBS_ESTIMATE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/error.h"
#include "support/str.h"

/* The shape of a transformer; 0 where not known. */
struct mt_model_shape {
    uint64_t params;     /* as given, or counted from the rest */
    bool params_counted; /* counted: biases of unusual layers may be missing */
    uint64_t layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
    uint64_t positions; /* rows of a learnt position table, as GPT-2 has */
    uint64_t experts;   /* mixture of experts: MLPs a layer, else 0 */
    bool gated;         /* an MLP of three matrices (SwiGLU), else of two */
    bool biased;        /* linear layers and norms with biases */
    bool tied;          /* the output layer shares the embedding */
};

/* Fills in what follows from the rest (head_dim, kv_heads, intermediate), and params when they are
 * 0 and the shape is known. False when a product does not fit 64 bits. */
bool mt_model_shape_complete(struct mt_model_shape *m) MT_NODISCARD;

enum mt_dtype { MT_FP32, MT_BF16, MT_FP16, MT_FP8, MT_INT8, MT_INT4, MT_DTYPE_COUNT };
/* Bits of one element. */
unsigned mt_dtype_bits(enum mt_dtype d);

enum mt_optimizer {
    MT_OPTIMIZER_ADAM,      /* Adam and AdamW: two moments in fp32 */
    MT_OPTIMIZER_ADAM8BIT,  /* two moments of one byte */
    MT_OPTIMIZER_ADAFACTOR, /* rows and columns of the second moment: next to nothing */
    MT_OPTIMIZER_MOMENTUM,  /* SGD with momentum, Lion: one moment in fp32 */
    MT_OPTIMIZER_SGD,       /* plain */
    MT_OPTIMIZER_COUNT
};

enum mt_checkpointing { MT_CHECKPOINT_NONE, MT_CHECKPOINT_SELECTIVE, MT_CHECKPOINT_FULL };

struct mt_estimate_options {
    struct mt_model_shape model;
    bool inference;
    enum mt_dtype dtype, grad_dtype, kv_dtype;
    enum mt_optimizer optimizer;
    bool no_master;           /* weights below fp32 without an fp32 copy */
    int zero;                 /* ZeRO or FSDP stage, 0 to 3 */
    uint64_t ranks;           /* data-parallel size that the stage divides by, at least 1 */
    uint64_t batch, sequence; /* of one device; 0: no activations, no KV cache */
    enum mt_checkpointing checkpointing;
    uint64_t workspace, context;    /* bytes */
    double fragmentation;           /* share of reserved memory that is lost, [0, 1) */
    const char *fragmentation_from; /* where that figure comes from, for the doubt; NULL: default */
    uint64_t card;                  /* bytes of the device, 0: not known */
};
void mt_estimate_options_init(struct mt_estimate_options *o);

/* The parts of a total. name in JSON */
#define MT_ESTIMATE_TERMS(X)                                                                       \
    X(WEIGHTS, "weights")                                                                          \
    X(GRADIENTS, "gradients")                                                                      \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(ACTIVATIONS, "activations")                                                                  \
    X(KV_CACHE, "kv_cache")                                                                        \
    X(WORKSPACE, "workspace")                                                                      \
    X(FRAGMENTATION, "fragmentation")                                                              \
    X(CONTEXT, "context")

enum mt_estimate_id {
#define X(id, name) MT_TERM_##id,
    MT_ESTIMATE_TERMS(X)
#undef X
        MT_TERM_COUNT
};

struct mt_estimate_term {
    enum mt_estimate_id id;
    uint64_t bytes;
    char formula[240]; /* with the numbers in it */
    char doubt[320];   /* what it assumes or leaves out; empty when exact */
};

struct mt_estimate {
    struct mt_estimate_term terms[MT_TERM_COUNT];
    size_t n;
    uint64_t states;     /* weights + gradients + optimizer, of one device */
    uint64_t states_all; /* the same before sharding */
    uint64_t total;
    size_t largest; /* index into terms */
};

/* Errors: MT_USAGE (nothing to compute with: no parameters), MT_LIMIT (beyond 64 bits). */
enum mt_status mt_estimate_find(struct mt_estimate *e, const struct mt_estimate_options *o,
                                struct mt_error *err) MT_NODISCARD;

const char *mt_estimate_term_name(enum mt_estimate_id id);

/* Memory of a card by its usual name ("a100-80", "H100"), in bytes, as the driver reports it to the
 * nearest GiB of the data sheet; 0 when unknown. */
uint64_t mt_card_find(struct mt_str name);
/* The known names, NULL-terminated, for help. */
extern const char *const MT_CARD_NAMES[];

/* ---- the two accounts in use, in bytes a parameter ---- */

/* Mixed precision Adam: bf16 weights and gradients, fp32 copy and two moments. */
#define MT_STATES_MIXED 16
/* The other: fp32 weights 4, optimizer with an fp32 copy 12, fp32 gradients 4. */
#define MT_STATES_FP32 20

#endif
