/* SPDX-License-Identifier: MIT */
/*
 * Stands before a device and refuses what would lift the bytes held above a limit: a smaller card
 * than the one there is.
 */
#include "allocator/device/device.h"

static enum mt_status refuse(const struct mt_device_limit *f, uint64_t size, struct mt_error *err)
{
    return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "%llu bytes more than the limit of %llu",
                   (unsigned long long)size, (unsigned long long)f->limit);
}

static bool exceeds(const struct mt_device_limit *f, uint64_t size)
{
    return size > f->limit || f->used > f->limit - size;
}

static void limit_caps(void *ctx, struct mt_device_caps *caps)
{
    const struct mt_device_limit *f = ctx;
    f->inner.ops->caps(f->inner.ctx, caps);
}

static enum mt_status limit_mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total,
                                     struct mt_error *err)
{
    const struct mt_device_limit *f = ctx;
    MT_TRY(f->inner.ops->mem_info(f->inner.ctx, free_bytes, total, err));
    uint64_t left = f->limit - f->used;
    *free_bytes = *free_bytes < left ? *free_bytes : left;
    return MT_OK;
}

static enum mt_status limit_mem_alloc(void *ctx, uint64_t size, uint64_t *addr,
                                      struct mt_error *err)
{
    struct mt_device_limit *f = ctx;
    if (exceeds(f, size)) {
        return refuse(f, size, err);
    }
    MT_TRY(f->inner.ops->mem_alloc(f->inner.ctx, size, addr, err));
    f->used += size;
    return MT_OK;
}

static enum mt_status limit_mem_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    struct mt_device_limit *f = ctx;
    MT_TRY(f->inner.ops->mem_free(f->inner.ctx, addr, size, err));
    f->used -= size;
    return MT_OK;
}

static enum mt_status limit_va_reserve(void *ctx, uint64_t size, uint64_t *addr,
                                       struct mt_error *err)
{
    const struct mt_device_limit *f = ctx;
    return f->inner.ops->va_reserve(f->inner.ctx, size, addr, err);
}

static enum mt_status limit_va_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    const struct mt_device_limit *f = ctx;
    return f->inner.ops->va_free(f->inner.ctx, addr, size, err);
}

static enum mt_status limit_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                struct mt_error *err)
{
    struct mt_device_limit *f = ctx;
    if (exceeds(f, size)) {
        return refuse(f, size, err);
    }
    MT_TRY(f->inner.ops->map(f->inner.ctx, addr, size, page, err));
    f->used += size;
    return MT_OK;
}

static enum mt_status limit_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                  uint64_t stream, struct mt_error *err)
{
    struct mt_device_limit *f = ctx;
    MT_TRY(f->inner.ops->unmap(f->inner.ctx, addr, size, page, stream, err));
    f->used -= size;
    return MT_OK;
}

static enum mt_status limit_event_record(void *ctx, uint64_t stream, uint64_t *event,
                                         struct mt_error *err)
{
    const struct mt_device_limit *f = ctx;
    return f->inner.ops->event_record(f->inner.ctx, stream, event, err);
}

static enum mt_status limit_event_done(void *ctx, uint64_t event, bool *done, struct mt_error *err)
{
    const struct mt_device_limit *f = ctx;
    return f->inner.ops->event_done(f->inner.ctx, event, done, err);
}

static enum mt_status limit_event_sync(void *ctx, uint64_t event, struct mt_error *err)
{
    const struct mt_device_limit *f = ctx;
    return f->inner.ops->event_sync(f->inner.ctx, event, err);
}

static void limit_event_free(void *ctx, uint64_t event)
{
    const struct mt_device_limit *f = ctx;
    f->inner.ops->event_free(f->inner.ctx, event);
}

static const struct mt_device_ops LIMIT_OPS = {
    .name = "limit",
    .caps = limit_caps,
    .mem_info = limit_mem_info,
    .mem_alloc = limit_mem_alloc,
    .mem_free = limit_mem_free,
    .va_reserve = limit_va_reserve,
    .va_free = limit_va_free,
    .map = limit_map,
    .unmap = limit_unmap,
    .event_record = limit_event_record,
    .event_done = limit_event_done,
    .event_sync = limit_event_sync,
    .event_free = limit_event_free,
};

struct mt_device mt_device_limit_device(struct mt_device_limit *f)
{
    return (struct mt_device){&LIMIT_OPS, f};
}
