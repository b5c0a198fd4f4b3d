/* SPDX-License-Identifier: MIT */
/*
 * Advice for PyTorch programs: a list for each verdict, the popular hints that the numbers rule
 * out, and the recipe that records a snapshot. What concerns holes stands in advice_holes.c.
 */
#include "triage/advice/advice.h"

#include <math.h>
#include <stdio.h>

#include "support/checked.h"
#include "support/units.h"

/* ---- limits, free memory, others ---- */

static void advise_limit(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    uint64_t held = f->reserved > f->allocated ? f->reserved : f->allocated;
    double fraction = mt_share(mt_add_sat(held, f->requested), f->total);
    mt_advise(a, "find_limit", true);
    mt_advise_text(a, "Find who sets the limit, and raise or remove it.");
    mt_advise_command(a, "grep -rn 'set_per_process_memory_fraction\\|per_process_memory_fraction' "
                         ".");
    mt_advise_why(a, "It is a choice of this program or its launcher, not of the card.");
    mt_advise(a, "raise_fraction", true);
    mt_advise_text(a, "Or set it yourself, before the first tensor reaches the card.");
    if (fraction > 0 && fraction < 0.97) {
        mt_advise_command(a, "torch.cuda.set_per_process_memory_fraction(%.2f)", fraction + 0.03);
        mt_advise_why(a, "%s held and %s asked for need at least %.0f %% of the card.",
                      mt_advice_size(held).s, mt_advice_size(f->requested).s, ceil(100 * fraction));
    } else {
        mt_advise_command(a, "torch.cuda.set_per_process_memory_fraction(1.0)");
        mt_advise_why(a, "The whole card is then allowed; what is held and asked for comes close "
                         "to it, so plan a smaller micro-batch as well.");
    }
}

static void advise_free_exceeds(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    const struct mt_incident *i = f->incident;
    if (strcmp(i->backend, "xpu") == 0 && f->requested >= 4 * MT_GIB) {
        mt_advise(a, "xpu_large_allocation", true);
        mt_advise_text(a, "Intel GPUs refuse single allocations of 4 GiB and more unless told "
                          "otherwise. Set it before Python starts.");
        mt_advise_command(a, "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1");
        mt_advise_why(a, "%s was asked for in one piece; smaller pieces would have fitted.",
                      mt_advice_size(f->requested).s);
    }
    mt_advise(a, "who_was_there", true);
    mt_advise_text(a, "Run it again and watch the card: another process may have held the memory "
                      "for the moment and died since.");
    mt_advise_command(a, strcmp(i->backend, "hip") == 0   ? "watch -n 1 rocm-smi --showmeminfo vram"
                         : strcmp(i->backend, "xpu") == 0 ? "watch -n 1 xpu-smi ps"
                                                          : "watch -n 1 nvidia-smi");
    mt_advise_why(a, "The figure for free memory is taken after the failure.");
    mt_advise(a, "limits", true);
    mt_advise_text(a, "Look for a limit beyond PyTorch: address space, locked memory, a memory "
                      "fraction in the code, WSL's or the container's host memory.");
    mt_advise_command(a, "ulimit -v; ulimit -l; free -h; grep -rn set_per_process_memory_fraction "
                         ".");
    mt_advise_why(a, "The driver also fails when it finds no host memory or address space for the "
                     "allocation.");
}

static void command_processes(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    char pids[160];
    size_t n = 0;
    for (size_t p = 0; p < i->n_processes && n + 24 < sizeof pids; p++) {
        n += (size_t)snprintf(pids + n, sizeof pids - n, "%s%lld", p ? "," : "",
                              (long long)i->processes[p].pid);
    }
    if (n > 0) {
        mt_advise_command(a, "ps -o pid,user,etime,rss,cmd -p %s", pids);
    }
}

static void advise_who(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    uint64_t held = a->facts->others ? a->facts->others : a->facts->unexplained;
    mt_advise(a, "who_holds_the_card", true);
    mt_advise_text(a, "See who else is on the card; stop what is left over from an earlier run.");
    mt_advise_command(a, strcmp(i->backend, "hip") == 0 ? "rocm-smi --showpids"
                         : strcmp(i->backend, "npu") == 0
                             ? "npu-smi info"
                             : "nvidia-smi --query-compute-apps=pid,"
                               "process_name,used_memory --format=csv");
    command_processes(a);
    if (held) {
        mt_advise_why(a, "Up to %s comes back.", mt_advice_size(held).s);
    } else {
        mt_advise_why(a, "The message does not say who fills the card; this does.");
    }
}

static void advise_others(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    advise_who(a);
    mt_advise(a, "other_card", true);
    mt_advise_text(a, "Or take a card that is free. Set it before Python starts.");
    mt_advise_command(a, "export %s=1   # the index of a free card",
                      strcmp(i->backend, "npu") == 0   ? "ASCEND_RT_VISIBLE_DEVICES"
                      : strcmp(i->backend, "hip") == 0 ? "HIP_VISIBLE_DEVICES"
                                                       : "CUDA_VISIBLE_DEVICES");
    mt_advise_why(a, "Each process then has %s to itself.",
                  a->facts->total ? mt_advice_size(a->facts->total).s : "a whole card");
    if (a->facts->knows_unexplained && strcmp(i->backend, "cuda") == 0) {
        mt_advise(a, "own_overhead", true);
        mt_advise_text(a, "If no other process is there, it is this one's own memory outside "
                          "PyTorch: count its workers and communicators.");
        mt_advise_command(a, "python -c 'import torch; f,t=torch.cuda.mem_get_info(); "
                             "print((t-f)/2**30, \"GiB in use\")'   # alone on the card");
        mt_advise_why(a, "Every worker process that touches CUDA adds 0.5 to 1 GiB.");
    }
}

static void advise_mps_others(struct mt_advisor *a)
{
    mt_advise(a, "close_applications", true);
    mt_advise_text(a, "Close other programs that use the GPU, and drop models that this process "
                      "loaded before.");
    mt_advise_command(a, "del old_model; import gc; gc.collect(); torch.mps.empty_cache()");
    mt_advise_why(a, "%s is held by allocations other than this model's tensors.",
                  mt_advice_size(a->facts->outside).s);
}

static void advise_less_outside(struct mt_advisor *a)
{
    mt_advise(a, "less_outside", true);
    mt_advise_text(a, "Make the rest smaller: load kernels only when used, fewer communicators, "
                      "smaller NCCL buffers. Set it before Python starts.");
    mt_advise_command(a, "export CUDA_MODULE_LOADING=LAZY NCCL_BUFFSIZE=2097152");
    if (a->facts->outside) {
        mt_advise_why(a, "%s lies outside the allocator; a context alone takes 0.5 to 1 GiB.",
                      mt_advice_size(a->facts->outside).s);
    } else {
        mt_advise_why(a, "Some hundred MiB come back.");
    }
}

static void advise_outside(struct mt_advisor *a)
{
    if (strcmp(a->facts->incident->backend, "mps") == 0) {
        advise_mps_others(a);
        return;
    }
    bool named = mt_advice_owner(a);
    if (!named && a->facts->outside > 4 * MT_GIB) {
        mt_advise(a, "other_library", true);
        mt_advise_text(a,
                       "Look for another library in this process that takes GPU memory of its own "
                       "(JAX, TensorFlow, CuPy, DALI, a second engine), and keep it small.");
        mt_advise_command(a, "export XLA_PYTHON_CLIENT_PREALLOCATE=false "
                             "TF_FORCE_GPU_ALLOW_GROWTH=true");
        mt_advise_why(a, "%s is far more than a CUDA context (0.5 to 1 GiB) and workspaces.",
                      mt_advice_size(a->facts->outside).s);
    }
    mt_advise(a, "leave_room", true);
    mt_advise_text(a, "Leave room for what allocates past PyTorch: cap PyTorch's share at the "
                      "start of the program.");
    mt_advise_command(a, "torch.cuda.set_per_process_memory_fraction(0.90)");
    mt_advise_why(a, "NCCL and cuBLAS then find memory instead of PyTorch's cache.");
    if (!named) {
        advise_less_outside(a);
    }
}

/* ---- one request, leaks ---- */

static void advise_oversized(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    mt_advise(a, "look_at_the_shape", true);
    mt_advise_text(a,
                   "Look at %s and print the shapes there: one dimension is far larger than "
                   "meant, or a product of two (an N x N matrix).",
                   f->asker_is_line ? f->asker : "the line that raised it");
    mt_advise_command(a, "print(x.shape, x.dtype, x.numel() * x.element_size() / 2**30, 'GiB')");
    if (f->requested) {
        double billions = (double)f->requested / 4e9;
        mt_advise_why(a, "%s are %.1f %s float32 numbers.", mt_advice_size(f->requested).s,
                      billions < 1000 ? billions : billions / 1000,
                      billions < 1000 ? "billion" : "trillion");
    } else {
        mt_advise_why(a, "No card holds such a size.");
    }
    mt_advise(a, "pieces", true);
    mt_advise_text(a, "If the size is meant: work in pieces, or use an operator that never builds "
                      "the whole (fused attention, chunked loss).");
    mt_advise_command(a, "out = torch.cat([f(part) for part in x.split(1024)])");
    mt_advise_command(a, "torch.nn.functional.scaled_dot_product_attention(q, k, v)");
    mt_advise_why(a, "The peak falls to the size of one piece.");
}

static void advise_leak(struct mt_advisor *a)
{
    const struct mt_series *s = a->facts->leak;
    mt_advise(a, "what_is_kept", true);
    mt_advise_text(a, "Look for what is kept: losses or outputs appended to a list, metrics that "
                      "keep their graph. Keep numbers, not tensors.");
    mt_advise_command(a, "total += loss.item()        # not: total += loss");
    mt_advise_command(a, "outputs.append(y.detach().cpu())");
    if (a->facts->growing) {
        mt_advise_why(a, "%s a step, most of it from %s.", mt_advice_size(a->facts->growth).s,
                      a->facts->growing);
    } else if (s) {
        mt_advise_why(a, "%s a step are lost this way.",
                      mt_advice_size((uint64_t)s->bytes_per_step).s);
    } else {
        mt_advise_why(a, "A kept loss keeps the whole graph behind it.");
    }
    mt_advise(a, "list_tensors", true);
    mt_advise_text(a, "List the largest live tensors and who refers to them, twice, some steps "
                      "apart; what is new the second time leaks.");
    mt_advise_command(a,
                      "import gc, torch; ts = [t for t in gc.get_objects() if torch.is_tensor(t) "
                      "and t.is_cuda]");
    mt_advise_command(a, "for t in sorted(ts, key=lambda t: -t.nbytes)[:10]:");
    mt_advise_command(a, "    print(t.nbytes >> 20, 'MiB', tuple(t.shape), [type(r) for r in "
                         "gc.get_referrers(t)][:3])");
    mt_advise_why(a, "The referrer's type names the place.");
}

/* ---- no numbers ---- */

static void advise_no_numbers(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    mt_advise(a, "watch_the_card", true);
    mt_advise_text(a, "Watch the card while it runs again, to see whether it fills up and with "
                      "whose memory.");
    mt_advise_command(a, "nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total "
                         "--format=csv -l 1 | tee card.log");
    mt_advise_why(a, "The message holds no figures; the log of this shows the missing ones.");
    if (i->kind == MT_KIND_LIBRARY) {
        mt_advise(a, "leave_room", true);
        mt_advise_text(a, "Leave room for the libraries: cap PyTorch's share at the start of the "
                          "program.");
        mt_advise_command(a, "torch.cuda.set_per_process_memory_fraction(0.90)");
        mt_advise_why(a,
                      i->doubtful
                          ? "If the card was full, %s finds memory then."
                          : "%s found no memory although PyTorch's cache may have held some.",
                      strcmp(i->format, "nccl") == 0 ? "NCCL"
                      : i->doubtful                  ? "the library"
                                                     : "The library");
    } else {
        mt_advise(a, "fuller_message", true);
        mt_advise_text(a, "Get the full message: search the log for the first one, and let the "
                          "program print the allocator's own table where it fails.");
        mt_advise_command(a, "print(torch.cuda.memory_summary())   # in the except block");
        mt_advise_why(a, "With figures the cause can be named; feed the new log to triage.");
    }
}

/* Where the job is too large by less than others, or this process outside the allocator, hold: that
 * comes first. */
static void advise_beside(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    uint64_t missing = f->room.missing;
    uint64_t others = f->others ? f->others : f->unexplained;
    if (!mt_facts_has(f, MT_OOM_ALLOCATED) ||
        (mt_rules_holds(f, MT_VERDICT_OTHER_PROCESS) && others > missing + MT_GIB / 2)) {
        advise_who(a);
    } else if (mt_rules_holds(f, MT_VERDICT_NON_PYTORCH) && f->outside > missing + MT_GIB) {
        if (!mt_advice_owner(a)) {
            advise_less_outside(a);
        }
    }
}

void mt_advice_torch(struct mt_advisor *a)
{
    switch (a->verdict) {
    case MT_VERDICT_FRAGMENTATION:
        mt_advice_fragmentation(a);
        if (mt_rules_holds(a->facts, MT_VERDICT_OTHER_PROCESS)) {
            advise_who(a);
        }
        break;
    case MT_VERDICT_PER_PROCESS_LIMIT:
        advise_limit(a);
        if (mt_rules_holds(a->facts, MT_VERDICT_FRAGMENTATION)) {
            mt_advice_fragmentation(a);
        } else {
            mt_advice_holes(a);
        }
        break;
    case MT_VERDICT_FREE_EXCEEDS_REQUEST: advise_free_exceeds(a); break;
    case MT_VERDICT_OTHER_PROCESS:
        advise_others(a);
        mt_advice_holes(a);
        break;
    case MT_VERDICT_NON_PYTORCH:
        advise_outside(a);
        mt_advice_holes(a);
        break;
    case MT_VERDICT_OVERSIZED_REQUEST: advise_oversized(a); break;
    case MT_VERDICT_LEAK: advise_leak(a); break;
    case MT_VERDICT_NO_NUMBERS: advise_no_numbers(a); break;
    default:
        advise_beside(a);
        if (!mt_advice_server(a)) {
            mt_advice_training(a);
        }
        mt_advice_holes(a);
        break;
    }
}

/* ---- what would settle it ---- */

void mt_advice_record(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    static const bool settles[MT_VERDICT_COUNT] = {[MT_VERDICT_NOT_ENOUGH] = true,
                                                   [MT_VERDICT_FRAGMENTATION] = true,
                                                   [MT_VERDICT_LEAK] = true,
                                                   [MT_VERDICT_NO_NUMBERS] = true,
                                                   [MT_VERDICT_NON_PYTORCH] = true};
    bool native = strcmp(i->backend, "cuda") == 0 || strcmp(i->backend, "hip") == 0;
    if (a->snapshot || !native || !settles[a->verdict] || mt_incident_has_no_settings(i) ||
        strcmp(i->format, "cudaMallocAsync") == 0) {
        return;
    }
    mt_advise(a, "record", true);
    mt_advise_text(a, "To see what fills the card, record a snapshot (costs a few per cent of "
                      "speed and some hundred MB of host memory) and give it to memtool.");
    mt_advise_command(a, "torch.cuda.memory._record_memory_history(max_entries=200000, "
                         "stacks='python')  # at the start");
    mt_advise_command(a, "torch.cuda.memory._dump_snapshot('oom.pickle')  # when it failed, or "
                         "after some steps");
    mt_advise_command(a, "torch.cuda.memory._record_memory_history(enabled=None)  # off "
                         "again");
    mt_advise_command(a, "memtool triage LOG oom.pickle");
    mt_advise_why(a, "It names the stacks that hold the memory and the holes between them.");
}

/* ---- hints that do not apply ---- */

static void hint_batch(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    switch (a->verdict) {
    case MT_VERDICT_FREE_EXCEEDS_REQUEST:
        mt_advise(a, "smaller_batch", false);
        mt_advise_text(a, "a smaller batch");
        mt_advise_why(a, "%s was free and only %s asked for: memory was not short.",
                      mt_advice_size(f->free).s, mt_advice_size(f->requested).s);
        break;
    case MT_VERDICT_OTHER_PROCESS:
        if (!mt_facts_has(f, MT_OOM_ALLOCATED)) {
            break;
        }
        mt_advise(a, "smaller_batch", false);
        mt_advise_text(a, "a smaller batch");
        mt_advise_why(a, "It treats the symptom: this process's tensors are %.0f %% of the card.",
                      100 * mt_share(f->allocated, f->total));
        break;
    case MT_VERDICT_LEAK:
        mt_advise(a, "smaller_batch", false);
        mt_advise_text(a, "a smaller batch");
        mt_advise_why(a, "It only dies later.");
        break;
    default: break;
    }
}

void mt_advice_torch_hints(struct mt_advisor *a)
{
    const struct mt_incident *i = a->facts->incident;
    bool fragmented = a->verdict == MT_VERDICT_FRAGMENTATION;
    if (strcmp(i->backend, "mps") == 0) {
        mt_advise(a, "mps_watermark", false);
        mt_advise_text(a, "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0");
        mt_advise_why(a, "It lifts the limit, and the whole Mac starts to swap or hangs; it makes "
                         "no memory.");
        return;
    }
    if (!mt_facts_has(a->facts, MT_OOM_REQUESTED) || !mt_incident_is(i, "torch")) {
        return;
    }
    hint_batch(a);
    if (mt_facts_watched(a->facts)) {
        return; /* what PyTorch had cached, and in what pieces, is not in the recording */
    }
    if (!fragmented && strcmp(i->format, "cudaMallocAsync") != 0) {
        mt_advice_holes_hint(a);
    } else if (fragmented && (a->facts->expandable_on || a->facts->expandable_fails)) {
        mt_advice_holes_hint(a);
    }
    if (strcmp(i->format, "cudaMallocAsync") == 0) {
        return;
    }
    mt_advise(a, "empty_cache", false);
    mt_advise_text(a, "torch.cuda.empty_cache()");
    mt_advise_why(a,
                  "%s had already given back every cached segment that was wholly free "
                  "before it raised this error.",
                  mt_facts_memtools(a->facts) ? "The allocator" : "PyTorch");
}
