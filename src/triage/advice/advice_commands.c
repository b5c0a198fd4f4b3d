/* SPDX-License-Identifier: MIT */
/* Commands and options in the words of the program that failed, and of its device. */
#include <math.h>
#include <stdio.h>

#include "triage/advice/advice_places.h"

/* `words` with `value` for its "%s". */
static void fill_in(struct mt_buf *out, const char *words, const char *value)
{
    const char *at = strstr(words, "%s");
    mt_buf_add(out, words, at ? (size_t)(at - words) : strlen(words));
    mt_buf_text(out, at ? value : "");
    mt_buf_text(out, at ? at + 2 : "");
}

/* The trainer's own options, with half of the batch and twice the accumulation in force. */
static bool place_batch_option(const struct mt_advisor *a, struct mt_buf *out)
{
    static const struct {
        enum mt_program program;
        const char *batch, *accumulation;
    } OPTIONS[] = {
        {MT_PROGRAM_TRAINER, "--per_device_train_batch_size %s",
         " --gradient_accumulation_steps %s"},
        {MT_PROGRAM_LLAMAFACTORY, "per_device_train_batch_size: %s",
         ", gradient_accumulation_steps: %s"},
        {MT_PROGRAM_AXOLOTL, "micro_batch_size: %s", ", gradient_accumulation_steps: %s"},
        {MT_PROGRAM_DEEPSPEED, "\"train_micro_batch_size_per_gpu\": %s",
         ", \"gradient_accumulation_steps\": %s"},
        {MT_PROGRAM_MEGATRON, "--micro-batch-size %s", "   # the global batch stays as it is"},
        {MT_PROGRAM_LIGHTNING, "DataLoader(data, batch_size=%s)",
         ", Trainer(accumulate_grad_batches=%s)"},
        {MT_PROGRAM_ULTRALYTICS, "yolo train batch=%s", ""},
        {MT_PROGRAM_TORCHTITAN, "--training.local_batch_size %s",
         "   # the global batch stays as it is"},
        {MT_PROGRAM_TRAINING, "DataLoader(data, batch_size=%s)",
         "   # and optimizer.step() after twice as many"},
    };
    char batch[40] = "HALF", steps[40] = "TWICE";
    const struct mt_said_value *b = mt_advice_said(a, MT_SAID_BATCH);
    const struct mt_said_value *s = mt_advice_said(a, MT_SAID_ACCUMULATION);
    if (b && b->last >= 2) {
        (void)snprintf(batch, sizeof batch, "%.0f", floor(b->last / 2));
    }
    if (s) {
        (void)snprintf(steps, sizeof steps, "%.0f", s->last * 2);
    }
    for (size_t i = 0; i < MT_COUNT(OPTIONS); i++) {
        if (OPTIONS[i].program == a->facts->program) {
            fill_in(out, OPTIONS[i].batch, batch);
            fill_in(out, OPTIONS[i].accumulation, steps);
            return true;
        }
    }
    return false;
}

static bool place_eval_batch_option(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_EVAL_BATCH);
    if (v && v->last >= 2) {
        mt_buf_printf(out, "--per_device_eval_batch_size %.0f", floor(v->last / 2));
    } else {
        mt_buf_text(out, "--per_device_eval_batch_size N");
    }
    mt_buf_text(out, " --eval_accumulation_steps N   # Trainer");
    return a->facts->program == MT_PROGRAM_TRAINER;
}

/* A command of each program; the one of MT_PROGRAM_UNKNOWN is for all others. */
struct program_command {
    enum mt_program program;
    const char *words;
};

static bool put_command(const struct mt_advisor *a, const struct program_command *list, size_t n,
                        struct mt_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].program == a->facts->program || list[i].program == MT_PROGRAM_UNKNOWN) {
            mt_buf_text(out, list[i].words);
            return true;
        }
    }
    return false;
}

static bool place_shard_command(const struct mt_advisor *a, struct mt_buf *out)
{
    static const struct program_command COMMANDS[] = {
        {MT_PROGRAM_DEEPSPEED, "\"zero_optimization\": {\"stage\": STAGE, \"offload_optimizer\": "
                               "{\"device\": \"cpu\"}}   # a higher stage than now"},
        {MT_PROGRAM_LIGHTNING, "Trainer(strategy='fsdp')"},
        {MT_PROGRAM_MEGATRON, "--use-distributed-optimizer --tensor-model-parallel-size CARDS"},
        {MT_PROGRAM_TORCHTITAN, "--parallelism.data_parallel_shard_degree CARDS"},
        {MT_PROGRAM_LLAMAFACTORY, "deepspeed: examples/deepspeed/STAGE_CONFIG.json"},
        {MT_PROGRAM_AXOLOTL, "deepspeed: deepspeed_configs/STAGE_CONFIG.json"},
        {MT_PROGRAM_TRAINER,
         "accelerate launch --use_fsdp --fsdp_sharding_strategy FULL_SHARD train.py"},
        {MT_PROGRAM_UNKNOWN,
         "torch.distributed.fsdp.fully_shard(model)   # each block first; run by torchrun"},
    };
    if (mt_facts_has_no_settings(a->facts) && a->facts->program == MT_PROGRAM_TRAINING) {
        mt_buf_text(out, "# DeepSpeed's ZeRO: this PyTorch shares nothing by itself");
        return true;
    }
    if (mt_if_before_torch_2_1(a) && a->facts->program == MT_PROGRAM_TRAINING) {
        mt_buf_text(out, "torch.distributed.fsdp.FullyShardedDataParallel(model)");
        return true;
    }
    return put_command(a, COMMANDS, MT_COUNT(COMMANDS), out);
}

static bool place_checkpoint_command(const struct mt_advisor *a, struct mt_buf *out)
{
    static const struct program_command COMMANDS[] = {
        {MT_PROGRAM_TRAINER, "--gradient_checkpointing True"},
        {MT_PROGRAM_AXOLOTL, "gradient_checkpointing: true"},
        {MT_PROGRAM_LLAMAFACTORY, "disable_gradient_checkpointing: false"},
        {MT_PROGRAM_MEGATRON, "--recompute-granularity full --recompute-method uniform "
                              "--recompute-num-layers LAYERS"},
        {MT_PROGRAM_TORCHTITAN, "--activation_checkpoint.mode full"},
        {MT_PROGRAM_UNKNOWN, "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)   # "
                             "each block; of transformers: model.gradient_checkpointing_enable()"},
    };
    if (mt_if_before_torch_2_1(a) && a->facts->program == MT_PROGRAM_TRAINING) {
        mt_buf_text(out, "torch.utils.checkpoint.checkpoint(block, x)   # each block");
        return true;
    }
    return put_command(a, COMMANDS, MT_COUNT(COMMANDS), out);
}

/* How weights are loaded smaller: transformers' way where the log shows it. */
static bool place_load_smaller(const struct mt_advisor *a, struct mt_buf *out)
{
    bool half = mt_advice_said(a, MT_SAID_HALF) != NULL;
    if (a->facts->program == MT_PROGRAM_CTRANSLATE) {
        mt_buf_text(out, "compute_type='int8'");
    } else if (!mt_advice_said(a, MT_SAID_TRANSFORMERS)) {
        mt_buf_text(out, half ? "# a quantized checkpoint, or one with fewer parameters"
                              : "model = model.half()   # before it is moved to the card");
    } else {
        mt_buf_printf(out, "AutoModelForCausalLM.from_pretrained(NAME, %s%s)",
                      half ? "quantization_config=BitsAndBytesConfig(load_in_4bit=True)"
                           : "torch_dtype=torch.bfloat16",
                      mt_if_ranks_load(a) ? "" : ", device_map='auto'");
    }
    return true;
}

static bool place_fused_attention(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, mt_advice_said(a, MT_SAID_TRANSFORMERS)
                         ? "AutoModelForCausalLM.from_pretrained(NAME, attn_implementation='sdpa')"
                         : "torch.nn.functional.scaled_dot_product_attention(q, k, v)");
    return true;
}

/* What keeps the budget of a serving engine from being computed. */
static bool place_lacking(const struct mt_advisor *a, struct mt_buf *out)
{
    bool share = mt_advice_said(a, a->facts->program == MT_PROGRAM_SGLANG ? MT_SAID_FRACTION
                                                                          : MT_SAID_UTIL) != NULL;
    mt_buf_text(out, share ? "what was missing" : "the share in force");
    return true;
}

/* "torch.cuda": where PyTorch keeps the device's functions. */
static bool place_torch_module(const struct mt_advisor *a, struct mt_buf *out)
{
    static const char *const OTHERS[] = {"xpu", "npu", "mps", "musa", "hpu"};
    const char *module = "cuda";
    for (size_t i = 0; i < MT_COUNT(OTHERS); i++) {
        module = a->facts && mt_facts_backend_is(a->facts, OTHERS[i]) ? OTHERS[i] : module;
    }
    mt_buf_printf(out, "torch.%s", module);
    return true;
}

#define PLACE(name)                                                                                \
    {                                                                                              \
        MT_STR_INIT(#name), place_##name                                                           \
    }
const struct mt_place MT_COMMAND_PLACES[] = {
    PLACE(batch_option),       PLACE(eval_batch_option), PLACE(shard_command),
    PLACE(checkpoint_command), PLACE(load_smaller),      PLACE(torch_module),
    PLACE(fused_attention),    PLACE(lacking),
};
const size_t MT_COMMAND_PLACES_N = MT_COUNT(MT_COMMAND_PLACES);
