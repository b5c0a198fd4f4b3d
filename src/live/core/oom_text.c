/* SPDX-License-Identifier: MIT */
/*
 * An out of memory in words. The first sentences are PyTorch's own (2.5 and later), because log
 * readers know them, memtool's included; then comes the reason, by the same figures: the limit, the
 * other users of the card, fragmentation, or plainly too little.
 */
#include "live/core/live.h"

#include <stdio.h>
#include <string.h>

#include "support/units.h"

/* As PyTorch's format_size writes it (c10/cuda/CUDACachingAllocator.cpp): "bytes" spelled out, and
 * nothing above GiB. */
static struct mt_size_text size_text(uint64_t bytes)
{
    const struct mt_size_format automatic = {MT_UNIT_AUTO, false}, gibibytes = {MT_UNIT_GIB, false};
    if (bytes < 1024) {
        struct mt_size_text t;
        snprintf(t.s, sizeof t.s, "%llu bytes", (unsigned long long)bytes);
        return t;
    }
    return mt_size_text(bytes, bytes < (uint64_t)1 << 40 ? automatic : gibibytes);
}

struct figures {
    const struct mt_alloc_oom *oom;
    uint64_t allocated, cached; /* cached: held from the device, in no use */
    uint64_t outside;           /* taken on the device, not through this allocator */
    uint64_t largest;           /* free block */
    bool expandable;
};

static struct figures read_figures(const struct mt_alloc *a)
{
    uint64_t held = mt_alloc_total_allocated(a);
    const struct mt_alloc_stat allocated = mt_alloc_stat(a, MT_STAT_ALLOCATED_BYTES, MT_SLOT_ALL);
    struct figures f = {.oom = mt_alloc_last_oom(a),
                        .allocated = (uint64_t)allocated.current,
                        .largest = mt_alloc_largest_free(a),
                        .expandable = mt_alloc_settings(a)->expandable_segments};
    uint64_t taken = f.oom->device_total - f.oom->device_free;
    f.cached = held > f.allocated ? held - f.allocated : 0;
    f.outside = taken > held ? taken - held : 0;
    return f;
}

static int reason(const struct figures *f, char *out, size_t size)
{
    if (f->oom->by_limit) {
        return snprintf(out, size,
                        "refused by this process's limit of %s; the device itself had %s free.",
                        size_text(f->oom->allowed).s, size_text(f->oom->device_free).s);
    }
    if (f->cached >= f->oom->rounded) {
        return snprintf(
            out, size, "fragmentation: %s is held and unused, but its largest free block is %s. %s",
            size_text(f->cached).s, size_text(f->largest).s,
            f->expandable ? "Look for what pins the segments: memtool frag."
                          : "Try MEMTOOL_ALLOC_CONF=expandable_segments:True.");
    }
    if (f->outside > f->oom->device_total / 10 && f->outside >= f->oom->alloc_size) {
        return snprintf(out, size,
                        "%s of the device is taken outside this allocator: other processes, "
                        "libraries, the CUDA context.",
                        size_text(f->outside).s);
    }
    return snprintf(out, size,
                    "not enough memory: live blocks take %s of %s, and %s more was asked for.",
                    size_text(f->allocated).s, size_text(f->oom->device_total).s,
                    size_text(f->oom->requested).s);
}

void mt_oom_text(const struct mt_alloc *a, int device, char *out, size_t size)
{
    struct figures f = read_figures(a);
    char allowed[MT_SIZE_TEXT + 16] = "";
    if (f.oom->has_allowed) {
        snprintf(allowed, sizeof allowed, "%s allowed; ", size_text(f.oom->allowed).s);
    }
    int n = snprintf(out, size,
                     "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s "
                     "of which %s is free. %sOf the allocated memory %s is allocated by PyTorch, "
                     "and %s is reserved by PyTorch but unallocated. memtool: ",
                     size_text(f.oom->alloc_size).s, device, size_text(f.oom->device_total).s,
                     size_text(f.oom->device_free).s, allowed, size_text(f.allocated).s,
                     size_text(f.cached).s);
    if (n > 0 && (size_t)n < size) {
        (void)reason(&f, out + n, size - (size_t)n);
    }
}
