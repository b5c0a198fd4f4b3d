/* SPDX-License-Identifier: MIT */
/*
 * One request, from its stack to its events: the stack is caught before the lock is taken, because
 * walking Python's frames may run Python; under the lock the stack becomes a number, the core does
 * its work, and its observer appends the events. A stack seen for the first time costs one more
 * round: the lock is let go while it is put into words.
 */
#include "live/core/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/compiler.h"
#include "support/mem.h"
#include "support/str.h"

#include "live/dump/dump_lock.h"

/* ---- events ---- */

static const enum mt_record_action actions[] = {
    [MT_ALLOC_EVENT_ALLOC] = MT_RECORD_ALLOC,
    [MT_ALLOC_EVENT_FREE_REQUESTED] = MT_RECORD_FREE_REQUESTED,
    [MT_ALLOC_EVENT_FREE_COMPLETED] = MT_RECORD_FREE_COMPLETED,
    [MT_ALLOC_EVENT_SEGMENT_ALLOC] = MT_RECORD_SEGMENT_ALLOC,
    [MT_ALLOC_EVENT_SEGMENT_FREE] = MT_RECORD_SEGMENT_FREE,
    [MT_ALLOC_EVENT_SEGMENT_MAP] = MT_RECORD_SEGMENT_MAP,
    [MT_ALLOC_EVENT_SEGMENT_UNMAP] = MT_RECORD_SEGMENT_UNMAP,
    [MT_ALLOC_EVENT_OOM] = MT_RECORD_OOM,
};

MT_HOT static void on_event(void *ctx, const struct mt_alloc_event *e)
{
    const struct mt_live_device *d = ctx;
    struct mt_recorder *r = d->live->recorder;
    enum mt_record_action action = actions[e->kind];
    if (MT_LIKELY(mt_recorder_is_ready(r, d->ordinal, e->stream))) {
        mt_recorder_append(r, d->ordinal, action, e->addr, e->size, e->stack);
    } else {
        mt_recorder_event(r, d->ordinal, action, e->addr, e->size, e->stream, e->stack);
    }
}

/* Nobody watches while nothing is recorded. */
static struct mt_alloc_observer observer_of(struct mt_live_device *d)
{
    return (struct mt_alloc_observer){mt_recorder_on(d->live->recorder) ? on_event : NULL, d};
}

/* With the lock, which is let go for a while. */
static uint32_t new_stack(struct mt_live *live, struct mt_raw_stack *raw)
{
    uint32_t id = 0;
    mt_quick_lock_give(&live->lock);
    struct mt_stack_text *text = mt_recorder_describe(live->recorder, raw);
    mt_quick_lock_take(&live->lock);
    if (text && raw->n > 0) {
        id = mt_recorder_add_stack(live->recorder, raw, text);
    }
    mt_quick_lock_give(&live->lock);
    mt_stack_text_free(text);
    mt_quick_lock_take(&live->lock);
    return id;
}

/* With the lock: what precedes every request and free while recording. */
static inline uint32_t begin_recorded(struct mt_live *live, struct mt_raw_stack *raw)
{
    if (!mt_recorder_on(live->recorder)) {
        return 0;
    }
    uint32_t id = mt_recorder_find_stack(live->recorder, raw);
    if (MT_UNLIKELY(id == 0 && raw->n > 0 && !mt_stack_table_full(&live->recorder->stacks))) {
        id = new_stack(live, raw);
    }
    mt_recorder_tick(live->recorder);
    return id;
}

/* ---- life ---- */

enum mt_status mt_live_new(const struct mt_live_options *o, struct mt_live **out,
                           struct mt_error *err)
{
    struct mt_live *live = mt_mem_zalloc(1, sizeof *live);
    if (!live) {
        return mt_fail_nomem(err);
    }
    mt_dump_lock_init(&live->dump_lock);
    int length = snprintf(live->conf, sizeof live->conf, "%s", o->conf ? o->conf : "");
    snprintf(live->rank, sizeof live->rank, "%s", o->rank ? o->rank : "0");
    struct mt_conf conf;
    mt_conf_parse(mt_str_from(live->conf), MT_TORCH_MEMTOOL, &conf);
    live->settings = conf.settings;
    enum mt_status status = MT_OK;
    if ((size_t)length >= sizeof live->conf) {
        status = mt_fail(err, MT_USAGE, MT_NO_OFFSET, "the settings have %d bytes, allowed are %d",
                         length, MT_LIVE_CONF_MAX - 1);
    } else if (!conf.valid) {
        status = mt_fail(err, MT_USAGE, MT_NO_OFFSET, "%s", conf.error);
    }
    if (status == MT_OK) {
        status = mt_recorder_new(&live->recorder, err);
    }
    if (status == MT_OK) {
        status = mt_cuda_open(o->library, &live->cuda, err);
    }
    if (status != MT_OK) {
        mt_live_free(live);
        return status;
    }
    int n = mt_cuda_device_count(live->cuda);
    live->n_devices = n < MT_RECORD_DEVICES_MAX ? n : MT_RECORD_DEVICES_MAX;
    live->n_usable = (unsigned)live->n_devices;
    *out = live;
    return MT_OK;
}

void mt_live_free(struct mt_live *live)
{
    if (!live) {
        return;
    }
    for (int i = 0; i < live->n_devices; i++) {
        mt_alloc_delete(live->devices[i].alloc);
        mt_device_cuda_free(live->devices[i].cuda);
        if (atomic_load(&live->devices[i].held)) {
            mt_cuda_let_go(live->cuda, i);
        }
    }
    if (live->cuda) {
        mt_cuda_close(live->cuda);
    }
    mt_recorder_free(live->recorder);
    pthread_mutex_destroy(&live->dump_lock);
    mt_mem_free(live);
}

static enum mt_status make_ready(struct mt_live *live, struct mt_live_device *d, int ordinal,
                                 struct mt_error *err)
{
    d->live = live;
    d->ordinal = ordinal;
    MT_TRY(mt_device_cuda_new(live->cuda, ordinal, &d->cuda, err));
    struct mt_alloc_options o = {.settings = live->settings,
                                 .device = mt_device_cuda_device(d->cuda),
                                 .observer = observer_of(d),
                                 .find_by_addr = true};
    struct mt_device_caps caps;
    o.device.ops->caps(o.device.ctx, &caps);
    const struct mt_alloc_settings *s = &live->settings;
    if (s->has_per_process_memory_fraction && s->per_process_memory_fraction < 1.0) {
        o.has_allowed = true;
        o.allowed = (uint64_t)(s->per_process_memory_fraction * (double)caps.total);
    }
    enum mt_status status = mt_alloc_new(&o, &d->alloc, err);
    if (status != MT_OK) {
        mt_device_cuda_free(d->cuda);
        d->cuda = NULL;
    }
    return status;
}

enum mt_status mt_live_device(struct mt_live *live, int ordinal, struct mt_live_device **out,
                              struct mt_error *err)
{
    if (live->forked) {
        return mt_fail(err, MT_DEVICE, MT_NO_OFFSET,
                       "a forked process cannot use the CUDA of its parent; start it with spawn");
    }
    if (ordinal < 0 || ordinal >= live->n_devices) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "there is no CUDA device %d, only %d device(s)",
                       ordinal, live->n_devices);
    }
    *out = &live->devices[ordinal];
    return (*out)->alloc ? MT_OK : make_ready(live, *out, ordinal, err);
}

/* ---- requests ---- */

static enum mt_status allocate_locked(struct mt_live *live, const struct mt_alloc_request *r,
                                      int device, uint64_t *addr, struct mt_live_device **d,
                                      struct mt_error *err)
{
    *d = NULL;
    MT_TRY(mt_live_device(live, device, d, err));
    if (r->stream != 0 || live->n_scopes > 0) {
        MT_TRY(mt_live_scopes_update(live, *d, r->stream, err));
    }
    return mt_alloc_allocate((*d)->alloc, r, addr, NULL, err);
}

/* `d` is NULL or not ready when it was the device itself that did not start. */
static void say_refused(const struct mt_live_device *d, uint64_t size, const struct mt_error *err,
                        struct mt_live_refusal *refusal)
{
    if (!refusal->out_of_memory || !d || !d->alloc) {
        snprintf(refusal->text, sizeof refusal->text, "memtool: %s", err->text);
    } else if (size < (uint64_t)1 << 60) {
        mt_oom_text(d->alloc, d->ordinal, refusal->text, sizeof refusal->text);
    } else {
        snprintf(refusal->text, sizeof refusal->text,
                 "CUDA out of memory. Tried to allocate more than 1EB memory.");
    }
}

/* Before a device's first request, without the lock (mt_cuda_hold). */
static void wake(struct mt_live *live, int ordinal)
{
    if ((unsigned)ordinal < live->n_usable &&
        MT_UNLIKELY(!atomic_load_explicit(&live->devices[ordinal].held, memory_order_relaxed)) &&
        mt_cuda_hold(live->cuda, ordinal) && atomic_exchange(&live->devices[ordinal].held, true)) {
        mt_cuda_let_go(live->cuda, ordinal);
    }
}

uint64_t mt_live_allocate(struct mt_live *live, uint64_t size, int device, uint64_t stream,
                          struct mt_live_refusal *refusal)
{
    struct mt_raw_stack raw;
    struct mt_live_device *d = NULL;
    struct mt_error err;
    uint64_t addr = 0;
    if (size == 0) {
        refusal->text[0] = '\0';
        return 0;
    }
    wake(live, device);
    mt_recorder_capture(live->recorder, false, &raw);
    mt_quick_lock_take(&live->lock);
    struct mt_alloc_request r = {.size = size, .stream = stream};
    r.stack = begin_recorded(live, &raw);
    enum mt_status status = allocate_locked(live, &r, device, &addr, &d, &err);
    if (status == MT_OK) {
        mt_quick_lock_give(&live->lock);
        return addr;
    }
    refusal->out_of_memory = status == MT_DEVICE_OOM;
    bool dump =
        refusal->out_of_memory && mt_recorder_on(live->recorder) && live->recorder->settings.on_oom;
    say_refused(d, size, &err, refusal);
    mt_quick_lock_give(&live->lock);
    if (dump) {
        mt_live_dump_oom(live, refusal);
    }
    return 0;
}

MT_HOT uint64_t mt_live_serve_recorded(struct mt_live *live, uint64_t size, int device,
                                       uint64_t stream)
{
    struct mt_raw_stack raw;
    mt_recorder_capture(live->recorder, false, &raw);
    mt_quick_lock_take(&live->lock);
    uint32_t stack = begin_recorded(live, &raw);
    uint64_t addr = mt_live_serve_locked(live, size, device, stream, stack);
    mt_quick_lock_give(&live->lock);
    return addr;
}

MT_HOT bool mt_live_give_recorded(struct mt_live *live, uint64_t addr, int device)
{
    struct mt_raw_stack raw;
    mt_recorder_capture(live->recorder, true, &raw);
    mt_quick_lock_take(&live->lock);
    uint32_t stack = begin_recorded(live, &raw);
    bool given = mt_live_give_locked(live, addr, device, stack);
    mt_quick_lock_give(&live->lock);
    return given;
}

/* The block at an address and its device; 0 when there is none. */
static mt_alloc_block find_block(struct mt_live *live, uint64_t addr, int hint,
                                 struct mt_live_device **d)
{
    mt_alloc_block block = {0};
    if (hint >= 0 && hint < live->n_devices && live->devices[hint].alloc) {
        *d = &live->devices[hint];
        block = mt_alloc_find((*d)->alloc, addr);
    }
    for (int i = 0; block.i == 0 && i < live->n_devices; i++) {
        if (i != hint && live->devices[i].alloc) {
            *d = &live->devices[i];
            block = mt_alloc_find((*d)->alloc, addr);
        }
    }
    return block;
}

static enum mt_status unknown_address(uint64_t addr, struct mt_error *err)
{
    return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                   "%#llx is not the start of a block of memtool's", (unsigned long long)addr);
}

static enum mt_status release_locked(struct mt_live *live, uint64_t addr, int hint, uint32_t stack,
                                     struct mt_error *err)
{
    struct mt_live_device *d = NULL;
    mt_alloc_block block = find_block(live, addr, hint, &d);
    return block.i ? mt_alloc_free(d->alloc, block, stack, err) : unknown_address(addr, err);
}

enum mt_status mt_live_release(struct mt_live *live, uint64_t addr, int device,
                               struct mt_error *err)
{
    struct mt_raw_stack raw;
    mt_recorder_capture(live->recorder, true, &raw);
    mt_quick_lock_take(&live->lock);
    enum mt_status status = MT_OK;
    if (!live->forked) {
        uint32_t stack = begin_recorded(live, &raw);
        status = release_locked(live, addr, device, stack, err);
    }
    mt_quick_lock_give(&live->lock);
    return status;
}

enum mt_status mt_live_record_stream(struct mt_live *live, uint64_t addr, uint64_t stream,
                                     struct mt_error *err)
{
    struct mt_live_device *d = NULL;
    mt_quick_lock_take(&live->lock);
    mt_alloc_block block = find_block(live, addr, -1, &d);
    enum mt_status status =
        block.i ? mt_alloc_record_stream(d->alloc, block, stream, err) : unknown_address(addr, err);
    mt_quick_lock_give(&live->lock);
    return status;
}

/* ---- the rest of the ways in ---- */

static enum mt_status set_fraction(struct mt_live *live, double fraction, int device,
                                   struct mt_error *err)
{
    struct mt_live_device *d = NULL;
    if (!(fraction >= 0.0 && fraction <= 1.0)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "the memory fraction is %g, allowed is 0 to 1",
                       fraction);
    }
    MT_TRY(mt_live_device(live, device, &d, err));
    struct mt_device cuda = mt_device_cuda_device(d->cuda);
    struct mt_device_caps caps;
    cuda.ops->caps(cuda.ctx, &caps);
    mt_alloc_set_allowed(d->alloc, true, (uint64_t)(fraction * (double)caps.total));
    return MT_OK;
}

enum mt_status mt_live_set_fraction(struct mt_live *live, double fraction, int device,
                                    struct mt_error *err)
{
    mt_quick_lock_take(&live->lock);
    enum mt_status status = set_fraction(live, fraction, device, err);
    mt_quick_lock_give(&live->lock);
    return status;
}

enum mt_status mt_live_empty_cache(struct mt_live *live, struct mt_error *err)
{
    struct mt_raw_stack raw;
    enum mt_status status = MT_OK;
    mt_recorder_capture(live->recorder, false, &raw);
    mt_quick_lock_take(&live->lock);
    (void)begin_recorded(live, &raw);
    for (int i = 0; status == MT_OK && !live->forked && i < live->n_devices; i++) {
        if (live->devices[i].alloc) {
            status = mt_alloc_empty_cache(live->devices[i].alloc, err);
        }
    }
    mt_quick_lock_give(&live->lock);
    return status;
}

enum mt_status mt_live_stats(struct mt_live *live, int device, struct mt_alloc_stats *out,
                             struct mt_error *err)
{
    if (device < 0 || device >= live->n_devices) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "there is no CUDA device %d, only %d device(s)",
                       device, live->n_devices);
    }
    memset(out, 0, sizeof *out);
    mt_quick_lock_take(&live->lock);
    if (live->devices[device].alloc) {
        *out = mt_alloc_stats(live->devices[device].alloc);
    }
    mt_quick_lock_give(&live->lock);
    return MT_OK;
}

enum mt_status mt_live_check(struct mt_live *live, struct mt_error *err)
{
    enum mt_status status = MT_OK;
    mt_quick_lock_take(&live->lock);
    for (int i = 0; status == MT_OK && i < live->n_devices; i++) {
        if (live->devices[i].alloc) {
            status = mt_alloc_check(live->devices[i].alloc, err);
        }
    }
    mt_quick_lock_give(&live->lock);
    return status;
}

/* ---- recording ---- */

void mt_live_record(struct mt_live *live, const struct mt_record_settings *s)
{
    if (s) {
        mt_recorder_prepare(live->recorder, s);
    }
    mt_quick_lock_take(&live->lock);
    mt_recorder_set(live->recorder, s);
    for (int i = 0; i < live->n_devices; i++) {
        struct mt_live_device *d = &live->devices[i];
        if (d->alloc) {
            mt_alloc_set_observer(d->alloc, observer_of(d));
        }
    }
    mt_quick_lock_give(&live->lock);
}

void mt_live_mark(struct mt_live *live, int device, const char *name, bool end)
{
    mt_quick_lock_take(&live->lock);
    if (mt_recorder_on(live->recorder)) {
        mt_recorder_tick(live->recorder);
        mt_recorder_mark(live->recorder, device, name, end);
    }
    mt_quick_lock_give(&live->lock);
}
