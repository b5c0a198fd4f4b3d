/* SPDX-License-Identifier: MIT */
/*
 * Keys that nobody asked for. A config holds many that do not change a size (dropout, token ids,
 * names), and now and then one that does and that architectures/ does not know: a key whose
 * name has the shape of those that decide is an error, unless it is one of the harmless ones or
 * its value says "none".
 */
#include <string.h>

#include "support/compiler.h"

#include "verbs/estimate/model/arch_scope.h"

/* Names that decide how many elements there are, with * at either end. */
static const char deciding[] =
    "*_rank *_heads *experts* *_layers *_bias *head_dim *hidden_size* *intermediate_size "
    "*_inner *_expand *_kernel *qk_norm* *_layernorm *shared_* share_* tie_* num_* n_* "
    "*latent* *lora* d_* *_groups *_states *state_size *embd* *_embed_dim use_*bias "
    "*adapter* *vocab_size*";

/* Names, and parts of names with * at either end, that change no size although they look so. */
static const char harmless[] =
    "*_token_id* *_token_index* *_id *_ids *rope_* *rotary* *dropout* *_pdrop *_coef* "
    "*_eps* *epsilon* *_std *_range *scal* *_factor num_labels num_beams num_beam_groups "
    "num_return_sequences *output_hidden_states num_logits_to_keep num_tokens_per_* "
    "num_crops num_query_groups max_* n_ctx n_group num_experts_per_tok* "
    "num_experts_per_group num_expert_group* tie_encoder_decoder tie_weight* "
    "num_image_tokens num_patches* *_aux_* *_loss* *_multiplier* *attention_groups* "
    "attn_groups shared_expert_overlap moe_*overlap *moe_router* *router* n_shared_head* "
    "*_act num_nextn_predict_layers num_mtp_modules *_capacity* *_jitter* *_init* "
    "initializer* moe_renormalize moe_layer_use* moe_token_* moe_dtype moe_eval_* "
    "moe_train* moe_use_* moe_shared_expert_overlap *_temperature* no_bias_* skip_bias_add* "
    "use_cache_* output_* return_* num_hidden_states* num_frames d_inner num_blocks_per_seq "
    "n_layers_to_* *_vision_hidden_states image_*tokens num_key_value_groups "
    "vision_feature_layers num_added_* n_positions num_train* num_channels *_type "
    "add_bias_kv attn_bias_type lm_head_adapter_* num_sink_tokens num_local_blocks "
    "num_vert_stride num_register_* padded_vocab_size *original_vocab_size ep_num_* n_gpus "
    "num_attention_sinks text_config vision_config audio_config quantization_config "
    "compression_config time_step_rank qk_head_dim";

/* `pattern` has a * at its beginning, end or both. */
static bool matches(struct mt_str name, struct mt_str pattern)
{
    bool front = pattern.p[0] == '*', back = pattern.p[pattern.n - 1] == '*';
    struct mt_str core = {pattern.p + front, pattern.n - front - back};
    if (front && back) {
        return mt_str_find(name, core) != SIZE_MAX;
    }
    return front  ? mt_str_ends(name, core)
           : back ? mt_str_starts(name, core)
                  : mt_str_equal(name, core);
}

/* Whether one of the patterns, which blanks separate, matches. */
static bool is_one_of(const char *name, const char *patterns)
{
    struct mt_str word = {name, strlen(name)};
    while (*patterns) {
        size_t n = strcspn(patterns, " ");
        if (matches(word, (struct mt_str){patterns, n})) {
            return true;
        }
        patterns += n + (patterns[n] == ' ');
    }
    return false;
}

static bool decides(const char *name)
{
    return is_one_of(name, deciding) && !is_one_of(name, harmless);
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
