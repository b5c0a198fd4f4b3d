/* SPDX-License-Identifier: MIT */
/*
 * The formulas of advice. Each is computed from figures of the event, of the log or of the snapshot
 * and fails where one of them is not known; none has a value of its own to fall back on.
 */
#include <math.h>
#include <stdio.h>

#include "triage/advice/advice_places.h"
#include "support/checked.h"
#include "support/units.h"

/* ---- sizes of the event ---- */

static bool put_size(struct mt_buf *out, uint64_t bytes)
{
    mt_buf_text(out, mt_advice_size(bytes).s);
    return true;
}

static bool put_field(const struct mt_advisor *a, enum mt_oom_field f, struct mt_buf *out)
{
    return mt_facts_has(a->facts, f) && put_size(out, mt_oom_get(a->facts->numbers, f));
}

#define FIELD_PLACE(name, field)                                                                   \
    static bool place_##name(const struct mt_advisor *a, struct mt_buf *out)                       \
    {                                                                                              \
        return put_field(a, MT_OOM_##field, out);                                                  \
    }
FIELD_PLACE(total, TOTAL)
FIELD_PLACE(requested, REQUESTED)
FIELD_PLACE(live, ALLOCATED)
FIELD_PLACE(reserved, RESERVED)
FIELD_PLACE(allowed, ALLOWED)
FIELD_PLACE(outside, OUTSIDE)
FIELD_PLACE(pools, PRIVATE_POOLS)
#undef FIELD_PLACE

static bool place_holes(const struct mt_advisor *a, struct mt_buf *out)
{
    return a->facts->unallocated > 0 && put_field(a, MT_OOM_UNALLOCATED, out);
}

static bool place_free(const struct mt_advisor *a, struct mt_buf *out)
{
    return (mt_facts_has(a->facts, MT_OOM_FREE) || a->facts->free) && put_size(out, a->facts->free);
}

static bool place_requested_bytes(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_printf(out, "%llu", (unsigned long long)a->facts->requested);
    return mt_facts_has(a->facts, MT_OOM_REQUESTED);
}

static bool place_held(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_facts *f = a->facts;
    return put_size(out, f->reserved > f->allocated ? f->reserved : f->allocated);
}

static bool place_in_use(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_facts *f = a->facts;
    return mt_facts_has(f, MT_OOM_TOTAL) && mt_facts_has(f, MT_OOM_FREE) &&
           put_size(out, f->total > f->free ? f->total - f->free : 0);
}

static bool place_others_held(const struct mt_advisor *a, struct mt_buf *out)
{
    uint64_t held = mt_facts_others(a->facts);
    return held > 0 && put_size(out, held);
}

static bool place_missing(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_room *r = &a->facts->room;
    mt_buf_text(out, mt_room_missing(r).s);
    return r->known && r->missing > 0;
}

static bool place_missing_share(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_facts *f = a->facts;
    double share = f->total ? 100 * mt_share(f->room.missing, f->total) : 0;
    mt_buf_printf(out, "%.1f %%", share);
    return f->room.known && share >= 0.1;
}

static bool place_spare(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_room *r = &a->facts->room;
    mt_buf_text(out, mt_room_text(r, mt_room_spare(r)).s);
    return r->kind == MT_ROOM_SCATTERED;
}

static bool put_share(struct mt_buf *out, uint64_t part, uint64_t whole)
{
    mt_buf_printf(out, "%.0f %%", 100 * mt_share(part, whole));
    return whole > 0;
}

static bool place_holes_share(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_share(out, a->facts->unallocated, a->facts->reserved);
}

static bool place_live_share(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_share(out, a->facts->allocated, a->facts->total);
}

static bool place_float_count(const struct mt_advisor *a, struct mt_buf *out)
{
    double billions = (double)a->facts->requested / 4e9;
    mt_buf_printf(out, "%.1f %s", billions < 1000 ? billions : billions / 1000,
                  billions < 1000 ? "billion" : "trillion");
    return mt_facts_has(a->facts, MT_OOM_REQUESTED);
}

static bool place_ranks_here(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_printf(out, "%zu", a->facts->ranks_here);
    return a->facts->ranks_here >= 2;
}

static bool place_device(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_printf(out, "%lld", (long long)a->facts->incident->device);
    return a->facts->incident->device >= 0;
}

static bool place_step(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_printf(out, "%lld", (long long)a->facts->incident->step);
    return a->facts->incident->step >= 0;
}

/* ---- a limit ---- */

/* The share of the card that what is held and what was asked for need. */
static double fraction_needed(const struct mt_facts *f)
{
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    return mt_share(mt_add_sat(held, f->requested), f->total);
}

static bool has_fraction(const struct mt_facts *f)
{
    double fraction = fraction_needed(f);
    return fraction > 0 && fraction < 0.97;
}

static bool place_fraction_needed(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_facts *f = a->facts;
    uint64_t beside = mt_add_sat(f->outside, f->others);
    double most = f->total > beside ? 1 - mt_share(beside, f->total) : 0;
    double least = fraction_needed(f), share = least + 0.03;
    bool capped = share > most && most > least; /* what lies outside stays */
    mt_buf_printf(out, "%.2f", capped ? floor(100 * most) / 100 : share);
    return has_fraction(f);
}

/* Behind a share that the reader must fill in. */
static bool place_fraction_unknown(const struct mt_advisor *a, struct mt_buf *out)
{
    struct mt_buf share = {0};
    bool known = place_fraction_needed(a, &share);
    mt_buf_release(&share);
    mt_buf_text(out, known ? "" : "   # above the one in force");
    return !known;
}

static bool place_fraction_least(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_printf(out, "%.0f %%", ceil(100 * fraction_needed(a->facts)));
    return has_fraction(a->facts);
}

/* ---- values of the log ---- */

static bool put_number(const struct mt_advisor *a, enum mt_said which, double times,
                       struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, which);
    double value = v ? floor(v->last * times) : 0;
    mt_buf_printf(out, "%.0f", value);
    return v && value >= 1;
}

static bool put_decimal(const struct mt_advisor *a, enum mt_said which, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, which);
    mt_buf_printf(out, "%g", v ? v->last : 0);
    return v != NULL;
}

static bool put_bytes(const struct mt_advisor *a, enum mt_said which, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, which);
    return v && put_size(out, (uint64_t)v->last);
}

/* "8,072,204,288" */
static bool put_count(const struct mt_advisor *a, enum mt_said which, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, which);
    bool known = v && v->last >= 1 && v->last < 1e18;
    mt_buf_text(out, known ? mt_count_text((uint64_t)v->last).s : "");
    return known;
}

#define SAID_PLACE(name, put)                                                                      \
    static bool place_##name(const struct mt_advisor *a, struct mt_buf *out)                       \
    {                                                                                              \
        return put;                                                                                \
    }
SAID_PLACE(len, put_number(a, MT_SAID_MAX_LEN, 1, out))
SAID_PLACE(batched, put_number(a, MT_SAID_MAX_BATCHED, 1, out))
SAID_PLACE(batched_half, put_number(a, MT_SAID_MAX_BATCHED, 0.5, out))
SAID_PLACE(seqs, put_number(a, MT_SAID_MAX_SEQS, 1, out))
SAID_PLACE(seqs_half, put_number(a, MT_SAID_MAX_SEQS, 0.5, out))
SAID_PLACE(running, put_number(a, MT_SAID_RUNNING, 1, out))
SAID_PLACE(running_half, put_number(a, MT_SAID_RUNNING, 0.5, out))
SAID_PLACE(graph_bs, put_number(a, MT_SAID_GRAPH_BS, 1, out))
SAID_PLACE(graph_bs_half, put_number(a, MT_SAID_GRAPH_BS, 0.5, out))
SAID_PLACE(prefill, put_number(a, MT_SAID_PREFILL, 1, out))
SAID_PLACE(prefill_half, put_number(a, MT_SAID_PREFILL, 0.5, out))
SAID_PLACE(tgi, put_number(a, MT_SAID_TGI_PREFILL, 1, out))
SAID_PLACE(tgi_half, put_number(a, MT_SAID_TGI_PREFILL, 0.5, out))
SAID_PLACE(max_batch, put_number(a, MT_SAID_MAX_BATCH, 1, out))
SAID_PLACE(context, put_number(a, MT_SAID_CONTEXT, 1, out))
SAID_PLACE(parallel, put_number(a, MT_SAID_PARALLEL, 1, out))
SAID_PLACE(image_size, put_number(a, MT_SAID_IMAGE_SIZE, 1, out))
SAID_PLACE(sequence, put_number(a, MT_SAID_SEQUENCE, 1, out))
SAID_PLACE(sequence_half, put_number(a, MT_SAID_SEQUENCE, 0.5, out))
SAID_PLACE(new_tokens, put_number(a, MT_SAID_NEW_TOKENS, 1, out))
SAID_PLACE(layers, put_number(a, MT_SAID_LAYERS, 1, out))
SAID_PLACE(width, put_number(a, MT_SAID_WIDTH, 1, out))
SAID_PLACE(height, put_number(a, MT_SAID_HEIGHT, 1, out))
SAID_PLACE(batch, put_number(a, MT_SAID_BATCH, 1, out))
SAID_PLACE(trainable, put_count(a, MT_SAID_TRAINABLE, out))
SAID_PLACE(parameters, put_count(a, MT_SAID_PARAMETERS, out))
SAID_PLACE(util, put_decimal(a, MT_SAID_UTIL, out))
SAID_PLACE(fraction, put_decimal(a, MT_SAID_FRACTION, out))
SAID_PLACE(jax_share, put_decimal(a, MT_SAID_MEM_FRACTION, out))
SAID_PLACE(kv_free, put_decimal(a, MT_SAID_KV_FREE, out))
SAID_PLACE(cache_count, put_decimal(a, MT_SAID_CACHE_COUNT, out))
SAID_PLACE(weights, put_bytes(a, MT_SAID_WEIGHTS, out))
SAID_PLACE(available, put_bytes(a, MT_SAID_AVAILABLE, out))
SAID_PLACE(graphs, put_bytes(a, MT_SAID_GRAPHS, out))
SAID_PLACE(kv_cache, put_bytes(a, MT_SAID_KV_CACHE, out))
SAID_PLACE(xla_buffer, put_bytes(a, MT_SAID_XLA_BUFFER, out))
SAID_PLACE(xla_parameters, put_bytes(a, MT_SAID_XLA_PARAMETERS, out))
SAID_PLACE(xla_out, put_bytes(a, MT_SAID_XLA_OUT, out))
SAID_PLACE(xla_temp, put_bytes(a, MT_SAID_XLA_TEMP, out))
SAID_PLACE(xla_line, put_number(a, MT_SAID_XLA_LINE, 1, out))
#undef SAID_PLACE

/* Ollama's runner is told the contexts of all parallel requests together. */
static bool place_context_half(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *parallel = mt_advice_said(a, MT_SAID_PARALLEL);
    double times = 0.5;
    if (a->facts->program == MT_PROGRAM_OLLAMA) {
        times = parallel && parallel->last >= 1 ? 0.5 / parallel->last : 0;
    }
    return put_number(a, MT_SAID_CONTEXT, times, out);
}

/* The share of the context whose cache fits into what the model left of one card; without these
 * figures half of it. */
static bool place_context_less(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *free = mt_advice_said(a, MT_SAID_START_FREE);
    const struct mt_said_value *model = mt_advice_said(a, MT_SAID_MODEL_BUFFER);
    const struct mt_said_value *now = mt_advice_said(a, MT_SAID_CONTEXT);
    bool one = free && model && free->first >= free->last && free->first <= free->last;
    double room = one ? free->last * 0.9 - model->last : 0; /* a tenth for the computation */
    double share = a->facts->requested ? room / (double)a->facts->requested : 0;
    if (!now || !one || share <= 0 || share >= 1 || now->last * share < 1024) {
        return place_context_half(a, out);
    }
    mt_buf_printf(out, "%.0f", floor(now->last * share / 1024) * 1024);
    return true;
}

static bool put_text(const struct mt_advisor *a, enum mt_said which, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, which);
    mt_buf_text(out, v ? v->text : "");
    return v != NULL;
}

static bool place_xla_operation(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_text(a, MT_SAID_XLA_OPERATION, out);
}

static bool place_xla_source(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_text(a, MT_SAID_XLA_SOURCE, out);
}

static bool place_batch_first(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_BATCH);
    mt_buf_printf(out, "%.0f", v ? v->first : 0);
    return v && v->first > v->last;
}

/* What frozen weights take less in 4 bits than in 16. */
static bool place_lora_saved(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *all = mt_advice_said(a, MT_SAID_PARAMETERS);
    const struct mt_said_value *trained = mt_advice_said(a, MT_SAID_TRAINABLE);
    return all && trained && all->last < 1e15 && trained->last <= all->last &&
           put_size(out, (uint64_t)((all->last - trained->last) * 1.5));
}

/* ---- budgets of serving engines ---- */

/* The share in force less what is missing, down to hundredths; 0: not to be computed. */
static double share_less(const struct mt_advisor *a, enum mt_said which)
{
    const struct mt_said_value *v = mt_advice_said(a, which);
    const struct mt_facts *f = a->facts;
    if (!v || v->last <= 0 || v->last > 1 || !f->room.known || f->room.missing == 0 ||
        !mt_facts_has(f, MT_OOM_TOTAL)) {
        return 0;
    }
    double share = v->last - mt_share(f->room.missing, f->total);
    share = floor(100 * share - 1e-9) / 100;
    return share >= 0.1 ? share : 0;
}

static bool put_share_less(const struct mt_advisor *a, enum mt_said which, struct mt_buf *out)
{
    double share = share_less(a, which);
    mt_buf_printf(out, "%.2f", share);
    return share > 0;
}

static bool put_freed(const struct mt_advisor *a, enum mt_said which, struct mt_buf *out)
{
    double share = share_less(a, which);
    const struct mt_said_value *v = mt_advice_said(a, which);
    return share > 0 && put_size(out, (uint64_t)((v->last - share) * (double)a->facts->total));
}

static bool place_util_less(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_share_less(a, MT_SAID_UTIL, out);
}

static bool place_util_freed(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_freed(a, MT_SAID_UTIL, out);
}

static bool place_fraction_less(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_share_less(a, MT_SAID_FRACTION, out);
}

static bool place_fraction_freed(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_freed(a, MT_SAID_FRACTION, out);
}

/* Above what the weights alone take of the card: they and what was left are the card. */
static bool place_fraction_more(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *w = mt_advice_said(a, MT_SAID_WEIGHTS);
    const struct mt_said_value *rest = mt_advice_said(a, MT_SAID_AVAILABLE);
    double share = w && rest ? ceil(100 * w->last / (w->last + rest->last)) / 100 : 1;
    const struct mt_said_value *now = mt_advice_said(a, MT_SAID_FRACTION);
    double least = now && now->last > share ? now->last : share;
    double half = least + (1 - least) / 2; /* half of what is left goes to the pool */
    mt_buf_printf(out, "%.2f", half);
    return share < 0.98 && half < 0.98;
}

static bool place_util_fits(const struct mt_advisor *a, struct mt_buf *out)
{
    double percent = floor(100 * mt_share(a->facts->free, a->facts->total)) - 1;
    mt_buf_printf(out, "0.%02.0f", percent);
    return percent > 0 && percent < 100;
}

/* The length that the engine itself computed, or the share of it that the cache has room for. */
static bool place_len_fits(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *fit = mt_advice_said(a, MT_SAID_FIT_LEN);
    const struct mt_said_value *len = mt_advice_said(a, MT_SAID_MAX_LEN);
    const struct mt_facts *f = a->facts;
    double share = mt_share(f->free, f->requested);
    double fits = fit ? fit->last : len && share < 1 ? floor(len->last * share) : 0;
    mt_buf_printf(out, "%.0f", fits);
    return fits >= 1;
}

/* The cache less what is missing; without that, what vLLM prints as fitting. */
static bool place_kv_less(const struct mt_advisor *a, struct mt_buf *out)
{
    const struct mt_said_value *now = mt_advice_said(a, MT_SAID_KV_CACHE);
    const struct mt_said_value *set = mt_advice_said(a, MT_SAID_KV_SET);
    const struct mt_room *r = &a->facts->room;
    double bytes = now && r->known && (double)r->missing < now->last
                       ? now->last - (double)r->missing
                   : set ? set->first
                         : 0;
    mt_buf_printf(out, "%.0f", bytes);
    return bytes >= 1;
}

static bool place_launch(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, a->facts->program == MT_PROGRAM_SGLANG
                         ? "python -m sglang.launch_server --model-path MODEL"
                         : "vllm serve MODEL");
    return true;
}

static bool place_tp_option(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, a->facts->program == MT_PROGRAM_SGLANG ? "--tp" : "--tensor-parallel-size");
    return true;
}

static bool place_tp_more(const struct mt_advisor *a, struct mt_buf *out)
{
    return put_number(a, MT_SAID_TP, 2, out);
}

static bool place_tgi_launch(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, "text-generation-launcher");
    return a->facts->program == MT_PROGRAM_TGI;
}

/* ---- training ---- */

/* ---- image tools ---- */

static bool place_tiling(const struct mt_advisor *a, struct mt_buf *out)
{
    static const struct {
        enum mt_program program;
        const char *words;
    } WAYS[] = {{MT_PROGRAM_DIFFUSERS, "pipe.enable_vae_tiling()"},
                {MT_PROGRAM_COMFYUI, "VAE Decode (Tiled)   # the node, and a batch of one"},
                {MT_PROGRAM_WEBUI, "# the extension Tiled VAE, and a batch of one"},
                {MT_PROGRAM_FORGE, "# Never OOM Integrated: Tiled VAE, and a batch of one"},
                {MT_PROGRAM_INVOKEAI, "force_tiled_decode: true   # in invokeai.yaml"}};
    for (size_t i = 0; i < MT_COUNT(WAYS); i++) {
        if (WAYS[i].program == a->facts->program) {
            mt_buf_text(out, WAYS[i].words);
            return true;
        }
    }
    return false;
}

static bool place_pipe_half(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, "DiffusionPipeline.from_pretrained(NAME, torch_dtype=torch.bfloat16)");
    return a->facts->program == MT_PROGRAM_DIFFUSERS;
}

static bool place_vram_option(const struct mt_advisor *a, struct mt_buf *out)
{
    mt_buf_text(out, mt_advice_said(a, MT_SAID_MED_VRAM) ? "--lowvram" : "--medvram");
    return true;
}

/* ---- the table ---- */

static const struct mt_place FIGURES[] = {
#define PLACE(name)                                                                                \
    {                                                                                              \
        MT_STR_INIT(#name), place_##name                                                           \
    }
    PLACE(total),
    PLACE(requested),
    PLACE(live),
    PLACE(reserved),
    PLACE(holes),
    PLACE(allowed),
    PLACE(outside),
    PLACE(pools),
    PLACE(free),
    PLACE(requested_bytes),
    PLACE(held),
    PLACE(in_use),
    PLACE(others_held),
    PLACE(missing),
    PLACE(missing_share),
    PLACE(spare),
    PLACE(holes_share),
    PLACE(live_share),
    PLACE(float_count),
    PLACE(step),
    PLACE(ranks_here),
    PLACE(device),
    PLACE(fraction_needed),
    PLACE(fraction_least),
    PLACE(fraction_unknown),
    PLACE(len),
    PLACE(batched),
    PLACE(batched_half),
    PLACE(seqs),
    PLACE(seqs_half),
    PLACE(running),
    PLACE(running_half),
    PLACE(graph_bs),
    PLACE(graph_bs_half),
    PLACE(prefill),
    PLACE(prefill_half),
    PLACE(tgi),
    PLACE(tgi_half),
    PLACE(max_batch),
    PLACE(context),
    PLACE(context_half),
    PLACE(parallel),
    PLACE(context_less),
    PLACE(image_size),
    PLACE(sequence),
    PLACE(sequence_half),
    PLACE(new_tokens),
    PLACE(layers),
    PLACE(width),
    PLACE(height),
    PLACE(batch),
    PLACE(trainable),
    PLACE(parameters),
    PLACE(util),
    PLACE(fraction),
    PLACE(kv_free),
    PLACE(jax_share),
    PLACE(cache_count),
    PLACE(weights),
    PLACE(available),
    PLACE(graphs),
    PLACE(kv_cache),
    PLACE(xla_buffer),
    PLACE(xla_parameters),
    PLACE(xla_out),
    PLACE(xla_temp),
    PLACE(xla_line),
    PLACE(xla_operation),
    PLACE(xla_source),
    PLACE(batch_first),
    PLACE(lora_saved),
    PLACE(util_less),
    PLACE(util_freed),
    PLACE(fraction_less),
    PLACE(fraction_freed),
    PLACE(fraction_more),
    PLACE(util_fits),
    PLACE(len_fits),
    PLACE(kv_less),
    PLACE(launch),
    PLACE(tp_option),
    PLACE(tp_more),
    PLACE(tgi_launch),
    PLACE(tiling),
    PLACE(pipe_half),
    PLACE(vram_option),
#undef PLACE
};

static mt_place_fn *find_in(const struct mt_place *places, size_t n, struct mt_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (mt_str_equal(places[i].name, name)) {
            return places[i].put;
        }
    }
    return NULL;
}

static mt_place_fn *find(struct mt_str name)
{
    mt_place_fn *put = find_in(FIGURES, MT_COUNT(FIGURES), name);
    put = put ? put : find_in(MT_WORD_PLACES, MT_WORD_PLACES_N, name);
    return put ? put : find_in(MT_COMMAND_PLACES, MT_COMMAND_PLACES_N, name);
}

bool mt_advice_place_exists(struct mt_str name)
{
    return find(name) != NULL;
}

bool mt_advice_place(const struct mt_advisor *a, struct mt_str name, struct mt_buf *out)
{
    mt_place_fn *put = find(name);
    return put && put(a, out);
}
