/* SPDX-License-Identifier: MIT */
/* When a row of advice applies: what the event, its program and the snapshot show. */
#include "triage/advice/advice_when_parts.h"

#include <math.h>

#include "support/checked.h"
#include "support/units.h"

/* A library beside the allocator, or others on the card, from which they come first. */
#define MORE_BY (MT_GIB / 2)

/* ---- the event ---- */

bool mt_if_always(const struct mt_advisor *a)
{
    (void)a;
    return true;
}

#define IS_KIND(name, kind)                                                                        \
    bool mt_if_##name(const struct mt_advisor *a)                                                  \
    {                                                                                              \
        return is_kind(a, kind);                                                                   \
    }
IS_KIND(kind_budget, MT_KIND_BUDGET)
IS_KIND(kind_pool, MT_KIND_POOL)
IS_KIND(kind_conflict, MT_KIND_CONFLICT)
IS_KIND(kind_soft, MT_KIND_SOFT)
IS_KIND(kind_host_ram, MT_KIND_HOST_RAM)
IS_KIND(kind_killed, MT_KIND_KILLED)
IS_KIND(kind_shm, MT_KIND_SHM)
IS_KIND(kind_disk, MT_KIND_DISK)
IS_KIND(kind_on_chip, MT_KIND_ON_CHIP)
IS_KIND(kind_unsure, MT_KIND_UNSURE)
#undef IS_KIND

#define IS_FORMAT(name, id)                                                                        \
    bool mt_if_##name(const struct mt_advisor *a)                                                  \
    {                                                                                              \
        return a->facts && strcmp(incident(a)->format, id) == 0;                                   \
    }
IS_FORMAT(device_busy, "gpu-busy")
IS_FORMAT(device_fault, "gpu-fault")
IS_FORMAT(feature_async, "gpu-feature-async")
IS_FORMAT(feature_build, "gpu-feature")
#undef IS_FORMAT

/* Who killed a process, by the line that tells and the words around it. */

bool mt_if_killed_in_pod(const struct mt_advisor *a)
{
    return mt_if_kind_killed(a) &&
           (strcmp(incident(a)->format, "pod-oom") == 0 || said(a, MT_SAID_POD));
}

bool mt_if_killed_by_slurm(const struct mt_advisor *a)
{
    return mt_if_kind_killed(a) && !mt_if_killed_in_pod(a) &&
           (strcmp(incident(a)->format, "slurm-oom") == 0 || said(a, MT_SAID_SLURM));
}

static bool kernel_says(const struct mt_advisor *a)
{
    return mt_if_kind_killed(a) && strcmp(incident(a)->format, "kernel-oom") == 0 &&
           !mt_if_killed_in_pod(a) && !mt_if_killed_by_slurm(a);
}

IF(killed_at_group, kernel_says(a) && said(a, MT_SAID_MEMORY_GROUP))
IF(killed_by_kernel, kernel_says(a) && !said(a, MT_SAID_MEMORY_GROUP))

bool mt_if_killed_unsaid(const struct mt_advisor *a)
{
    return mt_if_kind_killed(a) && !mt_if_killed_in_pod(a) && !mt_if_killed_by_slurm(a) &&
           !kernel_says(a);
}

IF(soft_alone, mt_if_kind_soft(a) && a->list.n == 0)

bool mt_if_kind_of_host(const struct mt_advisor *a)
{
    return a->facts && incident(a)->kind >= MT_KIND_HOST_RAM &&
           incident(a)->kind < MT_KIND_DEVICE && !incident(a)->doubtful;
}

bool mt_if_budget_of_card(const struct mt_advisor *a)
{
    return is_kind(a, MT_KIND_BUDGET) && mt_facts_has(a->facts, MT_OOM_TOTAL) &&
           mt_facts_has(a->facts, MT_OOM_FREE);
}

IF(budget_not_card, is_kind(a, MT_KIND_BUDGET) && !mt_if_budget_of_card(a))

bool mt_if_budget_of_cache(const struct mt_advisor *a)
{
    return is_kind(a, MT_KIND_BUDGET) && !mt_if_budget_of_card(a) &&
           (mt_facts_has(a->facts, MT_OOM_REQUESTED) || said(a, MT_SAID_FIT_LEN));
}

IF(prints_grow, a->growth != NULL)
IF(nothing_found, !a->facts && !a->snapshot)
IF(snapshot_alone, !a->facts && a->snapshot)
IF(library_alone, is_kind(a, MT_KIND_LIBRARY))

IF(nccl_alone, a->facts &&mt_incident_is(incident(a), "nccl") && is_backend(a, "cuda"))

bool mt_if_library_failed(const struct mt_advisor *a)
{
    bool cuda = is_backend(a, "cuda") || is_backend(a, "hip");
    return cuda && (is_kind(a, MT_KIND_LIBRARY) || a->verdict == MT_VERDICT_NON_PYTORCH);
}

/* ---- the system and the device ---- */

IF(is_windows, said(a, MT_SAID_WINDOWS))

bool mt_if_windows_driver(const struct mt_advisor *a)
{
    return mt_if_is_windows(a) && mt_incident_is(incident(a), "cuda") && is_kind(a, MT_KIND_OOM);
}

bool mt_if_host_ram_windows(const struct mt_advisor *a)
{
    return is_kind(a, MT_KIND_HOST_RAM) &&
           (mt_if_is_windows(a) || strcmp(incident(a)->format, "host-windows") == 0);
}

/* A runtime of its own (Java, JavaScript, R, llama.cpp) has no DataLoader. */
bool mt_if_host_python(const struct mt_advisor *a)
{
    static const char *const OTHERS[] = {"host-heap", "host-java",   "host-r",    "host-rust",
                                         "host-ggml", "host-ollama", "ggml-host", "host-arrow"};
    bool other = !is_kind(a, MT_KIND_HOST_RAM) || a->facts->program == MT_PROGRAM_OLLAMA ||
                 a->facts->program == MT_PROGRAM_LLAMA;
    for (size_t i = 0; i < MT_COUNT(OTHERS) && !other; i++) {
        other = strcmp(incident(a)->format, OTHERS[i]) == 0;
    }
    return !other;
}

bool mt_if_host_torch(const struct mt_advisor *a)
{
    return mt_if_host_python(a) &&
           (mt_incident_is(incident(a), "torch") || said(a, MT_SAID_TORCH_SEEN)) &&
           mt_program_kind(a->facts->program) != MT_PROGRAM_KIND_LIBRARY;
}

IF(host_not_torch, mt_if_host_python(a) && !mt_if_host_torch(a))
IF(host_ram_linux, is_kind(a, MT_KIND_HOST_RAM) && !mt_if_host_ram_windows(a))
IF(is_mps, is_backend(a, "mps") || is_backend(a, "metal"))
IF(not_mps, !mt_if_is_mps(a) && !is_backend(a, "dml"))
IF(is_torch_mps, is_backend(a, "mps") && mt_incident_is(incident(a), "torch"))
IF(is_mps_full, mt_if_is_torch_mps(a) && incident(a)->phase != MT_PHASE_LOADING)
IF(not_tpu, !is_backend(a, "tpu"))

/* The compiler's own account of a program, before anything ran. */
IF(tpu_program, is_backend(a, "tpu") && mt_facts_has(a->facts, MT_OOM_ALLOCATED))
IF(not_tpu_program, !mt_if_tpu_program(a))

bool mt_if_is_torch(const struct mt_advisor *a)
{
    static const char *const DRIVERS[] = {"cuda", "gpu", "nccl"}; /* in a program of any kind */
    bool driver = false;
    if (!a->facts || mt_incident_is(incident(a), "torch")) {
        return a->facts != NULL;
    }
    for (size_t i = 0; i < MT_COUNT(DRIVERS); i++) {
        driver |= mt_incident_is(incident(a), DRIVERS[i]);
    }
    enum mt_program_kind k = mt_program_kind(a->facts->program);
    return driver && !mt_facts_plain(a->facts) &&
           (k == MT_PROGRAM_KIND_TRAINING || k == MT_PROGRAM_KIND_INFERENCE ||
            k == MT_PROGRAM_KIND_IMAGES ||
            (k != MT_PROGRAM_KIND_LIBRARY && said(a, MT_SAID_TORCH_SEEN)));
}

/* PyTorch of 1.4 and later has memory_summary(). */
bool mt_if_has_summary(const struct mt_advisor *a)
{
    const char *format = incident(a)->format;
    return is_native(a) && mt_if_is_torch(a) && strcmp(format, "torch-0.x") != 0 &&
           strcmp(format, "torch-1.0-1.3") != 0;
}

bool mt_if_has_smi(const struct mt_advisor *a)
{
    static const char *const WITH[] = {"cuda", "hip", "xpu", "npu", "hpu"};
    static const char *const UNSAID[] = {"tensorflow", "jax", "paddle"}; /* name no vendor */
    for (size_t i = 0; i < MT_COUNT(UNSAID); i++) {
        if (is_backend(a, "") && mt_incident_is(incident(a), UNSAID[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < MT_COUNT(WITH); i++) {
        if (is_backend(a, WITH[i])) {
            return true;
        }
    }
    return false;
}

IF(has_visible, is_native(a) || is_backend(a, "npu"))

static bool is_linux(const struct mt_advisor *a)
{
    return !mt_if_is_windows(a) && !mt_if_is_mps(a) && !is_backend(a, "dml");
}

IF(linux_torch, is_linux(a) && mt_if_is_torch(a))
IF(linux_other, is_linux(a) && !mt_if_is_torch(a))
IF(xpu_large, is_backend(a, "xpu") && a->facts->requested >= 4 * MT_GIB)
IF(memtools, mt_facts_memtools(a->facts))
IF(memtools_fraction, mt_facts_memtools(a->facts) && a->verdict == MT_VERDICT_PER_PROCESS_LIMIT)

/* ---- the program ---- */

bool mt_if_unknown_program(const struct mt_advisor *a)
{
    return a->facts->program == MT_PROGRAM_UNKNOWN && !mt_facts_plain(a->facts) &&
           incident(a)->phase != MT_PHASE_LOADING && incident(a)->phase != MT_PHASE_GENERATION;
}

IF(unknown_on_card, mt_if_unknown_program(a) && !mt_if_is_mps(a))
IF(is_loading, incident(a)->phase == MT_PHASE_LOADING)

bool mt_if_graphs_on(const struct mt_advisor *a)
{
    return !said(a, MT_SAID_EAGER) &&
           (said(a, MT_SAID_GRAPHS) || incident(a)->phase == MT_PHASE_CAPTURE);
}

IF(cache_known, said(a, MT_SAID_KV_SET) || said(a, MT_SAID_KV_CACHE))
IF(cache_failed, said(a, MT_SAID_CACHE_FAILED))
IF(compute_failed, said(a, MT_SAID_COMPUTE_FAILED) && !mt_if_cache_failed(a))
IF(cache_unknown, !mt_if_cache_failed(a))

/* A program on ggml that has no rows of its own, as whisper.cpp and stable-diffusion.cpp. */
IF(ggml_other, mt_program_kind(a->facts->program) != MT_PROGRAM_KIND_RUNNER)
IF(spread_already, said(a, MT_SAID_SPREAD) && mt_if_not_mps(a))
IF(not_spread, !said(a, MT_SAID_SPREAD) && mt_if_not_mps(a) && !mt_if_ranks_load(a))

/* The batch was lowered after the failure, and the run went on. */
bool mt_if_retried_smaller(const struct mt_advisor *a)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_BATCH);
    bool lowered = said(a, MT_SAID_RETRIED) || (v && v->last < v->first);
    return lowered && incident(a)->recovered && a->facts->attempts == 0;
}

IF(data_parallel, said(a, MT_SAID_DATA_PARALLEL) && incident(a)->device <= 0)
IF(no_address_space, said(a, MT_SAID_ADDRESS_SPACE))
IF(spilled, incident(a)->spilled &&is_backend(a, "cuda"))
IF(native_or_unsaid, is_native(a) || is_backend(a, ""))
IF(not_low_vram, !said(a, MT_SAID_LOW_VRAM))

bool mt_if_limit_known(const struct mt_advisor *a)
{
    return a->verdict == MT_VERDICT_PER_PROCESS_LIMIT || mt_facts_has(a->facts, MT_OOM_ALLOWED);
}

/* It has its own ways with memory on a Mac and under DirectML. */
IF(comfyui_may_lower, mt_if_not_low_vram(a) && mt_if_not_mps(a))

bool mt_if_doubtful_status(const struct mt_advisor *a)
{
    return incident(a)->doubtful && is_kind(a, MT_KIND_LIBRARY) && mt_if_has_smi(a) &&
           mt_incident_is(incident(a), "torch"); /* others take most of the card by themselves */
}

/* One of several processes, each of which loads the model for itself. */
IF(ranks_load, incident(a)->rank >= 0 && mt_if_not_mps(a))

bool mt_if_is_builder(const struct mt_advisor *a)
{
    return strncmp(incident(a)->format, "trtllm", 6) != 0 && a->facts->program != MT_PROGRAM_TRTLLM;
}

/* A limit that someone set is not the whole card. */
bool mt_if_shares_and_takes_all(const struct mt_advisor *a)
{
    return !said(a, MT_SAID_GROWTH) &&
           !(a->verdict == MT_VERDICT_PER_PROCESS_LIMIT && mt_if_round_limit(a));
}

IF(round_limit, a->facts->total > 0 && a->facts->total % (128 * MT_MIB) == 0)

bool mt_if_not_set_limit(const struct mt_advisor *a)
{
    return mt_if_has_smi(a) &&
           !(a->verdict == MT_VERDICT_PER_PROCESS_LIMIT && mt_if_round_limit(a));
}

IF(xla_buffer, said(a, MT_SAID_XLA_BUFFER) && said(a, MT_SAID_XLA_OPERATION))

bool mt_if_jax_share_set(const struct mt_advisor *a)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_MEM_FRACTION);
    return v && v->last < 0.9 && a->facts->requested >= 256 * MT_MIB;
}

IF(tiny_request, a->facts->requested > 0 && a->facts->requested < 256 * MT_MIB && mt_if_has_smi(a))

bool mt_if_tiny_and_preallocates(const struct mt_advisor *a)
{
    return a->facts->requested < 256 * MT_MIB && !said(a, MT_SAID_NO_PREALLOCATE) &&
           mt_if_not_tpu(a);
}

/* ---- training ---- */

bool mt_if_batch_is_one(const struct mt_advisor *a)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_BATCH);
    return v && v->last <= 1;
}

/* One that was lowered already and died again is not advised once more. */
bool mt_if_died_again(const struct mt_advisor *a)
{
    const struct mt_said_value *v = mt_advice_said(a, MT_SAID_BATCH);
    return v && v->last < v->first && a->facts->attempts > 1;
}

bool mt_if_batch_may_fall(const struct mt_advisor *a)
{
    if (mt_if_retried_smaller(a)) {
        return false;
    }
    return mt_if_not_mps(a) ? !mt_if_batch_is_one(a) && !mt_if_died_again(a)
                            : !mt_if_batch_is_one(a);
}

IF(attention_unfused, incident(a)->cause == MT_CAUSE_ATTENTION && !mt_if_before_torch_2_1(a))
IF(logits_failed, incident(a)->cause == MT_CAUSE_LOGITS)
IF(many_steps, incident(a)->step > 100 && !a->facts->leak)

static bool is_lora(const struct mt_advisor *a)
{
    const struct mt_said_value *trained = mt_advice_said(a, MT_SAID_TRAINABLE);
    const struct mt_said_value *all = mt_advice_said(a, MT_SAID_PARAMETERS);
    return trained && all && trained->last < all->last / 10;
}

IF(lora_unquantized, is_lora(a) && !said(a, MT_SAID_FOUR_BIT))

bool mt_if_not_checkpointed(const struct mt_advisor *a)
{
    return !said(a, MT_SAID_CHECKPOINTING) && mt_if_not_mps(a) &&
           a->facts->program != MT_PROGRAM_ULTRALYTICS; /* has no option for it */
}

IF(not_sharded, !said(a, MT_SAID_SHARDED) && mt_if_not_mps(a))

bool mt_if_full_and_unsharded(const struct mt_advisor *a)
{
    return mt_if_not_sharded(a) && !is_lora(a) && a->facts->program != MT_PROGRAM_ULTRALYTICS &&
           incident(a)->phase != MT_PHASE_OPTIMIZER;
}

/* ---- others, and memory outside the allocator ---- */

uint64_t mt_facts_others(const struct mt_facts *f)
{
    return f->others ? f->others : f->unexplained;
}

const struct mt_smi_row *mt_facts_holder(const struct mt_facts *f)
{
    const struct mt_smi_row *most = NULL;
    for (size_t i = 0; i < f->n_holders; i++) {
        const struct mt_smi_row *p = &f->holders[i];
        uint64_t own = mt_oom_get(f->numbers, MT_OOM_PROCESS);
        bool mine = own > 0 && p->bytes >= own - own / 20 && p->bytes <= own + own / 20;
        bool here = f->incident->device < 0 || p->device == f->incident->device;
        if (here && !mine && p->compute && (!most || p->bytes > most->bytes)) {
            most = p;
        }
    }
    return most && most->bytes >= MT_GIB ? most : NULL;
}

IF(holder_named, mt_facts_holder(a->facts) != NULL && is_linux(a))
IF(holder_unnamed, mt_if_has_smi(a) && !mt_if_holder_named(a) && !mt_if_ranks_share(a))

bool mt_if_others_are_more(const struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    return mt_if_has_smi(a) && !mt_if_ranks_share(a) &&
           (!mt_facts_has(f, MT_OOM_ALLOCATED) || (mt_rules_holds(f, MT_VERDICT_OTHER_PROCESS) &&
                                                   mt_facts_others(f) > f->room.missing + MORE_BY));
}

/* Not split by the message, but more than a context takes, and than what was missing. */
bool mt_if_others_would_do(const struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    return mt_if_unknown_program(a) && mt_if_has_smi(a) && !mt_if_others_are_more(a) &&
           f->knows_unexplained && f->room.known && f->room.missing > 0 &&
           f->unexplained > f->room.missing + MT_GIB + MT_GIB / 4;
}

bool mt_if_outside_is_more(const struct mt_advisor *a)
{
    return !mt_if_others_are_more(a) && mt_rules_holds(a->facts, MT_VERDICT_NON_PYTORCH) &&
           a->facts->outside > a->facts->room.missing + MT_GIB;
}

IF(outside_is_more_unnamed, mt_if_outside_is_more(a) && is_native(a))

/* Several processes of one size on the card are ranks that were given the same card. */
bool mt_if_ranks_share(const struct mt_advisor *a)
{
    const struct mt_incident *i = incident(a);
    size_t alike = 0;
    for (size_t p = 0; p < i->n_processes; p++) {
        uint64_t first = i->processes[0].bytes, bytes = i->processes[p].bytes;
        alike += bytes > first / 2 && bytes / 2 < first && bytes > MT_GIB / 4;
    }
    return a->facts->ranks_here >= 2 ||
           (alike >= 2 && (i->rank >= 0 || a->facts->program == MT_PROGRAM_DEEPSPEED));
}

IF(may_be_own, a->facts->knows_unexplained &&is_backend(a, "cuda") && !mt_facts_holder(a->facts))
IF(far_outside, a->list.n == 0 && a->facts->outside > 4 * MT_GIB && is_native(a))
IF(is_cuda_unowned, is_backend(a, "cuda") && !a->facts->account && !is_kind(a, MT_KIND_LIBRARY))

/* ---- a snapshot ---- */

IF(one_line_holds, a->facts->holder && a->facts->holder_share >= 0.4)

bool mt_if_may_record(const struct mt_advisor *a)
{
    return !a->snapshot && is_native(a) && !mt_if_before_torch_2_1(a) &&
           strcmp(incident(a)->format, "cudaMallocAsync") != 0;
}
