/* SPDX-License-Identifier: MIT */
/*
 * What the program was doing: read from the lines in front of a message, which in a traceback are
 * its frames, innermost last. The last word found counts; words in a farther frame only tell the
 * program.
 */
#include "triage/log/log.h"

#define PHASE_LOAD "loading the model"
#define PHASE_CONTEXT "creating the context" /* llama.cpp: KV cache and compute buffers */
#define PHASE_OPTIMIZER "the optimizer step"
#define PHASE_EVALUATION "evaluation"
#define PHASE_BACKWARD "the backward pass"
#define PHASE_FORWARD "the forward pass"
#define PHASE_CAPTURE "capturing CUDA graphs"
#define PHASE_PROFILING "the memory profiling run"

/* X(word, program, phase, weak): a weak phase gives way to any other. */
#define CONTEXT_MAP(X)                                                                             \
    X("vllm", "vllm", NULL, false)                                                                 \
    X("rayworkerwrapper", "vllm", NULL, false)                                                     \
    X("enginecore", "vllm", NULL, false)                                                           \
    X("sglang", "sglang", NULL, false)                                                             \
    X("torch_memory_saver", "sglang", NULL, false)                                                 \
    X("cuda_graph_runner", "sglang", NULL, false)                                                  \
    X("deepspeed", "deepspeed", NULL, false)                                                       \
    X("comfyui", "comfyui", NULL, false)                                                           \
    X("error occurred when executing", "comfyui", NULL, false)                                     \
    X("stable-diffusion-webui", "stable-diffusion-webui", NULL, false)                             \
    X("megatron", "megatron", NULL, false)                                                         \
    X("llamafactory", "llamafactory", NULL, false)                                                 \
    X("axolotl", "axolotl", NULL, false)                                                           \
    X("lightning", "lightning", NULL, false)                                                       \
    X("transformers", "transformers", NULL, false)                                                 \
    X("diffusers", "diffusers", NULL, false)                                                       \
    X("llama.cpp", "llama.cpp", NULL, false)                                                       \
    X("ollama", "ollama", NULL, false)                                                             \
    X("from_pretrained", NULL, PHASE_LOAD, false)                                                  \
    X("load_model", NULL, PHASE_LOAD, false)                                                       \
    X("load_state_dict", NULL, PHASE_LOAD, false)                                                  \
    X("load_weights", NULL, PHASE_LOAD, false)                                                     \
    X("load_tensors", NULL, PHASE_LOAD, false)                                                     \
    X("llama_context", NULL, PHASE_CONTEXT, false)                                                 \
    X("llama_new_context", NULL, PHASE_CONTEXT, false)                                             \
    X("llama_kv_cache", NULL, PHASE_CONTEXT, false)                                                \
    X("in _apply", NULL, PHASE_LOAD, false)                                                        \
    X("optimizer.py", NULL, PHASE_OPTIMIZER, false)                                                \
    X("adamw.py", NULL, PHASE_OPTIMIZER, false)                                                    \
    X("adam.py", NULL, PHASE_OPTIMIZER, false)                                                     \
    X("evaluat", NULL, PHASE_EVALUATION, false)                                                    \
    X("validat", NULL, PHASE_EVALUATION, false)                                                    \
    X("_eval", NULL, PHASE_EVALUATION, false)                                                      \
    X("in backward", NULL, PHASE_BACKWARD, true)                                                   \
    X("in forward", NULL, PHASE_FORWARD, true)                                                     \
    X("cuda_graph", NULL, PHASE_CAPTURE, false)                                                    \
    X("cuda graph", NULL, PHASE_CAPTURE, false)                                                    \
    X("capture_model", NULL, PHASE_CAPTURE, false)                                                 \
    X("profile_run", NULL, PHASE_PROFILING, false)                                                 \
    X("determine_", NULL, PHASE_PROFILING, false)

static const struct {
    const char *program; /* or NULL */
    const char *phase;   /* or NULL */
    bool weak;
} CONTEXTS[] = {
#define X(word, program, phase, weak) {program, phase, weak},
    CONTEXT_MAP(X)
#undef X
};

const struct mt_str MT_CONTEXT_WORDS[] = {
#define X(word, program, phase, weak) MT_STR_INIT(word),
    CONTEXT_MAP(X)
#undef X
};
const size_t MT_CONTEXT_WORDS_N = MT_COUNT(MT_CONTEXT_WORDS);

/* Bytes before a message in which its phase is looked for: some twenty frames. */
#define PHASE_BYTES 3000

/* The step that the nearest of the lines before tells. */
static int64_t nearest_step(struct mt_str before, bool *failed)
{
    struct mt_buf tight = {0};
    int64_t step = -1;
    size_t end = before.n;
    for (int lines = 0; lines < 60 && end > 0 && step < 0; lines++) {
        size_t begin = end - 1;
        while (begin > 0 && before.p[begin - 1] != '\n') {
            begin--;
        }
        struct mt_str line = {before.p + begin, end - begin};
        if (line.n < 400 && mt_str_find(line, MT_STR("File \"")) == SIZE_MAX &&
            (mt_str_find(line, MT_STR("tep")) != SIZE_MAX ||
             mt_str_find(line, MT_STR("ter")) != SIZE_MAX ||
             mt_str_find(line, MT_STR("it/s")) != SIZE_MAX ||
             mt_str_find(line, MT_STR("s/it")) != SIZE_MAX)) {
            mt_buf_reset(&tight);
            mt_log_squeeze(&tight, line);
            step = mt_step_number(mt_buf_view(&tight));
            *failed |= tight.failed;
        }
        end = begin;
    }
    mt_buf_release(&tight);
    return step;
}

void mt_log_context(struct mt_log *log, struct mt_str before, struct mt_log_message *m)
{
    struct mt_multi_hit hit;
    bool weak = true;
    m->phase = "";
    m->program = "";
    for (size_t at = 0; mt_multi_find(&log->context, before, at, &hit); at = hit.at + 1) {
        if (CONTEXTS[hit.which].program) {
            m->program = CONTEXTS[hit.which].program;
        } else if (before.n - hit.at < PHASE_BYTES && (weak || !CONTEXTS[hit.which].weak)) {
            m->phase = CONTEXTS[hit.which].phase;
            weak = CONTEXTS[hit.which].weak;
        }
    }
    m->step = nearest_step(before, &log->no_memory);
}
