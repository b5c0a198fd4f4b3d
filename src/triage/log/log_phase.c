/* SPDX-License-Identifier: MIT */
/*
 * The phase comes from two kinds of line. A frame of a stack names the function that ran; the
 * innermost one that tells a phase counts, and a general name ("forward") gives way to any other.
 * Without such a frame a line counts that says that something began ("Loading checkpoint shards"),
 * until one says that it ended. Words in settings, in names of files that are read and in prose are
 * neither.
 */
#include "triage/log/log.h"

static const struct {
    struct mt_str word; /* squeezed */
    enum mt_phase phase;
    bool weak;
} FRAMES[] = {
    {MT_STR_INIT("from_pretrained"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("load_model"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("loadmodel"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("load_state_dict"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("load_weights"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("load_checkpoint"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("model_loader"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("create_weights"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("initialize_model"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("modeling_utils.py"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("in_apply"), MT_PHASE_LOADING, false},
    {MT_STR_INIT("optim/"), MT_PHASE_OPTIMIZER, false},
    {MT_STR_INIT("optim\\"), MT_PHASE_OPTIMIZER, false},
    {MT_STR_INIT("optimizer.py"), MT_PHASE_OPTIMIZER, false},
    {MT_STR_INIT("adamw.py"), MT_PHASE_OPTIMIZER, false},
    {MT_STR_INIT("adam.py"), MT_PHASE_OPTIMIZER, false},
    {MT_STR_INIT("optimizer.step"), MT_PHASE_OPTIMIZER, false},
    {MT_STR_INIT("inevaluat"), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("evaluate("), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("evaluation_loop"), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("invalidat"), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("validation_step"), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("prediction_step"), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("ineval"), MT_PHASE_EVALUATION, false},
    {MT_STR_INIT("generation/utils.py"), MT_PHASE_GENERATION, false},
    {MT_STR_INIT("generation\\utils.py"), MT_PHASE_GENERATION, false},
    {MT_STR_INIT(".generate("), MT_PHASE_GENERATION, false},
    {MT_STR_INIT("ingenerate"), MT_PHASE_GENERATION, false},
    {MT_STR_INIT("capture_model"), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("cuda_graph_runner"), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("capture_begin"), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("capture_end"), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("torch.cuda.graph("), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("cuda/graphs.py"), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("init_device_graphs"), MT_PHASE_CAPTURE, false},
    {MT_STR_INIT("autoencoder_kl"), MT_PHASE_DECODING, false},
    {MT_STR_INIT("decode_first_stage"), MT_PHASE_DECODING, false},
    {MT_STR_INIT("decode_latent"), MT_PHASE_DECODING, false},
    {MT_STR_INIT("profile_run"), MT_PHASE_PROFILING, false},
    {MT_STR_INIT("determine_available_memory"), MT_PHASE_PROFILING, false},
    {MT_STR_INIT("determine_num_available"), MT_PHASE_PROFILING, false},
    {MT_STR_INIT("_dummy_run"), MT_PHASE_PROFILING, true},
    {MT_STR_INIT("_dummy_sampler_run"), MT_PHASE_PROFILING, true},
    {MT_STR_INIT("compile_or_warm_up_model"), MT_PHASE_WARM_UP, false},
    {MT_STR_INIT("inwarmup"), MT_PHASE_WARM_UP, false},
    {MT_STR_INIT("event_loop"), MT_PHASE_SERVING, false},
    {MT_STR_INIT("forward_batch_generation"), MT_PHASE_SERVING, false},
    {MT_STR_INIT("execute_model"), MT_PHASE_SERVING, false},
    {MT_STR_INIT("engine_step"), MT_PHASE_SERVING, false},
    {MT_STR_INIT("run_engine_loop"), MT_PHASE_SERVING, false},
    {MT_STR_INIT("vae.decode"), MT_PHASE_DECODING, false},
    {MT_STR_INIT("vaedecode"), MT_PHASE_DECODING, false},
    {MT_STR_INIT("inbackward"), MT_PHASE_BACKWARD, true},
    {MT_STR_INIT(".backward("), MT_PHASE_BACKWARD, true},
    {MT_STR_INIT("inforward"), MT_PHASE_FORWARD, true},
};

static const struct {
    struct mt_str word;
    enum mt_phase phase; /* MT_PHASE_NONE: ends whatever had begun */
} LINES[] = {
    {MT_STR_INIT("shards:100%"), MT_PHASE_NONE},
    {MT_STR_INIT("loadingcheckpointshards"), MT_PHASE_LOADING},
    {MT_STR_INIT("loadingsafetensors"), MT_PHASE_LOADING},
    {MT_STR_INIT("startingtoloadmodel"), MT_PHASE_LOADING},
    {MT_STR_INIT("loadweightbegin"), MT_PHASE_LOADING},
    {MT_STR_INIT("load_tensors:offloaded"), MT_PHASE_NONE}, /* its buffers are there */
    {MT_STR_INIT("modelbuffersize"), MT_PHASE_NONE},
    {MT_STR_INIT("load_tensors:"), MT_PHASE_LOADING},
    {MT_STR_INIT("modelloadingtook"), MT_PHASE_NONE},
    {MT_STR_INIT("modelweightstook"), MT_PHASE_NONE},
    {MT_STR_INIT("loadweightend"), MT_PHASE_NONE},
    {MT_STR_INIT("llama_context:"), MT_PHASE_CONTEXT},
    {MT_STR_INIT("llama_new_context"), MT_PHASE_CONTEXT},
    {MT_STR_INIT("llama_kv_cache"), MT_PHASE_CONTEXT},
    {MT_STR_INIT("graphcapturingfinished"), MT_PHASE_NONE},
    {MT_STR_INIT("capturecudagraphend"), MT_PHASE_NONE},
    {MT_STR_INIT("graphcapturingstarted"), MT_PHASE_CAPTURE},
    {MT_STR_INIT("capturingcudagraph"), MT_PHASE_CAPTURE},
    {MT_STR_INIT("whenwarmingupsampler"), MT_PHASE_WARM_UP},
    {MT_STR_INIT("capturingthemodelforcudagraph"), MT_PHASE_CAPTURE},
    {MT_STR_INIT("capturecudagraphbegin"), MT_PHASE_CAPTURE},
    {MT_STR_INIT("capturecudagraphfailed"), MT_PHASE_CAPTURE},
    {MT_STR_INIT("runningevaluation"), MT_PHASE_EVALUATION},
    {MT_STR_INIT("evaluating:"), MT_PHASE_EVALUATION},
    {MT_STR_INIT("validating:"), MT_PHASE_EVALUATION},
    {MT_STR_INIT(",test,"), MT_PHASE_EVALUATION},
    {MT_STR_INIT("runningtraining"), MT_PHASE_NONE},
    {MT_STR_INIT(",train,"), MT_PHASE_NONE},
    {MT_STR_INIT("'loss':"), MT_PHASE_NONE},
    {MT_STR_INIT("startupcomplete"), MT_PHASE_SERVING},
    {MT_STR_INIT("promptthroughput"), MT_PHASE_SERVING},
    {MT_STR_INIT("serverisfiredup"), MT_PHASE_SERVING},
    {MT_STR_INIT("decodebatch"), MT_PHASE_SERVING},
};

static bool has(struct mt_str line, struct mt_str word)
{
    return mt_str_find(line, word) != SIZE_MAX;
}

/* `File "x.py", line 12, in f`, IPython's `File x.py:12, in f`, C++'s `at f`. */
static bool is_frame(struct mt_str line)
{
    bool file = has(line, MT_STR("file\"")) || has(line, MT_STR("file~")) ||
                (has(line, MT_STR(".py:")) && has(line, MT_STR(",in"))) ||
                (has(line, MT_STR(".py\"")) && has(line, MT_STR(",line")));
    return file || mt_str_starts(line, MT_STR("-->"));
}

/* The last word of a frame is the method: "in to", "in cuda". */
static bool is_move(struct mt_str line)
{
    return mt_str_ends(line, MT_STR(",into")) || mt_str_ends(line, MT_STR(",incuda"));
}

static void take_frame(struct mt_phase_state *s, struct mt_str line)
{
    for (size_t i = 0; i < MT_COUNT(FRAMES); i++) {
        if (has(line, FRAMES[i].word) && (!FRAMES[i].weak || !s->firm)) {
            s->frame = FRAMES[i].phase;
            s->firm = !FRAMES[i].weak;
            return;
        }
    }
    if (is_move(line) && !s->firm) {
        s->frame = MT_PHASE_LOADING;
        s->firm = true;
    }
}

void mt_phase_take(struct mt_phase_state *s, struct mt_str line)
{
    bool frame = is_frame(line);
    bool cached = s->cached || has(line, MT_STR("graphcapturingfinished")) ||
                  has(line, MT_STR("gpukvcachesize")) ||
                  has(line, MT_STR("availablekvcachememory"));
    if (frame || s->frame_before) {
        take_frame(s, line);
    } else {
        for (size_t i = 0; i < MT_COUNT(LINES); i++) {
            if (has(line, LINES[i].word)) {
                *s = (struct mt_phase_state){.begun = LINES[i].phase};
                break;
            }
        }
    }
    s->frame_before = frame;
    s->cached = cached;
}

/* A pass of the warm-up has the frames of the profiling run, but the KV cache is there by then. */
static enum mt_phase frame_phase(const struct mt_phase_state *s)
{
    return s->frame == MT_PHASE_PROFILING && !s->firm && s->cached ? MT_PHASE_WARM_UP : s->frame;
}

enum mt_phase mt_phase_of(const struct mt_phase_state *s)
{
    return s->frame != MT_PHASE_NONE ? frame_phase(s) : s->begun;
}

/* ---- the lines in front of a message ---- */

/* Bytes before a message in which its phase is looked for: some hundred frames. */
#define PHASE_BYTES 8000

/* Frames, and progress bars over shards and graphs: what they count are no steps. */
static bool counts_other_things(struct mt_str line)
{
    static const struct mt_str WORDS[] = {
        MT_STR_INIT("File \""), MT_STR_INIT("apturing"),  MT_STR_INIT("oading"),
        MT_STR_INIT("hards"),   MT_STR_INIT("ownload"),   MT_STR_INIT("Map:"),
        MT_STR_INIT("okeniz"),  MT_STR_INIT("enerating"), MT_STR_INIT("etching")};
    return mt_log_has_any(line, WORDS, MT_COUNT(WORDS));
}

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
        if (line.n < 400 && !counts_other_things(line) &&
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

/* The phase that the last lines tell. */
static void take_phase(struct mt_phase_state *s, struct mt_str before, bool *failed)
{
    struct mt_buf tight = {0};
    size_t at = before.n > PHASE_BYTES ? before.n - PHASE_BYTES : 0;
    while (at < before.n) {
        size_t end = at;
        while (end < before.n && before.p[end] != '\n') {
            end++;
        }
        mt_buf_reset(&tight);
        mt_log_squeeze(&tight, (struct mt_str){before.p + at, end - at});
        mt_phase_take(s, mt_buf_view(&tight));
        *failed |= tight.failed;
        at = end + 1;
    }
    mt_buf_release(&tight);
}

void mt_log_context(struct mt_log *log, struct mt_str before, struct mt_log_message *m)
{
    m->phase = (struct mt_phase_state){0};
    take_phase(&m->phase, before, &log->no_memory);
    m->step = nearest_step(before, &log->no_memory);
    mt_log_place_take(m, before);
}
