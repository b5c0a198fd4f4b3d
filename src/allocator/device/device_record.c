/* SPDX-License-Identifier: MIT */
/* Stands before a device and tells what was asked of it and what came of it. */
#include "allocator/device/device.h"

static enum mt_status tell(const struct mt_device_record *f, enum mt_device_call call,
                           uint64_t addr, uint64_t size, enum mt_status status)
{
    f->on_call(f->on_call_ctx, &(struct mt_device_record_entry){call, addr, size, status});
    return status;
}

static void record_caps(void *ctx, struct mt_device_caps *caps)
{
    const struct mt_device_record *f = ctx;
    f->inner.ops->caps(f->inner.ctx, caps);
}

static enum mt_status record_mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total,
                                      struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->mem_info(f->inner.ctx, free_bytes, total, err);
    return tell(f, MT_DEVICE_CALL_MEM_INFO, 0, 0, status);
}

static enum mt_status record_mem_alloc(void *ctx, uint64_t size, uint64_t *addr,
                                       struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->mem_alloc(f->inner.ctx, size, addr, err);
    return tell(f, MT_DEVICE_CALL_MEM_ALLOC, status == MT_OK ? *addr : 0, size, status);
}

static enum mt_status record_mem_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->mem_free(f->inner.ctx, addr, size, err);
    return tell(f, MT_DEVICE_CALL_MEM_FREE, addr, size, status);
}

static enum mt_status record_va_reserve(void *ctx, uint64_t size, uint64_t *addr,
                                        struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->va_reserve(f->inner.ctx, size, addr, err);
    return tell(f, MT_DEVICE_CALL_VA_RESERVE, status == MT_OK ? *addr : 0, size, status);
}

static enum mt_status record_va_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->va_free(f->inner.ctx, addr, size, err);
    return tell(f, MT_DEVICE_CALL_VA_FREE, addr, size, status);
}

static enum mt_status record_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                 struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->map(f->inner.ctx, addr, size, page, err);
    return tell(f, MT_DEVICE_CALL_MAP, addr, size, status);
}

static enum mt_status record_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                   uint64_t stream, struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->unmap(f->inner.ctx, addr, size, page, stream, err);
    return tell(f, MT_DEVICE_CALL_UNMAP, addr, size, status);
}

static enum mt_status record_event_record(void *ctx, uint64_t stream, uint64_t *event,
                                          struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->event_record(f->inner.ctx, stream, event, err);
    return tell(f, MT_DEVICE_CALL_EVENT_RECORD, status == MT_OK ? *event : 0, stream, status);
}

static enum mt_status record_event_done(void *ctx, uint64_t event, bool *done, struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->event_done(f->inner.ctx, event, done, err);
    return tell(f, MT_DEVICE_CALL_EVENT_DONE, event, 0, status);
}

static enum mt_status record_event_sync(void *ctx, uint64_t event, struct mt_error *err)
{
    const struct mt_device_record *f = ctx;
    enum mt_status status = f->inner.ops->event_sync(f->inner.ctx, event, err);
    return tell(f, MT_DEVICE_CALL_EVENT_SYNC, event, 0, status);
}

static void record_event_free(void *ctx, uint64_t event)
{
    const struct mt_device_record *f = ctx;
    f->inner.ops->event_free(f->inner.ctx, event);
}

static const struct mt_device_ops RECORD_OPS = {
    .name = "record",
    .caps = record_caps,
    .mem_info = record_mem_info,
    .mem_alloc = record_mem_alloc,
    .mem_free = record_mem_free,
    .va_reserve = record_va_reserve,
    .va_free = record_va_free,
    .map = record_map,
    .unmap = record_unmap,
    .event_record = record_event_record,
    .event_done = record_event_done,
    .event_sync = record_event_sync,
    .event_free = record_event_free,
};

struct mt_device mt_device_record_device(struct mt_device_record *f)
{
    return (struct mt_device){&RECORD_OPS, f};
}
