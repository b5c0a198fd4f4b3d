/* SPDX-License-Identifier: MIT */
/*
 * The phase comes from two kinds of line. A frame of a stack names the function that ran; the
 * innermost one that tells a phase counts, and a general name ("forward") gives way to any other.
 * Without such a frame a line counts that says that something began ("Loading checkpoint shards"),
 * until one says that it ended. Words in settings, in names of files that are read and in prose are
 * neither.
 */
#include <stdio.h>

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
    {MT_STR_INIT("utils/weights.py"), MT_PHASE_LOADING, false},
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

/* ---- where its own code stood ---- */

/* Bytes and lines before a message in which its frames are looked for. */
enum { PLACE_BYTES = 8000, PLACE_LINES = 200, CAUSE_LINES = 3 };

/* Takes the last line off the text; without its newline. */
static struct mt_str last_line(struct mt_str *text)
{
    size_t end = text->n;
    end -= end > 0 && text->p[end - 1] == '\n';
    size_t begin = end;
    while (begin > 0 && text->p[begin - 1] != '\n') {
        begin--;
    }
    struct mt_str line = {text->p + begin, end - begin};
    text->n = begin;
    return line;
}

static struct mt_str behind(struct mt_str line, struct mt_str word)
{
    size_t at = mt_str_find(line, word);
    at = at == SIZE_MAX ? line.n : at + word.n;
    return (struct mt_str){line.p + at, line.n - at};
}

/* Up to a quote, a backslash in front of one, or the end. */
static struct mt_str quoted(struct mt_str s, const char *stops)
{
    size_t n = 0;
    while (n < s.n && !strchr(stops, s.p[n])) {
        n++;
    }
    return (struct mt_str){s.p, n};
}

static bool is_installed(struct mt_str path)
{
    static const struct mt_str PARTS[] = {
        MT_STR_INIT("-packages"), MT_STR_INIT("/lib/python"),   MT_STR_INIT("\\lib\\"),
        MT_STR_INIT("torch/"),    MT_STR_INIT("\\Lib\\"),       MT_STR_INIT("/bin/"),
        MT_STR_INIT("torch\\"),   MT_STR_INIT("transformers"),  MT_STR_INIT("deepspeed/"),
        MT_STR_INIT("axolotl"),   MT_STR_INIT("LLaMA-Factory"), MT_STR_INIT("egatron"),
        MT_STR_INIT("<"),         MT_STR_INIT("importlib"),     MT_STR_INIT("runpy"),
    };
    return mt_log_has_any(path, PARTS, MT_COUNT(PARTS));
}

static bool is_number(struct mt_str s)
{
    size_t digits = 0;
    while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9') {
        digits++;
    }
    return digits > 0 && digits == s.n && digits < 8;
}

/* `File "/w/sim.py", line 52, in pairwise` as "sim.py:52 (pairwise)". */
static bool word_frame(struct mt_str line, char *out, size_t n)
{
    struct mt_str rest = behind(line, MT_STR("File "));
    while (rest.n > 0 && (rest.p[0] == '\\' || rest.p[0] == '"')) {
        rest = (struct mt_str){rest.p + 1, rest.n - 1};
    }
    struct mt_str path = quoted(rest, "\"");
    path.n -= path.n > 0 && path.p[path.n - 1] == '\\';
    struct mt_str number = quoted(behind(rest, MT_STR(", line ")), ", \\\"");
    struct mt_str function = quoted(behind(rest, MT_STR(", in ")), " ,\\\"\r\n");
    size_t name = path.n;
    while (name > 0 && path.p[name - 1] != '/' && path.p[name - 1] != '\\') {
        name--;
    }
    if (path.n == 0 || path.n == name || !is_number(number) || is_installed(path) ||
        function.n > 40 || path.n - name > 40) {
        return false;
    }
    bool named = function.n > 0 && function.p[0] != '<';
    (void)snprintf(out, n, "%.*s:%.*s%s%.*s%s", (int)(path.n - name), path.p + name, (int)number.n,
                   number.p, named ? " (" : "", named ? (int)function.n : 0, function.p,
                   named ? ")" : "");
    return true;
}

static enum mt_cause cause_of(struct mt_str line)
{
    static const struct mt_str SCORES[] = {
        MT_STR_INIT("attn_weights"), MT_STR_INIT("attention_scores"),
        MT_STR_INIT("eager_attention"), MT_STR_INIT("attention_probs")};
    static const struct mt_str LOGITS[] = {MT_STR_INIT("lm_head"), MT_STR_INIT("cross_entropy"),
                                           MT_STR_INIT("logits.float()"), MT_STR_INIT("logits = ")};
    return mt_log_has_any(line, SCORES, MT_COUNT(SCORES))   ? MT_CAUSE_ATTENTION
           : mt_log_has_any(line, LOGITS, MT_COUNT(LOGITS)) ? MT_CAUSE_LOGITS
                                                            : MT_CAUSE_NONE;
}

/* Lines of several ranks lie between each other; of one that names its rank only those count. */
static bool is_of_rank(struct mt_str line, int64_t rank)
{
    char label[32];
    (void)snprintf(label, sizeof label, "[rank%lld]", (long long)rank);
    return mt_str_find(line, MT_STR("[rank")) == SIZE_MAX ||
           mt_str_find(line, mt_str_from(label)) != SIZE_MAX;
}

/* Of the traceback in front of a message the innermost frame that is of no installed package, and
 * what its innermost lines build. */
static void take_place(struct mt_log_message *m, struct mt_str before)
{
    size_t cut = before.n > PLACE_BYTES ? before.n - PLACE_BYTES : 0;
    struct mt_str text = {before.p + cut, before.n - cut};
    size_t seen = 0;
    for (size_t i = 0; i < PLACE_LINES && text.n > 0; i++) {
        struct mt_str line = last_line(&text);
        if (line.n == 0 || !is_of_rank(line, m->rank)) {
            continue;
        }
        if (seen++ < CAUSE_LINES && m->cause == MT_CAUSE_NONE) {
            m->cause = cause_of(line);
        }
        bool begins = mt_str_find(line, MT_STR("Traceback (most recent")) != SIZE_MAX;
        bool frame = mt_str_find(line, MT_STR("File ")) != SIZE_MAX;
        if (begins || (frame && word_frame(line, m->place, sizeof m->place))) {
            return;
        }
    }
}

void mt_log_context(struct mt_log *log, struct mt_str before, struct mt_log_message *m)
{
    m->phase = (struct mt_phase_state){0};
    take_phase(&m->phase, before, &log->no_memory);
    m->step = nearest_step(before, &log->no_memory);
    take_place(m, before);
}
