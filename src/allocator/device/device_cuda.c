/* SPDX-License-Identifier: MIT */
/*
 * The CUDA driver as a struct mt_device. Segments are cuMemAlloc; expandable segments are the
 * driver's virtual memory: addresses are reserved, and each page is created, mapped, and its handle
 * let go at once, so that unmapping it is what gives the memory back and no table of handles is
 * kept. Events are recycled, because creating one costs more than recording it.
 *
 * At the end of a process the driver may be gone before the last free: "deinitialised" is then as
 * good as done, for the memory is gone too.
 */
#include "allocator/device/device_cuda.h"
#include "allocator/device/cuda_driver.h"
#include "support/compiler.h"
#include "support/mem.h"
#include "support/units.h"
#include "support/vec.h"

struct mt_cuda {
    struct mt_cuda_api api;
    int n_devices;
};

struct mt_device_cuda {
    const struct mt_cuda_api *api;
    void *ctx;
    int device;
    int ordinal;
    struct mt_device_caps caps;
    MT_VEC(void *) events; /* recycled */
};

/* What a call must undo: the pushed context and the exchanged capture mode. */
struct scope {
    bool pushed;
    int mode;
};

static void *stream_pointer(uint64_t stream)
{
    return (void *)(uintptr_t)stream;
}

static enum mt_status failed(const struct mt_device_cuda *d, int result, const char *call,
                             struct mt_error *err)
{
    if (result == MT_CUDA_SUCCESS) {
        return MT_OK;
    }
    enum mt_status code = result == MT_CUDA_OUT_OF_MEMORY ? MT_DEVICE_OOM : MT_DEVICE;
    return mt_fail(err, code, MT_NO_OFFSET, "device %d: %s gave CUDA error %d, %s", d->ordinal,
                   call, result, mt_cuda_result_text(result));
}

/* The same for calls that give something back: a driver that is gone has it back already. */
static enum mt_status failed_unless_gone(const struct mt_device_cuda *d, int result,
                                         const char *call, struct mt_error *err)
{
    return result == MT_CUDA_DEINITIALIZED ? MT_OK : failed(d, result, call, err);
}

static void enter(const struct mt_device_cuda *d, struct scope *s)
{
    void *current = NULL;
    *s = (struct scope){.pushed = false, .mode = MT_CUDA_CAPTURE_MODE_RELAXED};
    if (d->api->ctx_get_current(&current) != MT_CUDA_SUCCESS || current != d->ctx) {
        s->pushed = d->api->ctx_push_current(d->ctx) == MT_CUDA_SUCCESS;
    }
    if (d->api->thread_capture_mode && d->api->thread_capture_mode(&s->mode) != MT_CUDA_SUCCESS) {
        s->mode = MT_CUDA_CAPTURE_MODE_RELAXED;
    }
}

static void leave(const struct mt_device_cuda *d, struct scope *s)
{
    if (d->api->thread_capture_mode && s->mode != MT_CUDA_CAPTURE_MODE_RELAXED) {
        (void)d->api->thread_capture_mode(&s->mode);
    }
    if (s->pushed) {
        void *ignored;
        (void)d->api->ctx_pop_current(&ignored);
    }
}

static void caps(void *ctx, struct mt_device_caps *out)
{
    *out = ((struct mt_device_cuda *)ctx)->caps;
}

static enum mt_status mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total,
                               struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    size_t bytes_free = 0, bytes_total = 0;
    enter(d, &s);
    int result = d->api->mem_get_info(&bytes_free, &bytes_total);
    leave(d, &s);
    *free_bytes = bytes_free;
    *total = bytes_total;
    return failed(d, result, "cuMemGetInfo", err);
}

static enum mt_status mem_alloc(void *ctx, uint64_t size, uint64_t *addr, struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    enter(d, &s);
    int result = d->api->mem_alloc(addr, size);
    leave(d, &s);
    return failed(d, result, "cuMemAlloc", err);
}

static enum mt_status mem_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    (void)size;
    enter(d, &s);
    int result = d->api->mem_free(addr);
    leave(d, &s);
    return failed_unless_gone(d, result, "cuMemFree", err);
}

/* ---- expandable segments ---- */

static enum mt_status va_reserve(void *ctx, uint64_t size, uint64_t *addr, struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    enter(d, &s);
    int result = d->api->mem_address_reserve(addr, size, 0, 0, 0);
    leave(d, &s);
    return failed(d, result, "cuMemAddressReserve", err);
}

static enum mt_status va_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    enter(d, &s);
    int result = d->api->mem_address_free(addr, size);
    leave(d, &s);
    return failed_unless_gone(d, result, "cuMemAddressFree", err);
}

static struct mt_cuda_memory_prop memory_prop(const struct mt_device_cuda *d)
{
    return (struct mt_cuda_memory_prop){.type = MT_CUDA_MEMORY_PINNED,
                                        .location = {MT_CUDA_LOCATION_DEVICE, d->device}};
}

static int map_page(const struct mt_device_cuda *d, uint64_t addr, uint64_t page, const char **call)
{
    const struct mt_cuda_memory_prop prop = memory_prop(d);
    uint64_t handle;
    *call = "cuMemCreate";
    int result = d->api->mem_create(&handle, page, &prop, 0);
    if (result != MT_CUDA_SUCCESS) {
        return result;
    }
    *call = "cuMemMap";
    result = d->api->mem_map(addr, page, 0, handle, 0);
    /* the mapping alone holds the memory from here on */
    int released = d->api->mem_release(handle);
    if (result == MT_CUDA_SUCCESS && released != MT_CUDA_SUCCESS) {
        *call = "cuMemRelease";
        (void)d->api->mem_unmap(addr, page);
        return released;
    }
    return result;
}

/* Up to the first failure; *done bytes were unmapped. */
static int unmap_pages(const struct mt_device_cuda *d, uint64_t addr, uint64_t size, uint64_t page,
                       uint64_t *done)
{
    int result = MT_CUDA_SUCCESS;
    for (*done = 0; *done < size; *done += page) {
        result = d->api->mem_unmap(addr + *done, page);
        if (result != MT_CUDA_SUCCESS) {
            break;
        }
    }
    return result;
}

/* All of the range or none of it. */
static int map_range(const struct mt_device_cuda *d, uint64_t addr, uint64_t size, uint64_t page,
                     const char **call)
{
    int result = MT_CUDA_SUCCESS;
    uint64_t mapped = 0, ignored;
    while (mapped < size && result == MT_CUDA_SUCCESS) {
        result = map_page(d, addr + mapped, page, call);
        mapped += result == MT_CUDA_SUCCESS ? page : 0;
    }
    if (result == MT_CUDA_SUCCESS) {
        const struct mt_cuda_access access = {{MT_CUDA_LOCATION_DEVICE, d->device},
                                              MT_CUDA_ACCESS_READ_WRITE};
        *call = "cuMemSetAccess";
        result = d->api->mem_set_access(addr, size, &access, 1);
    }
    if (result != MT_CUDA_SUCCESS) {
        (void)unmap_pages(d, addr, mapped, page, &ignored);
    }
    return result;
}

static enum mt_status map(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                          struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    const char *call;
    enter(d, &s);
    int result = map_range(d, addr, size, page, &call);
    leave(d, &s);
    return failed(d, result, call, err);
}

/* When a page does not let go, those before it are put back: the allocator then still owns a whole
 * range. What was in it is lost, but nobody owned that. */
static enum mt_status unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page, uint64_t stream,
                            struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    uint64_t done = 0;
    const char *call = "cuStreamSynchronize", *ignored;
    enter(d, &s);
    int result = d->api->stream_synchronize(stream_pointer(stream));
    if (result != MT_CUDA_SUCCESS) { /* the stream may have been destroyed meanwhile */
        result = d->api->ctx_synchronize();
    }
    if (result == MT_CUDA_SUCCESS) {
        call = "cuMemUnmap";
        result = unmap_pages(d, addr, size, page, &done);
        if (result != MT_CUDA_SUCCESS && result != MT_CUDA_DEINITIALIZED && done > 0) {
            (void)map_range(d, addr, done, page, &ignored);
        }
    }
    leave(d, &s);
    return failed_unless_gone(d, result, call, err);
}

/* ---- events ---- */

static int new_event(struct mt_device_cuda *d, void **event)
{
    if (d->events.n > 0) {
        *event = d->events.v[--d->events.n];
        return MT_CUDA_SUCCESS;
    }
    return d->api->event_create(event, MT_CUDA_EVENT_DISABLE_TIMING);
}

static void event_free(void *ctx, uint64_t event)
{
    struct mt_device_cuda *d = ctx;
    if (!mt_vec_push(&d->events, stream_pointer(event))) {
        struct scope s;
        enter(d, &s);
        (void)d->api->event_destroy(stream_pointer(event));
        leave(d, &s);
    }
}

/* Waits for all work of a stream in which no event of this device can be recorded: the one of
 * another device is waited for by itself; one that has been destroyed may still have work, which
 * nothing but the context can be asked about. */
static int wait_instead(const struct mt_device_cuda *d, void *stream)
{
    void *ctx = NULL, *ignored;
    if (!d->api->stream_get_ctx || d->api->stream_get_ctx(stream, &ctx) != MT_CUDA_SUCCESS ||
        !ctx || ctx == d->ctx || d->api->ctx_push_current(ctx) != MT_CUDA_SUCCESS) {
        return d->api->ctx_synchronize();
    }
    int result = d->api->stream_synchronize(stream);
    (void)d->api->ctx_pop_current(&ignored);
    return result;
}

/* An event that is new or done already counts as done: after a wait it is handed out as it is. */
static int record_in(const struct mt_device_cuda *d, void *event, void *stream)
{
    int result = d->api->event_record(event, stream);
    bool unusable = result == MT_CUDA_INVALID_HANDLE || result == MT_CUDA_CONTEXT_IS_DESTROYED;
    return unusable ? wait_instead(d, stream) : result;
}

static enum mt_status event_record(void *ctx, uint64_t stream, uint64_t *event,
                                   struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    void *made = NULL;
    enter(d, &s);
    const char *call = "cuEventCreate";
    int result = new_event(d, &made);
    if (result == MT_CUDA_SUCCESS) {
        call = "cuEventRecord";
        result = record_in(d, made, stream_pointer(stream));
    }
    leave(d, &s);
    if (result != MT_CUDA_SUCCESS && made) {
        event_free(d, (uintptr_t)made);
    }
    *event = (uintptr_t)made;
    return failed(d, result, call, err);
}

static enum mt_status event_done(void *ctx, uint64_t event, bool *done, struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    enter(d, &s);
    int result = d->api->event_query(stream_pointer(event));
    leave(d, &s);
    *done = result != MT_CUDA_NOT_READY;
    return *done ? failed_unless_gone(d, result, "cuEventQuery", err) : MT_OK;
}

static enum mt_status event_sync(void *ctx, uint64_t event, struct mt_error *err)
{
    struct mt_device_cuda *d = ctx;
    struct scope s;
    enter(d, &s);
    int result = d->api->event_synchronize(stream_pointer(event));
    leave(d, &s);
    return failed_unless_gone(d, result, "cuEventSynchronize", err);
}

/* ---- what only a caller who knows CUDA asks ---- */

int mt_device_cuda_sync(const struct mt_device_cuda *d)
{
    struct scope s;
    enter(d, &s);
    int result = d->api->ctx_synchronize();
    leave(d, &s);
    return result;
}

int mt_device_cuda_sync_stream(const struct mt_device_cuda *d, uint64_t stream)
{
    struct scope s;
    enter(d, &s);
    int result = d->api->stream_synchronize(stream_pointer(stream));
    leave(d, &s);
    return result;
}

enum mt_cuda_current mt_device_cuda_current(const struct mt_device_cuda *d)
{
    void *current = NULL;
    if (d->api->ctx_get_current(&current) != MT_CUDA_SUCCESS || !current) {
        return MT_CUDA_CURRENT_NONE;
    }
    return current == d->ctx ? MT_CUDA_CURRENT_OWN : MT_CUDA_CURRENT_OTHER;
}

bool mt_device_cuda_has_stream(const struct mt_device_cuda *d, uint64_t stream)
{
    struct scope s;
    void *ctx = NULL;
    if (!d->api->stream_get_ctx) {
        return false;
    }
    enter(d, &s);
    int result = d->api->stream_get_ctx(stream_pointer(stream), &ctx);
    leave(d, &s);
    return result == MT_CUDA_SUCCESS && ctx == d->ctx;
}

static const struct mt_device_ops cuda_ops = {
    .name = "cuda",
    .caps = caps,
    .mem_info = mem_info,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .va_reserve = va_reserve,
    .va_free = va_free,
    .map = map,
    .unmap = unmap,
    .event_record = event_record,
    .event_done = event_done,
    .event_sync = event_sync,
    .event_free = event_free,
};

/* ---- opening and closing ---- */

enum mt_status mt_cuda_open(const char *path, struct mt_cuda **out, struct mt_error *err)
{
    struct mt_cuda *c = mt_mem_zalloc(1, sizeof *c);
    if (!c) {
        return mt_fail_nomem(err);
    }
    enum mt_status status = mt_cuda_api_load(&c->api, path, err);
    if (status == MT_OK) {
        int result = c->api.init(0);
        if (result == MT_CUDA_SUCCESS) {
            result = c->api.device_get_count(&c->n_devices);
        }
        if (result != MT_CUDA_SUCCESS) {
            status =
                mt_fail(err, MT_DEVICE, MT_NO_OFFSET, "the CUDA driver does not start: %s (%d)",
                        mt_cuda_result_text(result), result);
        }
    }
    if (status != MT_OK) {
        mt_cuda_close(c);
        return status;
    }
    *out = c;
    return MT_OK;
}

void mt_cuda_close(struct mt_cuda *c)
{
    mt_mem_free(c);
}

int mt_cuda_device_count(const struct mt_cuda *c)
{
    return c->n_devices;
}

bool mt_cuda_capturing(const struct mt_cuda *c, uint64_t stream, uint64_t *id)
{
    int status = 0;
    if (stream == 0 || !c->api.stream_capture_info) {
        return false;
    }
    return c->api.stream_capture_info(stream_pointer(stream), &status, id, NULL, NULL, NULL) ==
               MT_CUDA_SUCCESS &&
           status == MT_CUDA_CAPTURE_ACTIVE;
}

bool mt_cuda_hold(const struct mt_cuda *c, int ordinal)
{
    int device;
    void *ctx;
    return ordinal >= 0 && ordinal < c->n_devices &&
           c->api.device_get(&device, ordinal) == MT_CUDA_SUCCESS &&
           c->api.primary_ctx_retain(&ctx, device) == MT_CUDA_SUCCESS;
}

void mt_cuda_let_go(const struct mt_cuda *c, int ordinal)
{
    int device;
    if (c->api.device_get(&device, ordinal) == MT_CUDA_SUCCESS) {
        (void)c->api.primary_ctx_release(device);
    }
}

static bool has_vmm(const struct mt_device_cuda *d)
{
    const struct mt_cuda_api *api = d->api;
    int supported = 0;
    if (!api->mem_address_reserve || !api->mem_address_free || !api->mem_create ||
        !api->mem_release || !api->mem_map || !api->mem_unmap || !api->mem_set_access) {
        return false;
    }
    return api->device_get_attribute(&supported, MT_CUDA_ATTRIBUTE_HAS_VMM, d->device) ==
               MT_CUDA_SUCCESS &&
           supported;
}

/* What the device can do. A granularity above 2 MiB, which no GPU so far has, would not fit the
 * pages of the policy: expandable segments are then not offered. */
static int read_caps(struct mt_device_cuda *d)
{
    const struct mt_cuda_memory_prop prop = memory_prop(d);
    size_t total = 0, granularity = 0;
    const size_t page = 2 * MT_MIB;
    int result = d->api->device_total_mem(&total, d->device);
    d->caps = (struct mt_device_caps){.granularity = 512, .total = total, .has_events = true};
    if (has_vmm(d) && d->api->mem_granularity) {
        d->caps.has_vmm = d->api->mem_granularity(&granularity, &prop,
                                                  MT_CUDA_GRANULARITY_MINIMUM) == MT_CUDA_SUCCESS &&
                          granularity > 0 && page % granularity == 0;
    }
    return result;
}

enum mt_status mt_device_cuda_new(struct mt_cuda *c, int ordinal, struct mt_device_cuda **out,
                                  struct mt_error *err)
{
    if (ordinal < 0 || ordinal >= c->n_devices) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "there is no CUDA device %d, only %d device(s)",
                       ordinal, c->n_devices);
    }
    struct mt_device_cuda *d = mt_mem_zalloc(1, sizeof *d);
    if (!d) {
        return mt_fail_nomem(err);
    }
    d->api = &c->api;
    d->ordinal = ordinal;
    const char *call = "cuDeviceGet";
    int result = d->api->device_get(&d->device, ordinal);
    if (result == MT_CUDA_SUCCESS) {
        call = "cuDeviceTotalMem";
        result = read_caps(d);
    }
    if (result == MT_CUDA_SUCCESS) {
        call = "cuDevicePrimaryCtxRetain";
        result = d->api->primary_ctx_retain(&d->ctx, d->device);
    }
    if (result != MT_CUDA_SUCCESS) {
        enum mt_status status = failed(d, result, call, err);
        d->ctx = NULL;
        mt_device_cuda_free(d);
        return status;
    }
    *out = d;
    return MT_OK;
}

void mt_device_cuda_free(struct mt_device_cuda *d)
{
    if (!d) {
        return;
    }
    if (d->ctx) {
        struct scope s;
        enter(d, &s);
        for (size_t i = 0; i < d->events.n; i++) {
            (void)d->api->event_destroy(d->events.v[i]);
        }
        leave(d, &s);
        (void)d->api->primary_ctx_release(d->device);
    }
    mt_vec_release(&d->events);
    mt_mem_free(d);
}

struct mt_device mt_device_cuda_device(struct mt_device_cuda *d)
{
    return (struct mt_device){&cuda_ops, d};
}
