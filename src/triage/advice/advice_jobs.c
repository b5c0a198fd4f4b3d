/* SPDX-License-Identifier: MIT */
/* Advice for jobs that need more memory than the card has: by server, and by the moment at which a
 * training job died. */
#include "triage/advice/advice.h"

/* ---- servers and image tools ---- */

/* What a server's memory budget, batches and contexts have no part in. */
static void advise_server_weights(struct mt_advisor *a, const char *cards, const char *quantized)
{
    mt_advise(a, "more_cards", true);
    mt_advise_text(a, "It died while the weights were loaded: spread the model over more cards.");
    mt_advise_command(a, "%s", cards);
    mt_advise_why(a, "Weights per card halve with two.");
    mt_advise(a, "smaller_weights", true);
    mt_advise_text(a, "Or load smaller weights: a quantized checkpoint, or FP8 on the fly.");
    mt_advise_command(a, "%s", quantized);
    mt_advise_why(a, "FP8 takes 1 byte a parameter instead of 2, 4-bit half a byte. A shorter "
                     "context or a smaller budget would not help: nothing of it is taken yet.");
}

static void advise_vllm(struct mt_advisor *a)
{
    if (mt_incident_loads(a->facts->incident)) {
        advise_server_weights(a, "vllm serve MODEL --tensor-parallel-size 2",
                              "vllm serve MODEL --quantization fp8");
        return;
    }
    mt_advise(a, "less_budget", true);
    mt_advise_text(a, "Leave more outside vLLM's budget: it takes this share of the card for "
                      "weights and KV cache, and what failed comes on top.");
    mt_advise_command(a, "vllm serve MODEL --gpu-memory-utilization 0.85");
    mt_advise_why(a, "Each 0.05 gives %s back.",
                  a->facts->total ? mt_advice_size(a->facts->total / 20).s
                                  : "a twentieth of the card");
    if (strcmp(a->facts->incident->phase, "capturing CUDA graphs") == 0) {
        mt_advise(a, "no_graphs", true);
        mt_advise_text(a, "Do without CUDA graphs: it died while capturing them.");
        mt_advise_command(a, "vllm serve MODEL --enforce-eager");
        mt_advise_why(a, "Saves 1 to 3 GiB; decoding gets somewhat slower.");
    }
    mt_advise(a, "shorter", true);
    mt_advise_text(a, "Allow shorter contexts and fewer requests at a time.");
    mt_advise_command(a, "vllm serve MODEL --max-model-len 8192 --max-num-seqs 32");
    mt_advise_why(a, "Activations of the profiling run and the KV cache shrink in proportion.");
    mt_advise(a, "more_cards", true);
    mt_advise_text(a, "Or spread the model over more cards.");
    mt_advise_command(a, "vllm serve MODEL --tensor-parallel-size 2");
    mt_advise_why(a, "Weights and KV cache per card halve.");
}

static void advise_sglang(struct mt_advisor *a)
{
    if (mt_incident_loads(a->facts->incident)) {
        advise_server_weights(a, "python -m sglang.launch_server --model-path MODEL --tp 2",
                              "python -m sglang.launch_server --model-path MODEL --quantization "
                              "fp8");
        return;
    }
    mt_advise(a, "less_budget", true);
    mt_advise_text(a, "Leave more outside SGLang's static budget (weights and KV pool).");
    mt_advise_command(a, "python -m sglang.launch_server --model-path MODEL --mem-fraction-static "
                         "0.80");
    mt_advise_why(a, "Each 0.05 gives %s back.",
                  a->facts->total ? mt_advice_size(a->facts->total / 20).s
                                  : "a twentieth of the card");
    mt_advise(a, "smaller_graphs", true);
    mt_advise_text(a, "Capture CUDA graphs for smaller batches only.");
    mt_advise_command(a, "... --cuda-graph-max-bs 32");
    mt_advise_why(a, "The buffers of the graphs shrink with the largest batch.");
    mt_advise(a, "more_cards", true);
    mt_advise_text(a, "Or spread the model over more cards.");
    mt_advise_command(a, "... --tp 2");
    mt_advise_why(a, "Weights and KV cache per card halve.");
}

static void advise_images(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    mt_advise(a, "low_memory_mode", true);
    mt_advise_text(a, "Start in the low-memory mode: parts of the model wait in host memory.");
    mt_advise_command(a, mt_program_is(i, "comfyui")     ? "python main.py --lowvram"
                         : mt_program_is(i, "diffusers") ? "pipe.enable_model_cpu_offload()"
                                                         : "./webui.sh --medvram");
    mt_advise_why(a, "Only the part that works is on the card; each image takes longer.");
    if (mt_incident_loads(i)) {
        mt_advise(a, "smaller_weights", true);
        mt_advise_text(a, "Or load the weights in half precision or quantized: no image was being "
                          "made yet.");
        mt_advise_command(a, mt_program_is(i, "comfyui")     ? "python main.py --fp8_e4m3fn-unet"
                             : mt_program_is(i, "diffusers") ? "DiffusionPipeline.from_pretrained("
                                                               "NAME, torch_dtype=torch.bfloat16)"
                                                             : "./webui.sh --medvram-sdxl");
        mt_advise_why(a, "Half precision takes 2 bytes a parameter instead of 4.");
        return;
    }
    mt_advise(a, "smaller_image", true);
    mt_advise_text(a, "Make fewer or smaller images at a time, and decode in tiles.");
    mt_advise_command(a, mt_program_is(i, "diffusers") ? "pipe.enable_vae_tiling()"
                                                       : "# VAE Decode (Tiled), batch size 1");
    mt_advise_why(a, "Memory grows with the pixels: half the width and height need a quarter.");
}

bool mt_advice_server(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    if (mt_program_is(i, "vllm")) {
        advise_vllm(a);
    } else if (mt_program_is(i, "sglang")) {
        advise_sglang(a);
    } else if (mt_program_is(i, "comfyui") || mt_program_is(i, "stable-diffusion-webui") ||
               mt_program_is(i, "diffusers")) {
        advise_images(a);
    } else {
        return false;
    }
    return true;
}

/* ---- training ---- */

static bool died_in(const struct mt_advisor *a, const char *phase)
{
    return strcmp(a->facts->incident->phase, phase) == 0;
}

static void advise_batch(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    bool hf = mt_program_is(f->incident, "transformers") || mt_program_is(f->incident, "axolotl") ||
              mt_program_is(f->incident, "llamafactory");
    mt_advise(a, "smaller_micro_batch", true);
    mt_advise_text(a, "Halve the micro-batch and double gradient accumulation: the effective batch "
                      "and the result stay the same.");
    if (hf) {
        mt_advise_command(a, "--per_device_train_batch_size 1 --gradient_accumulation_steps 8");
    } else {
        mt_advise_command(a, "for micro in batch.chunk(2): (model(micro).loss / 2).backward()   # "
                             "then optimizer.step()");
    }
    if (f->room.known && f->room.missing > 0) {
        mt_advise_why(a, "Frees about half of the activations; %s is missing.",
                      mt_room_missing(&f->room).s);
    } else {
        mt_advise_why(a, "Frees about half of the activations.");
    }
}

static void advise_checkpointing(struct mt_advisor *a)
{
    mt_advise(a, "activation_checkpointing", true);
    mt_advise_text(a, "Recompute activations in the backward pass instead of keeping them.");
    mt_advise_command(a, "model.gradient_checkpointing_enable()   # or torch.utils.checkpoint "
                         "around each block");
    mt_advise_why(a,
                  "Frees half to four fifths of the activations for about a third more compute.");
}

static void advise_shard(struct mt_advisor *a, const char *why)
{
    mt_advise(a, "shard_states", true);
    mt_advise_text(a, "Share weights, gradients and optimizer state among the cards (FSDP, ZeRO), "
                      "or keep the optimizer state in host memory.");
    mt_advise_command(a, mt_program_is(a->facts->incident, "deepspeed")
                             ? "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": "
                               "{\"device\": \"cpu\"}}"
                             : "accelerate launch --use_fsdp --fsdp_sharding_strategy FULL_SHARD "
                               "train.py");
    mt_advise_why(a, "%s", why);
}

static void advise_evaluation(struct mt_advisor *a)
{
    mt_advise(a, "evaluate_without_graph", true);
    mt_advise_text(a, "It died in evaluation: evaluate without a graph, in small batches, and move "
                      "results off the card.");
    mt_advise_command(a, "with torch.inference_mode(): preds.append(model(x).cpu())");
    mt_advise_command(a, "--per_device_eval_batch_size 1 --eval_accumulation_steps 1   # Trainer");
    mt_advise_why(a, "Predictions that pile up on the card are the usual reason.");
}

static void advise_loading(struct mt_advisor *a)
{
    mt_advise(a, "smaller_weights", true);
    mt_advise_text(a, "It died while the model was loaded: load it in half precision or quantized, "
                      "straight onto the card.");
    mt_advise_command(a, "AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16, "
                         "device_map='auto')");
    mt_advise_why(a, "Half precision takes 2 bytes a parameter instead of 4; 4-bit takes half a "
                     "byte.");
    mt_advise(a, "one_model", true);
    mt_advise_text(a, "Make sure that no other copy is on the card: a model loaded before, or one "
                      "per worker.");
    mt_advise_command(a, "del model; import gc; gc.collect(); torch.cuda.empty_cache()");
    mt_advise_why(a, "Between two models empty_cache() is right.");
    advise_shard(a, "With N cards each holds a part.");
}

void mt_advice_training(struct mt_advisor *a)
{
    if (strcmp(a->facts->incident->backend, "mps") == 0) {
        if (!mt_incident_loads(a->facts->incident)) {
            advise_batch(a);
        }
        mt_advise(a, "half_precision", true);
        mt_advise_text(a, "Load the model in half precision; close other programs.");
        mt_advise_command(a, "model.to('mps', dtype=torch.float16)");
        mt_advise_why(a, "Weights take half.");
        return;
    }
    if (died_in(a, "loading the model")) {
        advise_loading(a);
        return;
    }
    if (died_in(a, "evaluation")) {
        advise_evaluation(a);
    }
    if (died_in(a, "the optimizer step")) {
        advise_shard(a, "It died when the optimizer took its state (Adam: 8 bytes a parameter); "
                        "ZeRO stage 1 divides that by the number of cards.");
    }
    advise_batch(a);
    advise_checkpointing(a);
    if (!died_in(a, "the optimizer step") && !died_in(a, "evaluation")) {
        advise_shard(a,
                     "Full sharding over N cards divides the model's 16 bytes a parameter by N.");
    }
}
