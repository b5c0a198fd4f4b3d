/* SPDX-License-Identifier: MIT */
/* estimate: how much memory a model should need, by arithmetic; what fits; and against a snapshot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/findings/peak.h"
#include "support/units.h"

#include "cli/command.h"
#include "verbs/estimate/print.h"
#include "verbs/estimate/estimate_input.h"

struct estimate_settings {
    struct mt_common common;
    struct mt_estimate_options o;
    struct mt_model_given given;
    const char *config;
    const char *against;
    int dtype, grad_dtype, kv_dtype; /* enum mt_dtype + 1, 0: not given */
    int optimizer, account, recompute, lora_targets, offload, engine;
    int64_t zero;
    double fragmentation_pct; /* < 0: not given */
    bool inference, no_master, table, double_quant;
};

static void defaults(void *settings);
static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static const char *const DTYPES[] = {"auto", "fp32", "bf16", "fp16", "fp8",
                                     "int8", "int4", "nf4",  NULL};
static const char *const GRAD_DTYPES[] = {"auto", "fp32", "bf16", "fp16", NULL};
static const char *const OPTIMIZERS[] = {"adam", "adam8bit", "adafactor", "momentum", "lion",
                                         "muon", "sgd",      "adamw",     NULL};
static const char *const ACCOUNTS[] = {"mixed", "amp", "pure", "megatron", "nemo", NULL};
static const char *const RECOMPUTE[] = {"none", "selective", "full", NULL};
static const char *const TARGETS[] = {"all", "attention", "mlp", NULL};
static const char *const OFFLOAD[] = {"none", "optimizer", "all", NULL};
static const char *const ENGINES[] = {"none", "vllm", "sglang", NULL};
enum { ENGINE_NONE, ENGINE_VLLM, ADAMW = MT_OPTIMIZER_COUNT };

enum { FEWEST_PARAMS = 1000 }; /* below it a unit was forgotten */

/* "7B", "350M", "124439808": decimal, as parameters are counted. */
static enum mt_status parse_params(void *field, const char *text, struct mt_error *err)
{
    uint64_t *params = field;
    static const char units[] = "KMBT";
    char *end;
    double x = strtod(text, &end);
    double scale = 1;
    if (end != text && *end) {
        char c = *end >= 'a' && *end <= 'z' ? (char)(*end - 'a' + 'A') : *end;
        const char *unit = c ? strchr(units, c) : NULL;
        for (const char *u = units; unit && u <= unit; u++) {
            scale *= 1000;
        }
        end += unit != NULL;
    }
    if (end == text || *end || !(x > 0) || x * scale < 1 || x * scale > 1e15) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                       "'%.60s' is not a number of parameters from 1 to 1000T, such as 7B, 350M or "
                       "124439808",
                       text);
    }
    if (scale < 2 && x < FEWEST_PARAMS) {
        mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%.40s without a unit is %.40s parameter%s", text,
                text, x > 1 ? "s" : "");
        return mt_hint(err, "give the unit: %.40sB, B is a billion", text);
    }
    *params = (uint64_t)(x * scale + 0.5);
    return MT_OK;
}

#define AT(field) offsetof(struct estimate_settings, field)

static const struct mt_option MODEL[] = {
    MT_OPT_CUSTOM(0, "params", AT(given.params), "N", parse_params,
                  "number of parameters: 7B, 350M, 124439808", .common = true),
    MT_OPT_TEXT(0, "config", AT(config), "FILE", "config.json of a Hugging Face model",
                .common = true),
    MT_OPT_U64(0, "layers", AT(given.layers), "N", 1, 1e6, "number of layers"),
    MT_OPT_U64(0, "hidden", AT(given.hidden), "N", 1, 1e9, "hidden size"),
    MT_OPT_U64(0, "heads", AT(given.heads), "N", 1, 1e6, "number of attention heads"),
    MT_OPT_U64(0, "kv-heads", AT(given.kv_heads), "N", 1, 1e6,
               "key and value heads (default: as many as heads)"),
    MT_OPT_U64(0, "head-dim", AT(given.head_dim), "N", 1, 1e6,
               "size of a head (default: hidden / heads)"),
    MT_OPT_U64(0, "intermediate", AT(given.intermediate), "N", 1, 1e9,
               "inner size of the MLP (default: 4 x hidden)"),
    MT_OPT_U64(0, "vocab", AT(given.vocab), "N", 1, 1e9, "size of the vocabulary"),
};

static const struct mt_option JOB[] = {
    MT_OPT_FLAG(0, "inference", AT(inference), "serving: weights, KV cache and context",
                .common = true),
    MT_OPT_CHOICE(0, "dtype", AT(dtype), DTYPES,
                  "of the weights (default: as the config stores them)", .common = true),
    MT_OPT_FLAG(0, "double-quant", AT(double_quant), "scales of nf4 are quantized again"),
    MT_OPT_U64(0, "batch", AT(o.batch), "N", 1, 1e9, "sequences at a time on one device",
               .common = true),
    MT_OPT_U64(0, "seq", AT(o.sequence), "TOKENS", 1, 1e9, "length of a sequence", .common = true),
    MT_OPT_SIZE(0, "workspace", AT(o.workspace), "SIZE",
                "of cuBLAS, cuDNN and others (default 64MiB)", .memory = true),
    MT_OPT_SIZE(0, "context", AT(o.context), "SIZE", "CUDA context (default 768MiB)",
                .memory = true),
    MT_OPT_NUMBER(0, "fragmentation", AT(fragmentation_pct), "PERCENT", 0, 90,
                  "share of reserved memory that is lost (default 0 to 10)"),
    MT_OPT_CUSTOM(0, "card", AT(o.card), "SIZE|NAME", mt_card_arg,
                  "memory of the card: 80GiB, or a name such as h100", .common = true),
    MT_OPT_CUSTOM(0, "limit", AT(o.card), "SIZE|NAME", mt_card_arg, "as --card"),
    MT_OPT_TEXT(0, "against", AT(against), "FILE",
                "a snapshot: expected against found, and its fragmentation", .common = true),
    MT_OPT_FLAG(0, "table", AT(table),
                "the usual sizes side by side: 7, 13 and 70 billion parameters"),
};

static const struct mt_option TRAINING[] = {
    MT_OPT_CHOICE(0, "optimizer", AT(optimizer), OPTIMIZERS, "optimizer (default adam)",
                  .common = true),
    MT_OPT_CHOICE(0, "account", AT(account), ACCOUNTS,
                  "who keeps what: mixed (DeepSpeed), amp (autocast), pure (no fp32 copy), "
                  "megatron, nemo"),
    MT_OPT_FLAG(0, "no-master", AT(no_master), "as --account pure"),
    MT_OPT_CHOICE(0, "grad-dtype", AT(grad_dtype), GRAD_DTYPES,
                  "of the gradients (default: as the account says)"),
    MT_OPT_U64(0, "lora", AT(o.lora), "RANK", 1, 65536, "train adapters of RANK and nothing else",
               .common = true),
    MT_OPT_CHOICE(0, "lora-targets", AT(lora_targets), TARGETS, "linear layers that have adapters"),
    MT_OPT_CHOICE(0, "recompute", AT(recompute), RECOMPUTE,
                  "activation checkpointing: of attention, of layers", .common = true),
    MT_OPT_CHOICE(0, "checkpointing", AT(recompute), RECOMPUTE, "as --recompute"),
    MT_OPT_FLAG(0, "eager", AT(o.eager), "attention keeps its matrix (default: flash attention)"),
    MT_OPT_FLAG(0, "fused-loss", AT(o.fused_loss), "the loss keeps no logits of all tokens"),
    MT_OPT_CHOICE(0, "offload", AT(offload), OFFLOAD, "to the host: optimizer, or weights too"),
};

static const struct mt_option PARALLEL[] = {
    MT_OPT_INT(0, "zero", AT(zero), "STAGE", 0, 3,
               "ZeRO stage: 1 divides the optimizer, 2 gradients too, 3 (FSDP) weights too",
               .common = true),
    MT_OPT_U64(0, "ranks", AT(o.ranks), "N", 1, 1e6,
               "data-parallel ranks that the stage divides by", .common = true),
    MT_OPT_U64(0, "tp", AT(o.tp), "N", 1, 1024, "tensor-parallel size", .common = true),
    MT_OPT_FLAG(0, "sp", AT(o.sp), "sequence parallel: norms and inputs are divided by --tp too"),
    MT_OPT_U64(0, "pp", AT(o.pp), "N", 1, 1024, "pipeline stages, of which the fullest is shown"),
    MT_OPT_U64(0, "micro-batches", AT(o.micro_batches), "N", 1, 1e6,
               "micro-batches of a step (default: as many as stages)"),
    MT_OPT_U64(0, "ep", AT(o.ep), "N", 1, 1e6, "expert-parallel size"),
    MT_OPT_U64(0, "cp", AT(o.cp), "N", 1, 1e6, "context-parallel size"),
};

static const struct mt_option SERVING[] = {
    MT_OPT_CHOICE(0, "kv-dtype", AT(kv_dtype), DTYPES,
                  "of the KV cache (default: as computed with, at least bf16)"),
    MT_OPT_U64(0, "page-size", AT(o.page), "TOKENS", 1, 65536,
               "pages of the KV cache (default 1: no rounding)"),
    MT_OPT_CHOICE(0, "engine", AT(engine), ENGINES, "page size of an engine: vllm 16, sglang 1"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Model", .options = MODEL, .n = MT_COUNT(MODEL)},
    {.title = "Job", .options = JOB, .n = MT_COUNT(JOB)},
    {.title = "Training", .options = TRAINING, .n = MT_COUNT(TRAINING)},
    {.title = "Parallel", .options = PARALLEL, .n = MT_COUNT(PARALLEL)},
    {.title = "Serving", .options = SERVING, .n = MT_COUNT(SERVING)},
};

const struct mt_command mt_cmd_estimate = {
    .name = "estimate",
    .summary = "how much memory a model should need, term by term",
    .usage = "--params N|--config FILE|--card NAME|--table [options]",
    .description =
        "Adds up what training or serving a model should take on one device: weights, gradients, "
        "optimizer, activations or KV cache, workspaces, fragmentation and the CUDA context, and "
        "what "
        "would fit on a card. It is arithmetic, not measurement: each term is printed with its "
        "formula, its range and what it leaves out. -v lists the tensors.",
    .examples = "memtool estimate --params 7B --card h100\n"
                "memtool estimate --config config.json --batch 4 --seq 4096 --zero 3 --ranks 8",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct estimate_settings),
    .defaults = defaults,
    .min_files = 0,
    .max_files = 0,
    .run = run,
};

static void defaults(void *settings)
{
    struct estimate_settings *x = settings;
    mt_estimate_options_init(&x->o);
    x->fragmentation_pct = -1;
}

/* ---- the model ---- */

static enum mt_dtype at_least_bf16(enum mt_dtype d)
{
    return mt_dtype_bits(d) < 16 ? MT_BF16 : d;
}

static void settle_dtypes(struct estimate_settings *x, struct mt_model *m)
{
    struct mt_estimate_options *o = &x->o;
    if (x->dtype) {
        mt_model_set_dtype(m, (enum mt_dtype)(x->dtype - 1), x->double_quant);
    }
    o->dtype = at_least_bf16(m->dtype);
    o->grad_dtype = x->grad_dtype;
    o->kv_dtype = x->kv_dtype ? (enum mt_dtype)(x->kv_dtype - 1) : o->dtype;
}

/* A number of parameters alone does not tell what these divide, or keep for a matrix. */
static const char *first_that_needs_shape(const struct mt_estimate_options *o,
                                          const struct mt_model *m, bool number_alone)
{
    const struct {
        bool asked;
        const char *option;
    } all[] = {
        {o->lora && !o->inference && !m->works.n, "--lora"},
        {number_alone && o->tp > 1, "--tp"},
        {number_alone && o->pp > 1, "--pp"},
        {number_alone && o->ep > 1, "--ep"},
        {number_alone && !o->inference && o->optimizer == MT_OPTIMIZER_ADAFACTOR,
         "--optimizer adafactor"},
        {number_alone && !o->inference && o->optimizer == MT_OPTIMIZER_MUON, "--optimizer muon"},
    };
    for (size_t i = 0; i < MT_COUNT(all); i++) {
        if (all[i].asked) {
            return all[i].option;
        }
    }
    return NULL;
}

static int settle(struct mt_cli *cli, struct estimate_settings *x, struct mt_model *m)
{
    struct mt_estimate_options *o = &x->o;
    settle_dtypes(x, m);
    o->optimizer = x->optimizer == ADAMW ? MT_OPTIMIZER_ADAM : (enum mt_optimizer)x->optimizer;
    o->account = x->no_master ? MT_ACCOUNT_PURE : (enum mt_account)x->account;
    o->recompute = (enum mt_recompute)x->recompute;
    o->lora_targets = (enum mt_lora_targets)x->lora_targets;
    o->offload = (enum mt_offload)x->offload;
    o->page = x->engine == ENGINE_VLLM && o->page == 1 ? 16 : o->page;
    o->zero = (int)x->zero;
    o->inference = x->inference;
    o->fragmentation = x->fragmentation_pct >= 0 ? x->fragmentation_pct / 100 : -1;
    o->fragmentation_from = x->fragmentation_pct >= 0 ? "as given" : NULL;
    if (o->zero > 0 && o->ranks < 2) {
        return mt_cli_usage(cli, "--zero %d divides by --ranks N, and there is one rank", o->zero);
    }
    const char *needs_shape = first_that_needs_shape(o, m, x->given.params > 0);
    if (needs_shape) {
        return mt_cli_usage(
            cli,
            "%s needs the shape of the model, not its number of parameters: --config, or --layers, "
            "--hidden and --heads",
            needs_shape);
    }
    if (o->pp > 1 && m->layers && o->pp > m->layers) {
        return mt_cli_usage(cli, "more pipeline stages than layers");
    }
    return 0;
}

/* ---- the snapshot ---- */

static enum mt_status find_device(struct mt_estimate_found *f, const struct mt_snapshot *s,
                                  int32_t device, const struct mt_rules *rules,
                                  struct mt_error *err)
{
    struct mt_peak_options o = {.at = {.kind = MT_AT_PEAK}, .by = MT_BY_CATEGORY, .rules = rules};
    struct mt_replay r;
    struct mt_peak p;
    MT_TRY(mt_replay_init(&r, s, device, err));
    enum mt_status status = mt_peak_find(&p, s, &r, NULL, &o, err);
    if (status == MT_OK && p.bytes > f->peak) { /* the fullest device counts */
        f->peak = p.bytes;
        f->reserved = p.reserved_bytes;
        f->unknown = p.by_category[MT_CATEGORY_UNKNOWN];
        f->bytes[MT_TERM_WEIGHTS] =
            (int64_t)(p.by_category[MT_CATEGORY_PARAMETER] + p.by_category[MT_CATEGORY_BUFFER]);
        f->bytes[MT_TERM_GRADIENTS] = (int64_t)p.by_category[MT_CATEGORY_GRADIENT];
        f->bytes[MT_TERM_OPTIMIZER] = (int64_t)p.by_category[MT_CATEGORY_OPTIMIZER_STATE];
        uint64_t kv_cache = p.by_category[MT_CATEGORY_KV_CACHE];
        f->bytes[MT_TERM_KV_CACHE] = kv_cache ? (int64_t)kv_cache : -1;
        f->bytes[MT_TERM_ACTIVATIONS] =
            (int64_t)(p.by_category[MT_CATEGORY_ACTIVATION] + p.by_category[MT_CATEGORY_TEMPORARY] +
                      p.by_category[MT_CATEGORY_AUTOGRAD_DETAIL] +
                      p.by_category[MT_CATEGORY_INPUT]);
    }
    mt_peak_release(&p);
    mt_replay_release(&r);
    return status;
}

static int find_in_snapshot(struct mt_cli *cli, struct estimate_settings *x,
                            struct mt_estimate_found *f)
{
    struct mt_snapshot s;
    struct mt_error err;
    struct mt_rules *rules = NULL;
    struct mt_devices devices = {0};
    *f = (struct mt_estimate_found){.file = x->against};
    for (size_t i = 0; i < MT_TERM_COUNT; i++) {
        f->bytes[i] = -1;
    }
    int loaded = mt_cli_load(cli, &x->common, x->against, &s);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    enum mt_status status = mt_rules_new((struct mt_str){0}, &rules, &err);
    if (status == MT_OK) {
        status = mt_devices_find(&devices, &s, false, &err);
    }
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        status = find_device(f, &s, devices.ids.v[i], rules, &err);
    }
    if (status == MT_OK && x->fragmentation_pct < 0 && f->reserved > f->peak) {
        x->o.fragmentation = (double)(f->reserved - f->peak) / (double)f->reserved;
        x->o.fragmentation = x->o.fragmentation < 0.9 ? x->o.fragmentation : 0.9;
        x->o.fragmentation_from = "reserved but not requested at the peak of the snapshot";
    }
    mt_devices_release(&devices);
    mt_rules_free(rules);
    mt_snapshot_release(&s);
    return status == MT_OK ? loaded : mt_cli_fail(cli, x->against, &err);
}

/* ---- all together ---- */

static enum mt_status report(const struct mt_report *r, const struct mt_estimate_answer *a,
                             struct mt_error *err)
{
    if (r->json) {
        return mt_report_estimate_json(r, a, err);
    }
    if (r->verbose && !r->separator) {
        MT_TRY(mt_report_tensors(r, a->m, err));
    }
    return mt_report_estimate_text(r, a, err);
}

static int print(struct mt_cli *cli, struct estimate_settings *x, const struct mt_model *m,
                 const struct mt_estimate_found *found)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_estimate e;
    struct mt_turned turned;
    struct mt_serving serving;
    enum mt_status status = mt_estimate_find(&e, m, &x->o, &err);
    if (status == MT_OK) {
        status = mt_turned_find(&turned, m, &x->o, &err);
    }
    if (status != MT_OK) {
        return mt_cli_fail(cli, x->config, &err);
    }
    bool serve = x->o.inference && x->o.card;
    if (serve) {
        mt_serving_find(&serving, m, &x->o);
    }
    int code = mt_cli_report_begin(cli, &x->common, x->config ? x->config : "", &r, &o);
    if (code) {
        return code;
    }
    struct mt_estimate_answer a = {m, &x->o, &e, &turned, serve ? &serving : NULL, found};
    code = report(&r, &a, &err) == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
    return mt_cli_report_end(cli, &o, code);
}

/* What needs no model: the usual sizes, or what fits on a card. */
static int print_without(struct mt_cli *cli, struct estimate_settings *x)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    int code = mt_cli_report_begin(cli, &x->common, "", &r, &o);
    if (code) {
        return code;
    }
    enum mt_status status =
        x->table ? mt_report_estimate_table(&r, &err) : mt_report_ways(&r, x->o.card, &err);
    return mt_cli_report_end(cli, &o, status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err));
}

static int run_model(struct mt_cli *cli, struct estimate_settings *x, struct mt_model *m)
{
    struct mt_estimate_found found;
    int code = settle(cli, x, m);
    if (code) {
        return code;
    }
    int loaded = x->against ? find_in_snapshot(cli, x, &found) : 0;
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    code = print(cli, x, m, x->against ? &found : NULL);
    return code ? code : loaded;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct estimate_settings *x = settings;
    struct mt_model m;
    struct mt_error err;
    (void)files;
    (void)n_files;
    bool model = x->config || x->given.params || x->given.layers;
    if (x->table || (!model && x->o.card && !x->against)) {
        return print_without(cli, x);
    }
    if (mt_estimate_input(x->config, &x->given, &m, &err) != MT_OK) {
        return mt_cli_fail(cli, x->config, &err);
    }
    int code = run_model(cli, x, &m);
    mt_model_release(&m);
    return code;
}
