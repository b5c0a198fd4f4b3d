/* SPDX-License-Identifier: MIT */
/*
 * Names. Allocations are many and short-lived: a map by address. Segments are few, and are asked
 * for by any address inside them: a sorted array.
 */
#include "heap/stacks/names.h"

#include <stdio.h>

#include "snapshot/model/device_segments.h"
#include "heap/walk/replay.h"

/* Without s, which is a segment's: s1 = s3[0:512] would name two things alike. */
static const char LETTERS[] = "abcdefghijklmnopqrtuvwxyz";

struct mt_name_text mt_alloc_name_text(uint32_t name)
{
    enum { N = sizeof LETTERS - 1 };
    struct mt_name_text text;
    uint32_t round = name / N;
    if (round) {
        snprintf(text.s, sizeof text.s, "%c%u", LETTERS[name % N], round);
    } else {
        snprintf(text.s, sizeof text.s, "%c", LETTERS[name % N]);
    }
    return text;
}

uint32_t mt_alloc_names_add(struct mt_alloc_names *n, uint64_t addr)
{
    uint32_t *old = mt_idmap_find(&n->by_addr, addr);
    if (old) {
        return *old; /* its end was not recorded: the name goes on */
    }
    uint32_t name = n->spare.n ? n->spare.v[n->spare.n - 1] : n->next;
    if (name == MT_NO_NAME || !mt_idmap_put(&n->by_addr, addr, name)) {
        return MT_NO_NAME;
    }
    n->next += name == n->next;
    n->spare.n -= n->spare.n && n->spare.v[n->spare.n - 1] == name;
    return name;
}

uint32_t mt_alloc_names_find(const struct mt_alloc_names *n, uint64_t addr)
{
    uint32_t *name = mt_idmap_find(&n->by_addr, addr);
    return name ? *name : MT_NO_NAME;
}

bool mt_alloc_names_remove(struct mt_alloc_names *n, uint64_t addr)
{
    uint32_t name;
    return !mt_idmap_remove(&n->by_addr, addr, &name) || mt_vec_push(&n->spare, name);
}

void mt_alloc_names_release(struct mt_alloc_names *n)
{
    mt_idmap_release(&n->by_addr);
    mt_vec_release(&n->spare);
}

/* ---- segments ---- */

/* Index of the first segment behind `addr`. */
static size_t after(const struct mt_segment_names *n, uint64_t addr)
{
    size_t low = 0, high = n->live.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->live.v[middle].addr <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool insert(struct mt_segment_names *n, struct mt_named_segment s)
{
    size_t at = after(n, s.addr);
    if (!mt_vec_push(&n->live, s)) {
        return false;
    }
    memmove(&n->live.v[at + 1], &n->live.v[at], (n->live.n - 1 - at) * sizeof *n->live.v);
    n->live.v[at] = s;
    return true;
}

uint32_t mt_segment_names_add(struct mt_segment_names *n, uint64_t addr, uint64_t size)
{
    uint32_t name = n->spare.n ? n->spare.v[n->spare.n - 1] : n->next;
    if (name == MT_NO_NAME || !insert(n, (struct mt_named_segment){addr, size, name, false})) {
        return MT_NO_NAME;
    }
    if (n->spare.n) {
        n->spare.n--;
    } else {
        n->next++;
    }
    return name;
}

uint32_t mt_segment_names_map(struct mt_segment_names *n, uint64_t addr, uint64_t size)
{
    size_t at = after(n, addr);
    struct mt_named_segment *left = at ? &n->live.v[at - 1] : NULL;
    if (left && left->mapped && addr - left->addr == left->size) {
        left->size += size;
        return left->name;
    }
    uint32_t name = mt_segment_names_add(n, addr, size);
    at = after(n, addr);
    if (name != MT_NO_NAME) {
        n->live.v[at - 1].mapped = true;
    }
    return name;
}

const struct mt_named_segment *mt_segment_names_find(const struct mt_segment_names *n,
                                                     uint64_t addr)
{
    size_t at = after(n, addr);
    if (at == 0) {
        return NULL;
    }
    const struct mt_named_segment *s = &n->live.v[at - 1];
    return addr - s->addr < s->size ? s : NULL;
}

static void erase(struct mt_segment_names *n, size_t at)
{
    memmove(&n->live.v[at], &n->live.v[at + 1], (n->live.n - 1 - at) * sizeof *n->live.v);
    n->live.n--;
}

uint32_t mt_segment_names_remove(struct mt_segment_names *n, uint64_t addr, uint64_t size,
                                 bool *failed)
{
    size_t at = after(n, addr);
    at -= at > 0 && addr - n->live.v[at - 1].addr < n->live.v[at - 1].size;
    uint32_t first = MT_NO_NAME;
    while (at < n->live.n && (n->live.v[at].addr <= addr || n->live.v[at].addr - addr < size)) {
        struct mt_named_segment s = n->live.v[at];
        uint64_t left = s.addr < addr ? addr - s.addr : 0;
        uint64_t gone = left + size; /* from the segment's start to the end of the range */
        if (s.addr > addr) {
            gone = size - (s.addr - addr);
        }
        first = first == MT_NO_NAME ? s.name : first;
        erase(n, at);
        bool kept = left || gone < s.size;
        if (left) {
            *failed |= !insert(n, (struct mt_named_segment){s.addr, left, s.name, s.mapped});
            at++;
        }
        if (gone < s.size) {
            *failed |= !insert(
                n, (struct mt_named_segment){s.addr + gone, s.size - gone, s.name, s.mapped});
            return first;
        }
        *failed |= !kept && !mt_vec_push(&n->spare, s.name);
    }
    return first;
}

void mt_segment_names_release(struct mt_segment_names *n)
{
    mt_vec_release(&n->live);
    mt_vec_release(&n->spare);
}

/* ---- the start of a trace ---- */

static bool add_final(struct mt_segment_names *n, const struct mt_snapshot *s, int32_t device)
{
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        struct mt_named_segment one = {g->addr, g->total_size, 0, g->expandable};
        if (!insert(n, one)) {
            return false;
        }
    }
    return true;
}

bool mt_segment_names_start(struct mt_segment_names *n, const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace trace = mt_device_trace(s, device);
    bool failed = !add_final(n, s, device);
    for (size_t i = trace.n; !failed && i-- > 0;) {
        const struct mt_event *e = &s->events[trace.first + i];
        enum mt_step_kind kind = mt_event_kind(e);
        if (kind == MT_STEP_RESERVE) {
            (void)mt_segment_names_remove(n, e->addr, e->size, &failed);
        } else if (kind == MT_STEP_RELEASE) {
            bool mapped = e->action == MT_ACTION_SEGMENT_UNMAP;
            failed = !insert(n, (struct mt_named_segment){e->addr, e->size, 0, mapped});
        }
    }
    n->spare.n = 0;
    n->next = 0;
    for (size_t i = 0; i < n->live.n; i++) {
        n->live.v[i].name = n->next++;
    }
    return !failed;
}
