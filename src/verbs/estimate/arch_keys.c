/* SPDX-License-Identifier: MIT */
/*
 * Keys that nobody asked for. A config holds many that do not change a size (dropout, token ids,
 * names), and now and then one that does and that architectures.txt does not know: a key whose
 * name has the shape of those that decide is an error, unless it is one of the harmless ones or
 * its value says "none".
 */
#include <string.h>

#include "support/compiler.h"

#include "verbs/estimate/arch_scope.h"

/* Ends, or with a * behind them beginnings, of names that decide how many elements there are. */
static const char *const deciding[] = {
    "_size",    "_dim",        "_dims",   "_rank",        "_heads",     "_experts", "_layers",
    "_groups",  "_bias",       "_blocks", "_depth",       "_expand",    "_kernel",  "_ratio",
    "_states",  "_width",      "_inner",  "_layer",       "_layernorm", "_norm",    "_qk_norm",
    "num_*",    "n_*",         "d_*",     "layer_types*", "use_*",      "tie_*",    "share_*",
    "shared_*", "_multiplier", "_period", "_pattern",     "_interval",  "_window",  "window_*",
};

/* Names, and parts of names with * at either end, that change no size although they look so. */
static const char *const harmless[] = {
    "*_token_id*",
    "*_token_index*",
    "*_id",
    "*_ids",
    "rope_*",
    "*_rope*",
    "*rotary*",
    "*dropout*",
    "*_pdrop",
    "*_coef",
    "*_eps*",
    "*epsilon*",
    "*_std",
    "*_range",
    "*_theta",
    "*scal*",
    "*_factor",
    "use_cache",
    "use_return_dict",
    "use_bfloat16",
    "use_flash*",
    "*_cache_*",
    "use_rms_norm",
    "num_labels",
    "num_beams",
    "num_beam_groups",
    "num_return_sequences",
    "num_hidden_states*",
    "max_*",
    "original_*",
    "initial_*",
    "initializer*",
    "min_*",
    "n_ctx",
    "n_group",
    "topk_group",
    "n_groups_topk",
    "num_experts_per_to*",
    "num_experts_per_group",
    "n_positions",
    "num_logits*",
    "num_expert_group*",
    "tie_encoder_decoder",
    "chunk_size*",
    "*_chunk_size",
    "*_block_size",
    "*_batch_size",
    "batch_size",
    "ep_size",
    "tp_size",
    "*_tp",
    "vocab_size",
    "image_size",
    "mm_tokens_*",
    "*_patches",
    "num_patches*",
    "*_type",
    "*_aux_*",
    "*_loss*",
    "*_z_loss",
    "*softcap*",
    "norm_topk_prob",
    "topk_*",
    "*_act",
    "*activation*",
    "*_impl*",
    "*_method",
    "skip_bias_add*",
    "residual_in_fp32",
    "rescale_*",
    "*kernels*",
    "*_kernel_type",
    "use_mambapy",
    "use_fast*",
    "use_cache_*",
    "use_dynamic_ntk",
    "use_logn_attn",
    "use_xformers",
    "use_triton*",
    "use_mamba_kernels",
    "use_sliding_window",
    "num_logits_to_keep",
    "use_parallel_residual",
    "use_memory_efficient*",
    "no_bias_*",
    "n_embed_*",
    "encoder_no_repeat*",
    "no_repeat_ngram_size",
    "diversity_*",
    "length_*",
    "num_image_tokens",
    "image_seq_length",
    "*_seq_length",
    "seq_length",
    "model_max_*",
    "apply_residual_connection_post_layernorm",
    "output_*",
    "return_*",
    "fp32_*",
    "*_fp32*",
    "tokenizer*",
    "*_dtype",
    "hidden_act",
    "quantization_bit",
    "pre_seq_len",
    "prefix_*",
    "gradient_*",
    "*_init*",
    "routed_scaling*",
    "moe_router*",
    "router_*",
    "scoring_func",
    "seq_aux",
    "aux_*",
    "use_expert_parallel",
    "train_*",
    "use_auth*",
    "use_sdpa*",
    "query_pre_*",
    "transformers_*",
    "*version*",
    "mlp_layer_types",
    "layer_group_*",
    "use_cached*",
    "use_stable_*",
    "*_capacity*",
    "*_jitter*",
    "projector_hidden_act",
    "num_frames",
    "*_fps",
    "fps*",
    "*_token",
    "swiglu_limit",
    "initial_context_length",
    "final_*",
    "embd_*",
    "layerdrop",
    "*_layerdrop",
    "time_step_*",
    "*_floor",
    "*_min",
    "*_max",
    "*_limit",
    "*_temperature*",
    "temperature*",
    "use_scaled_*",
    "window_attn_skip_dim",
    "n_shared_head*",
    "num_nextn_predict_layers",
    "num_mtp_modules",
    "attention_type",
    "*_length",
    "*_len",
    "num_key_value_groups",
    "use_qkv_merge*",
    "num_tokens_per_*",
    "use_long_context",
    "layer_norm_type",
    "use_scaled_rope",
    "num_attn_heads_*",
    "d_inner",
    "num_heads_per_*",
    "mrope_*",
    "num_local_experts_per_*",
    "tie_weight*",
    "log_*",
    "use_attention_sinks",
    "scale_depth",
    "scale_emb",
    "dim_model_base",
    "emb_*",
    "attn_dropout_*",
    "use_mem_*",
    "is_*",
    "hidden_size_per_layer_scale",
    "cross_attention_hidden_size",
    "cls_*",
    "sep_*",
    "decoder_start*",
    "summary_*",
    "task_*",
    "position_embedding_type",
    "pooler_*",
    "classifier_*",
    "direction",
    "directionality",
    "problem_type",
    "id2label",
    "label2id",
    "finetuning_task",
    "torchscript",
    "pruned_heads",
    "add_cross_attention",
    "architectures",
    "auto_map",
    "model_type",
    "quantization_config",
    "attn_implementation",
    "_*",
    "text_config",
    "vision_config",
    "audio_config",
    "compression_config",
    "use_associative_scan",
    "*_multiplier*",
    "layer_types",
    "qk_head_dim",
    "block_size",
    "use_bidirectional_attention",
};

/* `pattern` with a * at its beginning, end or both. */
static bool matches(const char *name, const char *pattern)
{
    size_t n = strlen(name), k = strlen(pattern);
    bool front = pattern[0] == '*', back = pattern[k - 1] == '*';
    const char *core = pattern + front;
    k -= (size_t)front + (back && k > 1);
    if (front && back) {
        return mt_str_find((struct mt_str){name, n}, (struct mt_str){core, k}) != SIZE_MAX;
    }
    return n >= k && (back || front || n == k) && memcmp(front ? name + n - k : name, core, k) == 0;
}

static bool decides(const char *name)
{
    bool yes = false;
    for (size_t i = 0; i < MT_COUNT(deciding); i++) {
        const char *d = deciding[i];
        size_t n = strlen(name), k = strlen(d);
        yes |= d[k - 1] == '*' ? matches(name, d) : n >= k && strcmp(name + n - k, d) == 0;
    }
    for (size_t i = 0; yes && i < MT_COUNT(harmless); i++) {
        yes = !matches(name, harmless[i]);
    }
    return yes;
}

/* null, false, 0, "" and empty lists: what the key would add is not there. */
static bool says_none(const cJSON *c)
{
    return cJSON_IsNull(c) || cJSON_IsFalse(c) || (cJSON_IsNumber(c) && c->valuedouble == 0) ||
           (cJSON_IsString(c) && !*c->valuestring) ||
           ((cJSON_IsArray(c) || cJSON_IsObject(c)) && !c->child);
}

static bool was_used(const struct mt_scope_object *o, const char *key)
{
    for (size_t i = 0; i < o->n_used; i++) {
        if (strcmp(o->used[i], key) == 0) {
            return true;
        }
    }
    return false;
}

enum mt_status mt_scope_check(const struct mt_scope *s, struct mt_error *err)
{
    const struct mt_scope_object *o = &s->objects[s->n_objects - 1];
    for (const cJSON *c = o->object->child; c; c = c->next) {
        if (!says_none(c) && !cJSON_IsString(c) && decides(c->string) && !was_used(o, c->string)) {
            mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                    "the key %s%s%.60s looks as if it decided a size, and this memtool does not "
                    "know it for this model_type",
                    o->path, *o->path ? "." : "", c->string);
            return mt_hint(err, "take the key out of a copy of the config if it changes no size");
        }
    }
    return MT_OK;
}
