/* SPDX-License-Identifier: MIT */
/*
 * Advice for programs that allocate by cudaMalloc and its kin, without PyTorch: told from a
 * snapshot whose stacks are compiled frames and none of them torch's. No setting of PyTorch and no
 * line of Python helps them.
 */
#include "triage/advice/advice.h"

static const char *file_of(const struct mt_advisor *a)
{
    return a->snapshot ? a->snapshot : "SNAPSHOT";
}

static void advise_who(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    uint64_t held = f->others ? f->others : f->unexplained;
    mt_advise(a, "who_holds_the_card", true);
    mt_advise_text(a, "See who else is on the card; stop what is left over from an earlier run.");
    mt_advise_command(a, "nvidia-smi --query-compute-apps=pid,process_name,used_memory "
                         "--format=csv");
    mt_advise_why(a, "Up to %s comes back.", mt_advice_size(held).s);
    mt_advise(a, "other_card", true);
    mt_advise_text(a, "Or take a card that is free. Set it before the program starts.");
    mt_advise_command(a, "export CUDA_VISIBLE_DEVICES=1   # the index of a free card");
    mt_advise_why(a, "Each process then has a card to itself.");
}

static void advise_size(struct mt_advisor *a)
{
    mt_advise(a, "look_at_the_size", true);
    mt_advise_text(a,
                   "Look at how the size of this call%s%s comes about: a product that is larger "
                   "than meant, a negative number that became unsigned, bytes counted twice.",
                   a->facts->asker ? " in " : "", a->facts->asker ? a->facts->asker : "");
    mt_advise_command(a, "memtool trace --stack full %s | tail -n 20", file_of(a));
    mt_advise_why(a, "%s were asked for at once.", mt_advice_size(a->facts->requested).s);
    mt_advise(a, "pieces", true);
    mt_advise_text(a, "If the size is meant: work in pieces that fit, one after the other.");
    mt_advise_command(a, "cudaMemGetInfo(&free, &total);   // and size the pieces by it");
    mt_advise_why(a, "The peak falls to the size of one piece.");
}

static void advise_leak(struct mt_advisor *a)
{
    const struct mt_facts *f = a->facts;
    mt_advise(a, "missing_free", true);
    mt_advise_text(a, "Find the allocation that has no cudaFree, and pair them.");
    mt_advise_command(a, "memtool leaks --stack full %s", file_of(a));
    mt_advise_why(a, "%s a step, most of it from %s.", mt_advice_size(f->growth).s,
                  f->growing ? f->growing : "one place");
    mt_advise(a, "leak_check", true);
    mt_advise_text(a, "Or let NVIDIA's checker list what is never freed.");
    mt_advise_command(a, "compute-sanitizer --tool memcheck --leak-check full ./PROGRAM");
    mt_advise_why(a, "It names the line of each allocation that is left.");
}

/* A share of the card that memtool's allocator was told to keep to. */
static void advise_fraction(struct mt_advisor *a)
{
    if (a->verdict != MT_VERDICT_PER_PROCESS_LIMIT || !mt_facts_memtools(a->facts)) {
        return;
    }
    mt_advise(a, "find_limit", true);
    mt_advise_text(a,
                   "Find who sets the limit, and raise or remove it: memtool's allocator keeps to "
                   "a share of the card that the program or its settings name.");
    if (a->facts->account->recorded.live) {
        mt_advise_command(a, "grep -rn memtool_set_memory_fraction .");
    }
    mt_advise_command(a, "echo $MEMTOOL_ALLOC_CONF   # per_process_memory_fraction");
    mt_advise_why(a, "It is a choice of this program or its launcher, not of the card.");
}

static void advise_free_exceeds(struct mt_advisor *a)
{
    advise_fraction(a);
    mt_advise(a, "who_was_there", true);
    mt_advise_text(a, "Run it again and watch the card: another process may have held the memory "
                      "for the moment.");
    mt_advise_command(a, "watch -n 1 nvidia-smi");
    mt_advise_why(a, "The figure for free memory is taken after the failure.");
    mt_advise(a, "limits", true);
    mt_advise_text(a, "Look for a limit: address space, locked memory, a share that MPS sets, the "
                      "container's host memory.");
    mt_advise_command(a, "ulimit -v; ulimit -l; free -h; env | grep CUDA_MPS");
    mt_advise_why(a, "The driver also fails when it finds no host memory or address space.");
}

static void advise_holes(struct mt_advisor *a)
{
    mt_advise(a, "cut_up", true);
    mt_advise_text(a, "See what cuts the cached memory up, and allocate what lives long first.");
    mt_advise_command(a, "memtool frag %s", file_of(a));
    mt_advise_why(a, "%s is free in pieces that are too small.",
                  mt_advice_size(a->facts->unallocated).s);
    if (!a->facts->expandable_on && !a->facts->expandable_fails) {
        mt_advise(a, "expandable_segments", true);
        mt_advise_text(a,
                       "Let the cache's segments grow instead of leaving holes. Set it before the "
                       "program starts.");
        mt_advise_command(a, "export MEMTOOL_ALLOC_CONF=expandable_segments:True");
        mt_advise_why(a, "%s was asked for.", mt_advice_size(a->facts->requested).s);
    }
}

static void advise_less(struct mt_advisor *a)
{
    mt_advise(a, "largest_first", true);
    mt_advise_text(a,
                   "See which calls hold the most: free what is done with before the next phase, "
                   "keep one buffer instead of one a step, use smaller types.");
    mt_advise_command(a, "memtool peak --stack full %s", file_of(a));
    mt_advise_why(a, "The call that failed is rarely the one that holds the memory.");
    (void)mt_advice_owner(a);
    mt_advise(a, "managed_memory", true);
    mt_advise_text(a,
                   "Or let what is used rarely lie in host memory: managed memory moves by page.");
    mt_advise_command(a, "cudaMallocManaged(&p, bytes);   // with cudaMemPrefetchAsync where speed "
                         "matters");
    mt_advise_why(a, "It may be larger than the card; what does not fit costs transfers.");
}

void mt_advice_cuda(struct mt_advisor *a)
{
    switch (a->verdict) {
    case MT_VERDICT_OVERSIZED_REQUEST: advise_size(a); break;
    case MT_VERDICT_LEAK: advise_leak(a); break;
    case MT_VERDICT_FREE_EXCEEDS_REQUEST:
    case MT_VERDICT_PER_PROCESS_LIMIT: advise_free_exceeds(a); break;
    case MT_VERDICT_OTHER_PROCESS: advise_who(a); break;
    case MT_VERDICT_FRAGMENTATION: advise_holes(a); break;
    case MT_VERDICT_NON_PYTORCH:
        if (!mt_advice_owner(a)) {
            advise_less(a);
        }
        break;
    default: advise_less(a); break;
    }
}
