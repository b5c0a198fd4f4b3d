/* SPDX-License-Identifier: MIT */
/* estimate: how much memory a model should need, by arithmetic; and against a snapshot. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/slurp.h"
#include "heap/findings/peak.h"
#include "support/units.h"
#include "verbs/estimate/print.h"

struct estimate_settings {
    struct mt_common common;
    struct mt_estimate_options o;
    struct mt_model_shape given; /* what the options say; 0: nothing */
    const char *config;
    const char *against;
    int dtype, grad_dtype, kv_dtype; /* enum mt_dtype + 1, 0: not given */
    int optimizer, checkpointing;
    int64_t zero, ranks, batch, sequence;
    double fragmentation_pct; /* < 0: not given */
    bool inference, no_master, table;
};

static void defaults(void *settings);
static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static const char *const DTYPES[] = {"auto", "fp32", "bf16", "fp16", "fp8", "int8", "int4", NULL};
static const char *const OPTIMIZERS[] = {"adam", "adam8bit", "adafactor", "momentum", "sgd", NULL};
static const char *const CHECKPOINTING[] = {"none", "selective", "full", NULL};

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

#define LEAST_CARD MT_MIB /* bytes */

static enum mt_status parse_card(void *field, const char *text, struct mt_error *err)
{
    uint64_t *card = field;
    *card = mt_card_find(mt_str_from(text));
    if (*card || (mt_size_parse(mt_str_from(text), card) && *card >= LEAST_CARD)) {
        return MT_OK;
    }
    if (*text && !text[strspn(text, "0123456789.")] && strspn(text, "0.") < strlen(text)) {
        return mt_size_arg(text, true, card, err);
    }
    mt_fail(err, MT_USAGE, MT_NO_OFFSET, "'%.60s' is neither a size such as 80GiB nor a known card",
            text);
    struct mt_buf known = {0};
    for (size_t i = 0; MT_CARD_NAMES[i]; i++) {
        mt_buf_printf(&known, " %s", MT_CARD_NAMES[i]);
    }
    (void)mt_hint(err, "known:%s", known.failed ? "" : known.p);
    mt_buf_release(&known);
    return err->code;
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
                  "of the weights (default: that of the config, else bf16)", .common = true),
    MT_OPT_CHOICE(0, "grad-dtype", AT(grad_dtype), DTYPES,
                  "of the gradients (default: as the weights, at least bf16)"),
    MT_OPT_CHOICE(0, "kv-dtype", AT(kv_dtype), DTYPES,
                  "of the KV cache (default: as the weights, at least bf16)"),
    MT_OPT_CHOICE(0, "optimizer", AT(optimizer), OPTIMIZERS,
                  "optimizer (default adam, which is AdamW too)", .common = true),
    MT_OPT_FLAG(0, "no-master", AT(no_master), "no fp32 copy of weights in lower precision"),
    MT_OPT_INT(0, "zero", AT(zero), "STAGE", 0, 3,
               "ZeRO stage: 1 divides the optimizer, 2 gradients too, 3 (FSDP) weights too",
               .common = true),
    MT_OPT_INT(0, "ranks", AT(ranks), "N", 1, 1e6, "data-parallel ranks that the stage divides by",
               .common = true),
    MT_OPT_INT(0, "batch", AT(batch), "N", 1, 1e9, "sequences at a time on one device",
               .common = true),
    MT_OPT_INT(0, "seq", AT(sequence), "TOKENS", 1, 1e9, "length of a sequence", .common = true),
    MT_OPT_CHOICE(0, "checkpointing", AT(checkpointing), CHECKPOINTING,
                  "activation checkpointing: keeps 100, 50 or 20 %", .common = true),
    MT_OPT_SIZE(0, "workspace", AT(o.workspace), "SIZE",
                "of cuBLAS, cuDNN and others (default 128MiB)", .memory = true),
    MT_OPT_SIZE(0, "context", AT(o.context), "SIZE", "CUDA context (default 768MiB)",
                .memory = true),
    MT_OPT_NUMBER(0, "fragmentation", AT(fragmentation_pct), "PERCENT", 0, 90,
                  "share of reserved memory that is lost (default 0)"),
    MT_OPT_CUSTOM(0, "card", AT(o.card), "SIZE|NAME", parse_card,
                  "memory of the card: 80GiB, or its name such as a100-80", .common = true),
    MT_OPT_TEXT(0, "against", AT(against), "FILE",
                "a snapshot: expected against found, and its fragmentation", .common = true),
    MT_OPT_FLAG(0, "table", AT(table),
                "the usual sizes side by side: 7, 13 and 70 billion parameters", .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Model", .options = MODEL, .n = MT_COUNT(MODEL)},
    {.title = "Job", .options = JOB, .n = MT_COUNT(JOB)},
};

const struct mt_command mt_cmd_estimate = {
    .name = "estimate",
    .summary = "how much memory a model should need, term by term",
    .usage = "--params N|--config FILE|--table [options]",
    .description =
        "Adds up what training or serving a model should take on one device: weights, gradients, "
        "optimizer, activations or KV cache, workspaces, fragmentation and the CUDA context. It is "
        "arithmetic, not measurement: each term is printed with its formula and what it leaves "
        "out.",
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
    x->ranks = 1;
    x->fragmentation_pct = -1;
}

/* ---- the model ---- */

enum { MOST_CONFIG = (int)(16 * MT_MIB) };

static int read_config(struct mt_cli *cli, struct estimate_settings *x, enum mt_dtype *dtype)
{
    struct mt_error err;
    struct mt_buf text = {0};
    enum mt_status status = mt_cli_slurp_file(x->config, MOST_CONFIG, &text, &err);
    if (status == MT_OK) {
        status = mt_model_config_read(mt_buf_view(&text), &x->o.model, dtype, &err);
    }
    mt_buf_release(&text);
    return status == MT_OK ? 0 : mt_cli_fail(cli, x->config, &err);
}

/* What the options name goes before what the config says. */
static void override(struct mt_model_shape *m, const struct mt_model_shape *given)
{
    const uint64_t *from[] = {&given->params, &given->layers,      &given->hidden,
                              &given->heads,  &given->kv_heads,    &given->head_dim,
                              &given->vocab,  &given->intermediate};
    uint64_t *to[] = {&m->params,   &m->layers,   &m->hidden, &m->heads,
                      &m->kv_heads, &m->head_dim, &m->vocab,  &m->intermediate};
    for (size_t i = 0; i < MT_COUNT(to); i++) {
        *to[i] = *from[i] ? *from[i] : *to[i];
    }
}

static enum mt_dtype at_least_bf16(enum mt_dtype d)
{
    return mt_dtype_bits(d) < 16 ? MT_BF16 : d;
}

static int settle(struct mt_cli *cli, struct estimate_settings *x)
{
    struct mt_estimate_options *o = &x->o;
    enum mt_dtype dtype = MT_BF16;
    int code = x->config ? read_config(cli, x, &dtype) : 0;
    if (code) {
        return code;
    }
    override(&o->model, &x->given);
    o->dtype = x->dtype ? (enum mt_dtype)(x->dtype - 1) : dtype;
    o->grad_dtype = x->grad_dtype ? (enum mt_dtype)(x->grad_dtype - 1) : at_least_bf16(o->dtype);
    o->kv_dtype = x->kv_dtype ? (enum mt_dtype)(x->kv_dtype - 1) : at_least_bf16(o->dtype);
    o->optimizer = (enum mt_optimizer)x->optimizer;
    o->checkpointing = (enum mt_checkpointing)x->checkpointing;
    o->zero = (int)x->zero;
    o->ranks = (uint64_t)x->ranks;
    o->batch = (uint64_t)x->batch;
    o->sequence = (uint64_t)x->sequence;
    o->inference = x->inference;
    o->no_master = x->no_master;
    o->fragmentation = x->fragmentation_pct > 0 ? x->fragmentation_pct / 100 : 0;
    o->fragmentation_from = x->fragmentation_pct >= 0 ? "as given" : NULL;
    if (o->zero > 0 && o->ranks < 2) {
        return mt_cli_usage(cli, "--zero %d divides by --ranks N, and there is one rank", o->zero);
    }
    if (!mt_model_shape_complete(&o->model)) {
        return mt_cli_usage(cli, "the model is too large to count");
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
        f->bytes[MT_TERM_WEIGHTS] = (int64_t)p.by_category[MT_CATEGORY_PARAMETER];
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

static int print(struct mt_cli *cli, struct estimate_settings *x,
                 const struct mt_estimate_found *found)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_estimate e;
    enum mt_status status = MT_OK;
    if (!x->table && mt_estimate_find(&e, &x->o, &err) != MT_OK) {
        return mt_cli_fail(cli, NULL, &err);
    }
    int code = mt_cli_report_begin(cli, &x->common, x->config ? x->config : "", &r, &o);
    if (code) {
        return code;
    }
    if (x->table) {
        status = mt_report_estimate_table(&r, &err);
    } else {
        status = r.json ? mt_report_estimate_json(&r, &e, &x->o, found, &err)
                        : mt_report_estimate_text(&r, &e, &x->o, found, &err);
    }
    code = status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
    return mt_cli_report_end(cli, &o, code);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct estimate_settings *x = settings;
    struct mt_estimate_found found;
    (void)files;
    (void)n_files;
    int code = x->table ? 0 : settle(cli, x);
    if (code) {
        return code;
    }
    bool against = x->against && !x->table;
    int loaded = against ? find_in_snapshot(cli, x, &found) : 0;
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    code = print(cli, x, against ? &found : NULL);
    return code ? code : loaded;
}
