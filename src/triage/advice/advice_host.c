/* SPDX-License-Identifier: MIT */
/*
 * Look-alikes: what ran out was not the card's memory, so the advice for the card would do nothing
 * or harm. Each kind says what it was, what to look at, and why GPU settings are beside the point.
 */
#include "triage/advice/advice.h"

struct step {
    const char *id, *text, *command, *why;
};

#define STEPS 3

static const struct step HOST[MT_KIND_COUNT][STEPS] = {
    [MT_KIND_HOST_RAM] =
        {{"host_memory", "See what the host has and what this process may take of it.",
          "free -h; ulimit -v; cat /sys/fs/cgroup/memory.max",
          "The computer's own memory ran out, not the card's."},
         {"fewer_workers",
          "Use fewer DataLoader workers and less prefetching; map files instead "
          "of loading them.",
          "DataLoader(data, num_workers=2, prefetch_factor=2)",
          "Each worker holds a copy of what the dataset keeps in Python objects."},
         {"look_at_the_shape", "If the size is far too large, look at the shapes in that line.",
          "print(x.shape, x.dtype)", "A wrong dimension asks for more than any host has."}},
    [MT_KIND_KILLED] =
        {{"who_killed_it", "See whether the kernel or the cluster killed it for its host memory.",
          "dmesg -T | grep -i -E 'out of memory|killed process'",
          "SIGKILL comes from outside: mostly the host's memory or the job's limit was exhausted."},
         {"job_limit", "Compare what the job used with what it asked for, and ask for more.",
          "sacct -j JOBID --format=JobID,MaxRSS,ReqMem,State   # or kubectl describe pod POD",
          "MaxRSS at the limit proves it."},
         {"fewer_workers",
          "Or use less: fewer workers, no copies of the data set, CPU offload off.",
          "DataLoader(data, num_workers=2)", "Each process counts against the same limit."}},
    [MT_KIND_SHM] =
        {{"larger_shm", "Give the container more shared memory.",
          "docker run --shm-size=16g ...   # Kubernetes: emptyDir {medium: Memory} at /dev/shm",
          "DataLoader workers and NCCL pass data through /dev/shm; Docker's default is 64 MB."},
         {"look_at_shm", "See how full it is.", "df -h /dev/shm", "100 % proves it."},
         {"fewer_workers", "Or do without: fewer workers, files instead of shared memory.",
          "torch.multiprocessing.set_sharing_strategy('file_system')",
          "Then batches do not go through /dev/shm."}},
    [MT_KIND_DISK] = {{"disk_space", "See which file system is full, and your quota.",
                       "df -h . /tmp; quota -s",
                       "Writing a checkpoint failed; the card is not concerned."},
                      {"old_checkpoints", "Keep fewer checkpoints.", "--save_total_limit 2",
                       "Each holds weights and optimizer state: 12 to 16 bytes a parameter."}},
    [MT_KIND_ON_CHIP] =
        {{"smaller_blocks", "Make the kernel's blocks smaller, or its pipeline shorter.",
          "triton.Config({'BLOCK_M': 64, 'BLOCK_N': 64}, num_stages=2)",
          "The memory inside one core of the GPU (100 to 228 KiB) was exceeded; the card's GiB "
          "have nothing to do with it."},
         {"versions", "If it is a library's kernel: use versions made for this card.",
          "pip install --upgrade triton flash-attn", "Tuned sizes differ from card to card."}},
    [MT_KIND_DEVICE] =
        {{"find_the_call", "Find the call that fails: run it synchronously.",
          "CUDA_LAUNCH_BLOCKING=1 python train.py",
          "Another GPU error; advice about memory use that is printed with it does not apply."},
         {"look_at_the_card", "Look at the card's health and mode, and at who uses it.",
          "nvidia-smi -q -d ECC,COMPUTE,PIDS; dmesg -T | grep -i xid",
          "A card that is busy, exclusive or faulty says so there."}},
    [MT_KIND_SOFT] = {{"nothing", "Nothing to do: the caller says itself that it goes on.",
                       "grep -n -i 'error' LOG   # look for a later failure",
                       "An attempt failed and was "
                       "repeated another way."}},
};

static void say_steps(struct mt_advisor *a, const struct step *steps)
{
    for (size_t i = 0; i < STEPS && steps[i].id; i++) {
        mt_advise(a, steps[i].id, true);
        mt_advise_text(a, "%s", steps[i].text);
        mt_advise_command(a, "%s", steps[i].command);
        mt_advise_why(a, "%s", steps[i].why);
    }
}

/* vLLM says how much is free and how much it wants: the share that fits can be computed. */
static void advise_startup(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    unsigned percent = (unsigned)(100.0 * mt_share(f->free, f->total));
    mt_advise(a, "less_utilization", true);
    mt_advise_text(a, "Ask for no more than is free now.");
    mt_advise_command(a, "vllm serve MODEL --gpu-memory-utilization 0.%02u",
                      percent > 2 ? percent - 1 : percent);
    mt_advise_why(a, "%s of %s is free, that is %u %%; the server wanted %s.",
                  mt_advice_size(f->free).s, mt_advice_size(f->total).s, percent,
                  mt_advice_size(f->allowed).s);
    mt_advise(a, "who_holds_the_card", true);
    mt_advise_text(a, "Or stop what holds the rest: often an engine of an earlier start.");
    mt_advise_command(a, "nvidia-smi --query-compute-apps=pid,process_name,used_memory "
                         "--format=csv");
    mt_advise_why(a, "%s is in use by others.",
                  mt_advice_size(f->total > f->free ? f->total - f->free : 0).s);
}

static void advise_budget(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    bool sglang = strcmp(f->incident->framework, "sglang") == 0;
    if (mt_facts_has(f, MT_OOM_TOTAL) && mt_facts_has(f, MT_OOM_FREE)) {
        advise_startup(a);
        return;
    }
    mt_advise(a, "shorter_context", true);
    mt_advise_text(a, "Allow shorter contexts: the KV cache must hold one whole request.");
    mt_advise_command(a, sglang ? "... --context-length 8192"
                                : "vllm serve MODEL --max-model-len "
                                  "8192");
    if (mt_facts_has(f, MT_OOM_REQUESTED) && mt_facts_has(f, MT_OOM_FREE)) {
        mt_advise_why(a,
                      "One request needs %s of KV cache, %s is there: the length must fall to "
                      "%.0f %%.",
                      mt_advice_size(f->requested).s, mt_advice_size(f->free).s,
                      100 * mt_share(f->free, f->requested));
    } else {
        mt_advise_why(a, "The KV cache grows with the length.");
    }
    mt_advise(a, "more_budget", true);
    mt_advise_text(a, "Or give the server a larger share of the card.");
    mt_advise_command(a, sglang ? "... --mem-fraction-static 0.90"
                                : "vllm serve MODEL --gpu-memory-utilization 0.95");
    mt_advise_why(a, "What weights and activations leave of the share is the KV cache.");
}

void mt_advice_host(struct mt_advisor *a, enum mt_incident_kind kind)
{
    if (kind == MT_KIND_COUNT && a->snapshot) {
        mt_advise(a, "look_at_the_snapshot", true);
        mt_advise_text(a,
                       "%s shows no failure. See who holds the memory%s, and what the "
                       "cache loses.",
                       a->end_missing  ? "What is left of the snapshot"
                       : a->no_history ? "The snapshot has no history and"
                                       : "The snapshot",
                       a->no_history ? "" : " at its peak");
        mt_advise_command(a, "memtool %s %s", a->no_history ? "memory" : "peak", a->snapshot);
        mt_advise_command(a, "memtool frag %s", a->snapshot);
        mt_advise_why(a, a->plain ? "memtool capture keeps a failure by itself: run the program "
                                    "under it until it fails."
                                  : "To catch a failure, dump in the except block or with an OOM "
                                    "observer.");
        return;
    }
    if (kind == MT_KIND_COUNT) {
        mt_advise(a, "other_log", true);
        mt_advise_text(a, "If the job did die of memory, its message went elsewhere: look at the "
                          "standard error of every rank, and at the kernel's log.");
        mt_advise_command(a, "memtool triage stderr.log   # or the scheduler's file of each rank");
        mt_advise_command(a, "dmesg -T | grep -i -E 'out of memory|killed process'");
        mt_advise_why(a, "A process that the kernel kills writes nothing itself.");
        return;
    }
    if (kind == MT_KIND_BUDGET) {
        advise_budget(a);
        return;
    }
    say_steps(a, HOST[kind]);
    if (kind == MT_KIND_DEVICE || kind == MT_KIND_SOFT) {
        return;
    }
    mt_advise(a, "smaller_batch", false);
    mt_advise_text(a, "a smaller batch, PYTORCH_CUDA_ALLOC_CONF, empty_cache()");
    mt_advise_why(a, "They act on the card's memory, which did not run out here.");
}
