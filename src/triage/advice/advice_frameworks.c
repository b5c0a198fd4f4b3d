/* SPDX-License-Identifier: MIT */
/* Advice for everything that is not PyTorch: each framework has its own switches. */
#include "support/units.h"
#include "triage/advice/advice.h"

static void entry(struct mt_advisor *a, const char *id, const char *text, const char *command,
                  const char *why)
{
    mt_advise(a, id, true);
    mt_advise_text(a, "%s", text);
    mt_advise_command(a, "%s", command);
    mt_advise_why(a, "%s", why);
}

static void who_else(struct mt_advisor *a)
{
    entry(a, "who_holds_the_card", "See who is on the card, and stop what is left over.",
          "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",
          "Several frameworks take most of the card when they start, so two of them cannot share "
          "it.");
}

static void advise_jax(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    bool tiny = f->requested > 0 && f->requested < 256 * MT_MIB;
    if (tiny) {
        who_else(a);
    }
    entry(a, "preallocation",
          "Let JAX take memory as it goes, or a smaller share. Set it before Python starts.",
          "export XLA_PYTHON_CLIENT_PREALLOCATE=false   # or XLA_PYTHON_CLIENT_MEM_FRACTION=.60",
          "By default JAX takes 75 % of the card at once, which fails beside another process.");
    entry(a, "remat", "Recompute instead of keeping, and use smaller batches.",
          "step = jax.jit(jax.checkpoint(step), donate_argnums=(0,))",
          "Donated arguments give their memory to the result; jax.checkpoint frees activations.");
}

static void advise_tpu(struct mt_advisor *a)
{
    entry(a, "remat",
          "The compiled program needs more than the chip has: recompute, shard, or use "
          "a smaller batch.",
          "step = jax.jit(jax.checkpoint(step), donate_argnums=(0,))",
          "The compiler's list in the message names the largest buffers.");
}

static void advise_tf(struct mt_advisor *a)
{
    if (a->verdict == MT_VERDICT_PER_PROCESS_LIMIT) {
        mt_advise(a, "raise_limit", true);
        mt_advise_text(a, "Raise or remove the limit, before the first operation runs.");
        mt_advise_command(a, "grep -rn 'memory_limit\\|per_process_gpu_memory_fraction' .");
        mt_advise_command(a, "tf.config.set_logical_device_configuration(gpu, [tf.config."
                             "LogicalDeviceConfiguration(memory_limit=MIB)])");
        mt_advise_why(a, "The program itself allowed only %s.", mt_advice_size(a->facts->total).s);
    } else {
        who_else(a);
    }
    entry(a, "memory_growth", "Let TensorFlow take memory as it needs it.",
          "export TF_FORCE_GPU_ALLOW_GROWTH=true",
          "Without it the first process takes the whole card.");
    entry(a, "smaller_batch", "Use a smaller batch, or half precision.",
          "tf.keras.mixed_precision.set_global_policy('mixed_float16')",
          "Activations shrink with the batch; half precision halves them.");
}

static void advise_ggml(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    mt_advise(a, "fewer_layers", true);
    mt_advise_text(a, "Put fewer layers on the card; the rest runs on the CPU.");
    mt_advise_command(a, "llama-server -m MODEL.gguf -ngl 20   # lower until it fits");
    if (f->requested) {
        mt_advise_why(a, "A buffer of %s did not fit; each layer less takes its share off.",
                      mt_advice_size(f->requested).s);
    } else {
        mt_advise_why(a, "Each layer less takes its share off the card.");
    }
    if (mt_incident_loads(f->incident)) {
        entry(a, "smaller_model",
              "Take a smaller quantization: it died while the weights were read.",
              "llama-server -m MODEL-Q4_K_M.gguf", "Q4 takes about half a byte a parameter.");
        entry(a, "more_cards", "Or spread the model over several cards.",
              "llama-server -m MODEL.gguf --tensor-split 1,1",
              "Weights and KV cache are divided among them.");
        return;
    }
    entry(a, "shorter_context", "Use a shorter context, a quantized KV cache, a smaller batch.",
          "llama-server -m MODEL.gguf -c 8192 -ctk q8_0 -ctv q8_0 -ub 256",
          "The KV cache grows with the context, the compute buffer with -ub.");
    entry(a, "smaller_model", "Or take a smaller quantization, or spread it over several cards.",
          "llama-server -m MODEL-Q4_K_M.gguf --tensor-split 1,1",
          "Q4 takes about half a byte a parameter.");
}

static void advise_cupy(struct mt_advisor *a)
{
    entry(a, "free_pool", "Give back what CuPy's pool keeps, and delete arrays that are done with.",
          "cupy.get_default_memory_pool().free_all_blocks()",
          "The pool keeps freed memory; other libraries cannot use it.");
    who_else(a);
    entry(a, "pieces", "Work in pieces, or with smaller types.", "x = x.astype(cupy.float32)",
          "float32 takes half of float64, NumPy's default.");
}

static void advise_rmm(struct mt_advisor *a)
{
    entry(a, "larger_pool", "Let the pool grow, or do without a maximum.",
          "rmm.reinitialize(pool_allocator=True, maximum_pool_size=None)",
          "The pool's own maximum was reached, not the card's memory.");
    entry(a, "spill", "Let cuDF spill to host memory.", "export CUDF_SPILL=on",
          "Data frames that are not in use leave the card.");
}

static void advise_ort(struct mt_advisor *a)
{
    entry(a, "arena", "Limit the arena and let it grow only by what is asked for.",
          "providers=[('CUDAExecutionProvider', {'arena_extend_strategy': 'kSameAsRequested'})]",
          "By default the arena doubles, which wastes up to half.");
    entry(a, "smaller_batch", "Use a smaller batch or shorter inputs.", "# batch size 1 first",
          "Activations shrink in proportion.");
}

static void advise_paddle(struct mt_advisor *a)
{
    who_else(a);
    entry(a, "smaller_batch", "Use a smaller batch.", "# halve batch_size, double accumulation",
          "Activations shrink in proportion.");
    entry(a, "allocator", "Let Paddle take memory as it goes. Set it before Python starts.",
          "export FLAGS_allocator_strategy=auto_growth",
          "Less is lost to a pool taken in advance.");
}

static void advise_julia(struct mt_advisor *a)
{
    if (a->verdict == MT_VERDICT_PER_PROCESS_LIMIT) {
        entry(a, "raise_limit", "Raise or remove the limit. Set it before Julia starts.",
              "unset JULIA_CUDA_HARD_MEMORY_LIMIT JULIA_CUDA_SOFT_MEMORY_LIMIT "
              "JULIA_CUDA_MEMORY_LIMIT",
              "The allocator is capped below the card's size.");
    }
    entry(a, "reclaim", "Free what is done with, and reclaim the pool.",
          "CUDA.unsafe_free!(x); GC.gc(true); CUDA.reclaim()",
          "Julia frees arrays only when its collector runs.");
    who_else(a);
}

static void advise_tensorrt(struct mt_advisor *a)
{
    entry(a, "workspace", "Limit the builder's workspace, and build with a smaller maximum shape.",
          "trtexec --onnx=model.onnx --memPoolSize=workspace:2048",
          "The workspace is taken on top of the weights.");
    who_else(a);
}

static const struct {
    const char *framework;
    void (*advise)(struct mt_advisor *a);
} FRAMEWORKS[] = {
    {"jax", advise_jax},       {"tensorflow", advise_tf}, {"ggml", advise_ggml},
    {"cupy", advise_cupy},     {"rmm", advise_rmm},       {"onnxruntime", advise_ort},
    {"paddle", advise_paddle}, {"julia", advise_julia},   {"tensorrt", advise_tensorrt},
};

bool mt_advice_framework(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    if (strcmp(i->backend, "tpu") == 0) {
        advise_tpu(a);
        return true;
    }
    for (size_t n = 0; n < MT_COUNT(FRAMEWORKS); n++) {
        if (mt_incident_is(i, FRAMEWORKS[n].framework)) {
            FRAMEWORKS[n].advise(a);
            return true;
        }
    }
    return false;
}
