/* SPDX-License-Identifier: MIT */
/*
 * Stands before a device and makes chosen calls fail, so that tests can walk every path on which a
 * device lets the allocator down.
 */
#include "allocator/device/device.h"

/* Whether this call is the one that fails. */
static bool fails(struct mt_device_fault *f, enum mt_device_call call)
{
    if (f->call != MT_DEVICE_CALL_COUNT && f->call != call) {
        return false;
    }
    f->seen++;
    return f->fail_at != 0 && (f->seen == f->fail_at || (f->and_after && f->seen > f->fail_at));
}

static enum mt_status fault(const struct mt_device_fault *f, struct mt_error *err)
{
    return mt_fail(err, f->status, MT_NO_OFFSET, "the device fails on purpose");
}

static void fault_caps(void *ctx, struct mt_device_caps *caps)
{
    const struct mt_device_fault *f = ctx;
    f->inner.ops->caps(f->inner.ctx, caps);
}

static enum mt_status fault_mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total,
                                     struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_MEM_INFO)
               ? fault(f, err)
               : f->inner.ops->mem_info(f->inner.ctx, free_bytes, total, err);
}

static enum mt_status fault_mem_alloc(void *ctx, uint64_t size, uint64_t *addr,
                                      struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_MEM_ALLOC)
               ? fault(f, err)
               : f->inner.ops->mem_alloc(f->inner.ctx, size, addr, err);
}

static enum mt_status fault_mem_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_MEM_FREE)
               ? fault(f, err)
               : f->inner.ops->mem_free(f->inner.ctx, addr, size, err);
}

static enum mt_status fault_va_reserve(void *ctx, uint64_t size, uint64_t *addr,
                                       struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_VA_RESERVE)
               ? fault(f, err)
               : f->inner.ops->va_reserve(f->inner.ctx, size, addr, err);
}

static enum mt_status fault_va_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_VA_FREE) ? fault(f, err)
                                            : f->inner.ops->va_free(f->inner.ctx, addr, size, err);
}

static enum mt_status fault_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_MAP) ? fault(f, err)
                                        : f->inner.ops->map(f->inner.ctx, addr, size, page, err);
}

static enum mt_status fault_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                  uint64_t stream, struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_UNMAP)
               ? fault(f, err)
               : f->inner.ops->unmap(f->inner.ctx, addr, size, page, stream, err);
}

static enum mt_status fault_event_record(void *ctx, uint64_t stream, uint64_t *event,
                                         struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_EVENT_RECORD)
               ? fault(f, err)
               : f->inner.ops->event_record(f->inner.ctx, stream, event, err);
}

static enum mt_status fault_event_done(void *ctx, uint64_t event, bool *done, struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_EVENT_DONE)
               ? fault(f, err)
               : f->inner.ops->event_done(f->inner.ctx, event, done, err);
}

static enum mt_status fault_event_sync(void *ctx, uint64_t event, struct mt_error *err)
{
    struct mt_device_fault *f = ctx;
    return fails(f, MT_DEVICE_CALL_EVENT_SYNC) ? fault(f, err)
                                               : f->inner.ops->event_sync(f->inner.ctx, event, err);
}

static void fault_event_free(void *ctx, uint64_t event)
{
    const struct mt_device_fault *f = ctx;
    f->inner.ops->event_free(f->inner.ctx, event);
}

static const struct mt_device_ops FAULT_OPS = {
    .name = "fault",
    .caps = fault_caps,
    .mem_info = fault_mem_info,
    .mem_alloc = fault_mem_alloc,
    .mem_free = fault_mem_free,
    .va_reserve = fault_va_reserve,
    .va_free = fault_va_free,
    .map = fault_map,
    .unmap = fault_unmap,
    .event_record = fault_event_record,
    .event_done = fault_event_done,
    .event_sync = fault_event_sync,
    .event_free = fault_event_free,
};

struct mt_device mt_device_fault_device(struct mt_device_fault *f)
{
    return (struct mt_device){&FAULT_OPS, f};
}
