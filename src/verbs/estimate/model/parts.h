/* SPDX-License-Identifier: MIT */
/*
 * A model as lists: its tensors, what it keeps between tokens, and what its layers compute. They
 * are made from a config.json by architectures/, which says for each model_type which tensors
 * there are, and everything else is a sum over them: parameters, active parameters, bytes by dtype
 * and quantization, the KV cache, gradients, states of optimizers, activations.
 */
#ifndef MEMTOOL_VERBS_ESTIMATE_MODEL_PARTS_H
#define MEMTOOL_VERBS_ESTIMATE_MODEL_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arena.h"
#include "support/error.h"
#include "support/str.h"
#include "support/vec.h"

enum mt_dtype { MT_FP32, MT_BF16, MT_FP16, MT_FP8, MT_INT8, MT_INT4, MT_NF4, MT_DTYPE_COUNT };
/* Bits of one element, without scales. */
unsigned mt_dtype_bits(enum mt_dtype d);
const char *mt_dtype_name(enum mt_dtype d);

/* What a tensor is to quantization, tensor parallelism and optimizers. */
enum mt_part_kind {
    MT_PART_LINEAR, /* a matrix that quantization may store in fewer bits */
    MT_PART_ROUTER, /* a matrix that chooses experts: not quantized */
    MT_PART_TABLE,  /* rows that are looked up: tokens, positions */
    MT_PART_HEAD,   /* the output layer */
    MT_PART_OTHER,  /* norms, biases, convolutions and the rest */
    MT_PART_BUFFER  /* no parameter: kept beside them, in fp32 */
};

/* How tensor parallelism divides it (Shoeybi 2019, arXiv 1909.08053, section 3). */
enum mt_split { MT_SPLIT_NONE, MT_SPLIT_COLUMN, MT_SPLIT_ROW };

#define MT_NO_LAYER UINT32_MAX
enum { MT_DIMS_MAX = 4 };

/* One tensor, or `count` equal ones side by side (experts). */
struct mt_part {
    enum mt_part_kind kind;
    enum mt_split split;
    struct mt_str where, name; /* "model.layers", "mlp.up_proj.weight" */
    uint32_t layer;            /* MT_NO_LAYER: of none */
    bool tower;                /* of a part that reads pictures or sound, or an encoder */
    bool expert;               /* one of several, of which a token uses `active` */
    uint8_t n_dims;
    uint64_t dims[MT_DIMS_MAX];
    uint64_t count, active;
};
/* Elements of all copies; UINT64_MAX when they do not fit 64 bits. */
uint64_t mt_part_elements(const struct mt_part *p);
/* "model.layers.3.mlp.up_proj.weight"; with star "model.layers.*.mlp.up_proj.weight". */
void mt_part_name(struct mt_buf *b, const struct mt_part *p, bool star);

/* What one layer keeps of a sequence. */
struct mt_cache {
    uint32_t layer;
    uint64_t heads;    /* that tensor parallelism divides; 1: a copy on each rank */
    uint64_t per_head; /* elements a token, keys and values; of a state: elements in all */
    uint64_t window;   /* tokens that are kept at most, 0: all */
    bool state;        /* of constant size, whatever the sequence (convolutions, SSM) */
    bool fp32;         /* kept in fp32 whatever the dtype */
};

/* What one layer computes for a token, for activations. */
enum mt_work_kind { MT_WORK_NORM, MT_WORK_ATTEND, MT_WORK_MLP, MT_WORK_SCAN };
struct mt_work {
    enum mt_work_kind kind;
    uint32_t layer;
    bool tower;
    bool centred;    /* NORM: a LayerNorm (mean and variance), not RMSNorm */
    bool gated;      /* MLP: gate x up */
    uint64_t width;  /* NORM: of the vector; MLP, SCAN: inner size; ATTEND: latent vectors */
    uint64_t copies; /* NORM: vectors a token (heads of a q norm); MLP: experts a token */
    uint64_t heads, kv_heads, key, value; /* ATTEND: sizes of a head */
    uint64_t experts;                     /* MLP: to choose from, 0: dense */
};

/* How the matrices are stored, from quantization_config. */
struct mt_quant {
    const char *method;   /* for people: "fp8", "awq", ...; NULL: not quantized */
    unsigned bits;        /* of an element */
    uint64_t group;       /* elements of a row that share scale and zero, 0: none do */
    double group_bits;    /* of such a scale and zero */
    unsigned row_bits;    /* of what each row has */
    unsigned column_bits; /* of what each column has: the group index of GPTQ */
    uint64_t block[2];    /* rows and columns that share one fp32 scale; 0: none do */
    bool experts_only;    /* matrices of experts alone, as gpt-oss is stored */
    struct mt_str *skip;  /* patterns of names that stay as they are */
    size_t n_skip;
};

/* Tensors that files hold and that are no parameters of the model as it is counted. */
enum mt_unlisted {
    MT_EXTRA_LAYERS, /* behind the last layer: multi-token prediction */
    MT_EXTRA_HEAD,   /* an output layer, though the embedding serves for it */
    MT_EXTRA_ROTARY, /* tables of rotary positions */
    MT_EXTRA_MASKS,  /* causal masks */
    MT_EXTRA_COUNT
};

struct mt_model {
    struct mt_arena text; /* owns names and patterns */
    struct mt_str type;   /* model_type, "" when given by options */
    MT_VEC(struct mt_part) parts;
    MT_VEC(struct mt_cache) caches;
    MT_VEC(struct mt_work) works;
    uint64_t params, active;                   /* elements */
    uint64_t hidden, layers, vocab, positions; /* positions: 0 when not known */
    bool tied, decoder;
    enum mt_dtype dtype; /* of what is not quantized */
    bool dtype_said;     /* by the config, or assumed */
    struct mt_quant quant;
    uint64_t left_out;              /* layers of multi-token prediction that the file may hold */
    uint64_t counted;               /* bytes of all parts */
    uint64_t extra[MT_EXTRA_COUNT]; /* tensors that the index names */
    uint64_t stored;                /* bytes of the files, by their index or header; 0: not known */
};
void mt_model_release(struct mt_model *m);

/* What stands in place of, or beside, the keys of a config; 0: nothing. */
struct mt_model_given {
    uint64_t params, layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
};

/*
 * Reads the text of a config.json, where `given` goes before its keys; given may be NULL. Without a
 * config (config.n is 0) the model has the shape of Llama with the figures given, or only
 * given->params. Errors: MT_FORMAT (no JSON object; a key of the wrong kind or
 * out of range; a key that decides is missing), MT_UNSUPPORTED (a model_type, quantization or key
 * that this memtool does not know, named in the text), MT_LIMIT (too many layers or parameters).
 */
enum mt_status mt_model_read(struct mt_model *m, struct mt_str config,
                             const struct mt_model_given *given, struct mt_error *err) MT_NODISCARD;

/* Takes the weights as if they were stored in `dtype`: all of 16 bits or more, else those that
 * quantization stores in fewer. `twice`: nf4 with its scales quantized again. */
void mt_model_set_dtype(struct mt_model *m, enum mt_dtype dtype, bool twice);

/* Takes the bytes, and what else there is, from a model.safetensors.index.json. Errors: MT_FORMAT.
 */
enum mt_status mt_model_read_index(struct mt_model *m, struct mt_str index, struct mt_error *err)
    MT_NODISCARD;

/* Bytes of a part as the model is stored; UINT64_MAX when they do not fit. */
uint64_t mt_part_bytes(const struct mt_model *m, const struct mt_part *p);
/* Whether quantization stores it in fewer bits. */
bool mt_part_quantized(const struct mt_model *m, const struct mt_part *p);

/* The names of all architectures, for messages and the man page: NULL-terminated copies in *a. */
enum mt_status mt_model_types(struct mt_arena *a, struct mt_str **names, size_t *n,
                              struct mt_error *err) MT_NODISCARD;

#endif
