/* SPDX-License-Identifier: MIT */
/*
 * First the device's own promises (device.h), then PyTorch's policy by its known answers: what is
 * asked of the device for a request, and what is left of the segment.
 */
#include "device_conformance.h"

#include <stdio.h>

#include "allocator/core/allocator.h"

enum { MAX_EVENTS = 64 };

struct suite {
    struct mt_device device;
    struct mt_device_caps caps;
    void (*say)(const char *text);
    int checks, failures;
    struct mt_alloc *alloc;
    struct mt_alloc_event events[MAX_EVENTS];
    int n_events;
};

static void expect(struct suite *s, bool holds, const char *what, const struct mt_error *err)
{
    char text[400];
    s->checks++;
    if (!holds) {
        s->failures++;
        snprintf(text, sizeof text, "%s: %s%s%s", s->device.ops->name, what, err ? ": " : "",
                 err ? err->text : "");
        s->say(text);
    }
}

/* ---- the device's promises ---- */

static void segments(struct suite *s)
{
    const struct mt_device_ops *ops = s->device.ops;
    struct mt_error err = {0};
    uint64_t free_before = 0, free_after = 0, total = 0, a = 0, b = 0;
    const uint64_t size = 64 * MT_MIB;
    void *ctx = s->device.ctx;
    expect(s, ops->mem_info(ctx, &free_before, &total, &err) == MT_OK, "mem_info", &err);
    expect(s, free_before <= total && total > 0, "free memory is not above the total", NULL);
    expect(s, ops->mem_alloc(ctx, size, &a, &err) == MT_OK, "mem_alloc", &err);
    expect(s, ops->mem_alloc(ctx, size, &b, &err) == MT_OK, "second mem_alloc", &err);
    expect(s, a != 0 && b != 0 && (a + size <= b || b + size <= a), "two segments lie apart", NULL);
    expect(s, a % s->caps.granularity == 0, "a segment is aligned as caps say", NULL);
    expect(s, ops->mem_info(ctx, &free_after, &total, &err) == MT_OK, "mem_info", &err);
    expect(s, free_after + 2 * size <= free_before, "segments are taken from what is free", NULL);
    expect(s, ops->mem_free(ctx, a, size, &err) == MT_OK, "mem_free", &err);
    expect(s, ops->mem_free(ctx, b, size, &err) == MT_OK, "mem_free", &err);
    expect(s, ops->mem_alloc(ctx, total + 2 * MT_MIB, &a, &err) == MT_DEVICE_OOM,
           "more than the device has is MT_DEVICE_OOM", NULL);
}

static void virtual_memory(struct suite *s)
{
    const struct mt_device_ops *ops = s->device.ops;
    struct mt_error err = {0};
    const uint64_t page = 2 * MT_MIB;
    uint64_t at = 0, before = 0, mapped = 0, after = 0, total = 0;
    void *ctx = s->device.ctx;
    if (!s->caps.has_vmm) {
        return;
    }
    expect(s, ops->va_reserve(ctx, 64 * page, &at, &err) == MT_OK, "va_reserve", &err);
    expect(s, ops->mem_info(ctx, &before, &total, &err) == MT_OK, "mem_info", &err);
    expect(s, ops->map(ctx, at, 4 * page, page, &err) == MT_OK, "map of 4 pages", &err);
    expect(s, ops->map(ctx, at + 8 * page, page, page, &err) == MT_OK, "map behind a hole", &err);
    expect(s, ops->mem_info(ctx, &mapped, &total, &err) == MT_OK, "mem_info", &err);
    expect(s, mapped + 5 * page <= before, "pages are taken from what is free", NULL);
    expect(s, ops->unmap(ctx, at + page, 2 * page, page, 0, &err) == MT_OK, "unmap in the middle",
           &err);
    expect(s, ops->map(ctx, at + page, page, page, &err) == MT_OK, "map again", &err);
    expect(s, ops->unmap(ctx, at, 2 * page, page, 0, &err) == MT_OK, "unmap across two maps", &err);
    expect(s, ops->unmap(ctx, at + 3 * page, page, page, 0, &err) == MT_OK, "unmap", &err);
    expect(s, ops->unmap(ctx, at + 8 * page, page, page, 0, &err) == MT_OK, "unmap", &err);
    expect(s, ops->mem_info(ctx, &after, &total, &err) == MT_OK, "mem_info", &err);
    expect(s, after >= mapped + 5 * page, "unmapped pages are free again", NULL);
    expect(s, ops->va_free(ctx, at, 64 * page, &err) == MT_OK, "va_free", &err);
}

static void events(struct suite *s)
{
    const struct mt_device_ops *ops = s->device.ops;
    struct mt_error err = {0};
    uint64_t event = 0;
    bool done = false;
    if (!s->caps.has_events) {
        return;
    }
    expect(s, ops->event_record(s->device.ctx, 0, &event, &err) == MT_OK, "event_record", &err);
    expect(s, ops->event_sync(s->device.ctx, event, &err) == MT_OK, "event_sync", &err);
    expect(s, ops->event_done(s->device.ctx, event, &done, &err) == MT_OK, "event_done", &err);
    expect(s, done, "an event is done after it was waited for", NULL);
    ops->event_free(s->device.ctx, event);
}

/* ---- the policy's known answers ---- */

static void on_event(void *ctx, const struct mt_alloc_event *e)
{
    struct suite *s = ctx;
    if (s->n_events < MAX_EVENTS) {
        s->events[s->n_events++] = *e;
    }
}

static bool open_alloc(struct suite *s, const char *conf_text)
{
    struct mt_conf conf;
    struct mt_error err = {0};
    mt_conf_parse(mt_str_from(conf_text), 211, &conf);
    const struct mt_alloc_options o = {.settings = conf.settings,
                                       .device = s->device,
                                       .observer = {on_event, s},
                                       .find_by_addr = true};
    s->n_events = 0;
    enum mt_status status = mt_alloc_new(&o, &s->alloc, &err);
    expect(s, status == MT_OK, "mt_alloc_new", &err);
    return status == MT_OK;
}

static void close_alloc(struct suite *s)
{
    mt_alloc_delete(s->alloc);
    s->alloc = NULL;
}

static void proof(struct suite *s)
{
    struct mt_error err = {0};
    expect(s, mt_alloc_check(s->alloc, &err) == MT_OK, "the invariants", &err);
}

static uint64_t take(struct suite *s, uint64_t size, uint64_t stream)
{
    struct mt_error err = {0};
    uint64_t addr = 0;
    const struct mt_alloc_request r = {.size = size, .stream = stream};
    s->n_events = 0;
    expect(s, mt_alloc_allocate(s->alloc, &r, &addr, NULL, &err) == MT_OK, "allocate", &err);
    proof(s);
    return addr;
}

static void give(struct suite *s, uint64_t addr)
{
    struct mt_error err = {0};
    mt_alloc_block block = mt_alloc_find(s->alloc, addr);
    expect(s, block.i && mt_alloc_free(s->alloc, block, 0, &err) == MT_OK, "free", &err);
    proof(s);
}

static void empty(struct suite *s, uint64_t left, const char *what)
{
    struct mt_error err = {0};
    expect(s, mt_alloc_empty_cache(s->alloc, &err) == MT_OK, "empty_cache", &err);
    expect(s, mt_alloc_total_allocated(s->alloc) == left, what, NULL);
    proof(s);
}

/* Bytes asked of the device since the last request began. */
static uint64_t asked(const struct suite *s)
{
    uint64_t bytes = 0;
    for (int i = 0; i < s->n_events; i++) {
        enum mt_alloc_event_kind kind = s->events[i].kind;
        if (kind == MT_ALLOC_EVENT_SEGMENT_ALLOC || kind == MT_ALLOC_EVENT_SEGMENT_MAP) {
            bytes += s->events[i].size;
        }
    }
    return bytes;
}

static int64_t current(const struct suite *s, enum mt_alloc_stat_id id)
{
    return mt_alloc_stat(s->alloc, id, MT_SLOT_ALL).current;
}

static void small_and_large(struct suite *s)
{
    if (!open_alloc(s, "")) {
        return;
    }
    uint64_t first = take(s, 1, 0);
    expect(s, asked(s) == 2 * MT_MIB, "1 byte takes a segment of 2 MiB", NULL);
    expect(s, current(s, MT_STAT_INACTIVE_SPLIT_BYTES) == 2096640, "512 bytes of it", NULL);
    uint64_t second = take(s, MT_MIB, 0);
    expect(s, asked(s) == 0 && second == first + 512, "1 MiB lies behind it", NULL);
    uint64_t third = take(s, MT_MIB + 1, 0);
    expect(s, asked(s) == 20 * MT_MIB, "1 MiB and a byte takes a segment of 20 MiB", NULL);
    give(s, first);
    give(s, second);
    expect(s, current(s, MT_STAT_INACTIVE_SPLIT) == 1, "freed neighbours merge", NULL);
    uint64_t fourth = take(s, 11534336, 0);
    expect(s, asked(s) == 0, "11 MiB fits behind it", NULL);
    uint64_t fifth = take(s, 11534336, 0);
    expect(s, asked(s) == 12 * MT_MIB, "11 MiB more takes a segment of 12 MiB, whole", NULL);
    expect(s, current(s, MT_STAT_ALLOCATED_BYTES) == 1049088 + 11534336 + 12582912, "bytes in use",
           NULL);
    give(s, fourth);
    give(s, fifth);
    give(s, third);
    empty(s, 0, "empty_cache gives all back");
    close_alloc(s);
}

static void oversize(struct suite *s)
{
    if (!open_alloc(s, "max_split_size_mb:64")) {
        return;
    }
    give(s, take(s, 128 * MT_MIB, 0));
    uint64_t other = take(s, 32 * MT_MIB, 0);
    expect(s, asked(s) == 32 * MT_MIB, "a block above max_split_size is not split", NULL);
    uint64_t whole = take(s, 110 * MT_MIB, 0);
    expect(s, asked(s) == 0, "but reused whole within 20 MiB", NULL);
    give(s, other);
    give(s, whole);
    close_alloc(s);
}

static void expandable(struct suite *s)
{
    if (!s->caps.has_vmm || !open_alloc(s, "expandable_segments:True")) {
        return;
    }
    uint64_t first = take(s, 25 * MT_MIB, 0);
    expect(s, asked(s) == 40 * MT_MIB, "25 MiB maps two pages of 20 MiB", NULL);
    uint64_t second = take(s, 30 * MT_MIB, 0);
    expect(s, asked(s) == 20 * MT_MIB && second == first + 25 * MT_MIB,
           "30 MiB more maps one page and lies behind it", NULL);
    expect(s, current(s, MT_STAT_SEGMENT) == 0, "no cudaMalloc segments", NULL);
    give(s, first);
    empty(s, 40 * MT_MIB, "one whole page is unmapped");
    give(s, second);
    empty(s, 0, "empty_cache gives all back");
    close_alloc(s);
}

static void too_much(struct suite *s)
{
    struct mt_error err = {0};
    if (!open_alloc(s, "")) {
        return;
    }
    give(s, take(s, 200 * MT_MIB, 0));
    const struct mt_alloc_request r = {.size = s->caps.total + MT_MIB};
    enum mt_status status = mt_alloc_allocate(s->alloc, &r, NULL, NULL, &err);
    expect(s, status == MT_DEVICE_OOM, "more than the device has is refused", NULL);
    expect(s, mt_alloc_total_allocated(s->alloc) == 0, "after the cache was released", NULL);
    expect(s, mt_alloc_stats(s->alloc).num_ooms == 1, "and is counted", NULL);
    proof(s);
    give(s, take(s, MT_MIB, 0));
    close_alloc(s);
}

/* Random requests and frees, with a proof of the invariants now and then. */
static void churn(struct suite *s, const char *conf)
{
    enum { SLOTS = 200, STEPS = 4000 };
    struct mt_error err = {0};
    uint64_t slots[SLOTS] = {0}, state = 0x2545f4914f6cdd1du;
    if (!open_alloc(s, conf)) {
        return;
    }
    for (int i = 0; i < STEPS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t *slot = &slots[state % SLOTS];
        const struct mt_alloc_request r = {.size = 1 + (state >> 20) % (4 * MT_MIB)};
        enum mt_status status = MT_OK;
        if (*slot) {
            status = mt_alloc_free(s->alloc, mt_alloc_find(s->alloc, *slot), 0, &err);
            *slot = 0;
        } else {
            status = mt_alloc_allocate(s->alloc, &r, slot, NULL, &err);
        }
        if (status != MT_OK || i % 100 == 0) {
            expect(s, status == MT_OK, "a random request or free", &err);
            proof(s);
        }
    }
    close_alloc(s);
}

int device_conformance(struct mt_device device, void (*say)(const char *text), int *checks)
{
    struct suite s = {.device = device, .say = say};
    device.ops->caps(device.ctx, &s.caps);
    segments(&s);
    virtual_memory(&s);
    events(&s);
    small_and_large(&s);
    oversize(&s);
    expandable(&s);
    too_much(&s);
    churn(&s, "");
    if (s.caps.has_vmm) {
        churn(&s, "expandable_segments:True");
    }
    *checks = s.checks;
    return s.failures;
}
