/* SPDX-License-Identifier: MIT */
/*
 * The watchers of memory that is not a plain range: arrays and textures, which have a handle and no
 * address; 3D memory; memory of the driver's pools. How large an array really is the driver does
 * not say: it counts as its elements, which is less than its tiles take, and more than a
 * block-compressed one takes.
 */
#include <limits.h>

#include "live/preload/preload.h"
#include "live/preload/preload_device.h"
#include "live/preload/preload_doors.h"

/* Arrays without memory of their own: CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING. */
enum { NO_MEMORY = 0x40 | 0x80 };

static int done(int result, uint64_t addr, size_t size, const void *stream, bool by_driver)
{
    const struct mt_preload_request r = {.result = result,
                                         .device = -1,
                                         .addr = addr,
                                         .size = size,
                                         .stream = (uintptr_t)stream,
                                         .by_driver = by_driver};
    mt_preload_allocated(&r);
    mt_preload_leave();
    return result;
}

static size_t or_one(size_t n)
{
    return n > 0 ? n : 1;
}

static size_t halved(size_t n, unsigned level)
{
    return or_one(level < sizeof n * CHAR_BIT ? n >> level : 0);
}

/* Bytes of all levels; an extent of 0 means that the array has no such dimension. */
static size_t array_size(struct mt_cuda_extent e, size_t element, unsigned levels, unsigned flags)
{
    size_t size = 0;
    for (unsigned l = 0; l < levels && l < 32 && !(flags & NO_MEMORY); l++) {
        size += halved(e.width, l) * halved(e.height, l) * halved(e.depth, l) * element;
    }
    return size;
}

static int array_done(int result, void *const *array, size_t size, bool by_driver)
{
    const struct mt_preload_request r = {
        .result = result, .device = -1, .size = size, .by_driver = by_driver};
    if (size > 0) {
        mt_preload_page_created(&r, result == 0 ? (uintptr_t)*array | MT_PRELOAD_ARRAYS
                                                : MT_PRELOAD_ARRAYS);
    }
    mt_preload_leave();
    return result;
}

static int destroy(int (*real)(void *), void *array)
{
    if (array && mt_preload_enter()) {
        mt_preload_page_released((uintptr_t)array | MT_PRELOAD_ARRAYS);
        int result = real(array);
        mt_preload_leave();
        return result;
    }
    return real(array);
}

/* ---- the runtime ---- */

static size_t format_bytes(const struct mt_cuda_format *f)
{
    return f ? (size_t)(f->x + f->y + f->z + f->w) / CHAR_BIT : 0;
}

MT_DOOR int cudaMalloc3D(struct mt_cuda_pitched *out, struct mt_cuda_extent extent)
{
    MT_REAL(RT_MALLOC_3D, (struct mt_cuda_pitched *, struct mt_cuda_extent));
    if (!mt_preload_enter()) {
        return real(out, extent);
    }
    MT_RESULT(false, real(out, extent))
    size_t row = result == 0 ? out->pitch : extent.width;
    return done(result, result == 0 ? (uintptr_t)out->ptr : 0, row * extent.height * extent.depth,
                NULL, false);
}

MT_DOOR int cudaMallocArray(void **array, const struct mt_cuda_format *format, size_t width,
                            size_t height, unsigned flags)
{
    MT_REAL(RT_MALLOC_ARRAY, (void **, const struct mt_cuda_format *, size_t, size_t, unsigned));
    if (!mt_preload_enter()) {
        return real(array, format, width, height, flags);
    }
    const struct mt_cuda_extent extent = {width, height, 0};
    MT_RESULT(false, real(array, format, width, height, flags))
    return array_done(result, array, array_size(extent, format_bytes(format), 1, flags), false);
}

MT_DOOR int cudaMalloc3DArray(void **array, const struct mt_cuda_format *format,
                              struct mt_cuda_extent extent, unsigned flags)
{
    MT_REAL(RT_MALLOC_3D_ARRAY,
            (void **, const struct mt_cuda_format *, struct mt_cuda_extent, unsigned));
    if (!mt_preload_enter()) {
        return real(array, format, extent, flags);
    }
    MT_RESULT(false, real(array, format, extent, flags))
    return array_done(result, array, array_size(extent, format_bytes(format), 1, flags), false);
}

MT_DOOR int cudaFreeArray(void *array)
{
    MT_REAL(RT_FREE_ARRAY, (void *));
    return destroy(real, array);
}

MT_DOOR int cudaMallocMipmappedArray(void **array, const struct mt_cuda_format *format,
                                     struct mt_cuda_extent extent, unsigned levels, unsigned flags)
{
    MT_REAL(RT_MALLOC_MIPMAP,
            (void **, const struct mt_cuda_format *, struct mt_cuda_extent, unsigned, unsigned));
    if (!mt_preload_enter()) {
        return real(array, format, extent, levels, flags);
    }
    MT_RESULT(false, real(array, format, extent, levels, flags))
    return array_done(result, array, array_size(extent, format_bytes(format), levels, flags),
                      false);
}

MT_DOOR int cudaFreeMipmappedArray(void *array)
{
    MT_REAL(RT_FREE_MIPMAP, (void *));
    return destroy(real, array);
}

static int from_pool(int (*real)(void **, size_t, void *, void *), void **ptr, size_t size,
                     void *pool, void *stream)
{
    if (!mt_preload_enter()) {
        return real(ptr, size, pool, stream);
    }
    MT_RESULT(false, real(ptr, size, pool, stream))
    return done(result, result == 0 ? (uintptr_t)*ptr : 0, size, stream, false);
}

MT_DOOR int cudaMallocFromPoolAsync(void **ptr, size_t size, void *pool, void *stream)
{
    MT_REAL(RT_FROM_POOL, (void **, size_t, void *, void *));
    return from_pool(real, ptr, size, pool, stream);
}

MT_DOOR int cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, void *pool, void *stream)
{
    MT_REAL(RT_FROM_POOL_PTSZ, (void **, size_t, void *, void *));
    return from_pool(real, ptr, size, pool, stream);
}

/* ---- the driver ---- */

/* Bytes of one channel, by CUarray_format of cuda.h 13.0; formats of video count as one. */
static size_t channel_bytes(int format)
{
    switch (format) {
    case 0x02: /* 16-bit integers, signed and unsigned, and halves */
    case 0x09:
    case 0x10: return 2;
    case 0x03: /* 32-bit integers, signed and unsigned, and floats */
    case 0x0a:
    case 0x20: return 4;
    default: return 1;
    }
}

MT_DOOR int cuArrayCreate_v2(void **array, const struct mt_cuda_array *wanted)
{
    MT_REAL(CU_ARRAY, (void **, const struct mt_cuda_array *));
    mt_preload_look();
    if (!wanted || !mt_preload_enter()) {
        return real(array, wanted);
    }
    const struct mt_cuda_extent extent = {wanted->width, wanted->height, 0};
    size_t element = channel_bytes(wanted->format) * wanted->channels;
    MT_RESULT(true, real(array, wanted))
    return array_done(result, array, array_size(extent, element, 1, 0), true);
}

static size_t size_3d(const struct mt_cuda_array_3d *a, unsigned levels)
{
    const struct mt_cuda_extent extent = {a->width, a->height, a->depth};
    return array_size(extent, channel_bytes(a->format) * a->channels, levels, a->flags);
}

MT_DOOR int cuArray3DCreate_v2(void **array, const struct mt_cuda_array_3d *wanted)
{
    MT_REAL(CU_ARRAY_3D, (void **, const struct mt_cuda_array_3d *));
    mt_preload_look();
    if (!wanted || !mt_preload_enter()) {
        return real(array, wanted);
    }
    MT_RESULT(true, real(array, wanted))
    return array_done(result, array, size_3d(wanted, 1), true);
}

MT_DOOR int cuArrayDestroy(void *array)
{
    MT_REAL(CU_ARRAY_DESTROY, (void *));
    return destroy(real, array);
}

MT_DOOR int cuMipmappedArrayCreate(void **array, const struct mt_cuda_array_3d *wanted,
                                   unsigned levels)
{
    MT_REAL(CU_MIPMAP, (void **, const struct mt_cuda_array_3d *, unsigned));
    mt_preload_look();
    if (!wanted || !mt_preload_enter()) {
        return real(array, wanted, levels);
    }
    MT_RESULT(true, real(array, wanted, levels))
    return array_done(result, array, size_3d(wanted, levels), true);
}

MT_DOOR int cuMipmappedArrayDestroy(void *array)
{
    MT_REAL(CU_MIPMAP_DESTROY, (void *));
    return destroy(real, array);
}

static int cu_from_pool(int (*real)(uint64_t *, size_t, void *, void *), uint64_t *addr,
                        size_t size, void *pool, void *stream)
{
    mt_preload_look();
    if (!mt_preload_enter()) {
        return real(addr, size, pool, stream);
    }
    MT_RESULT(true, real(addr, size, pool, stream))
    return done(result, result == 0 ? *addr : 0, size, stream, true);
}

MT_DOOR int cuMemAllocFromPoolAsync(uint64_t *addr, size_t size, void *pool, void *stream)
{
    MT_REAL(CU_FROM_POOL, (uint64_t *, size_t, void *, void *));
    return cu_from_pool(real, addr, size, pool, stream);
}

MT_DOOR int cuMemAllocFromPoolAsync_ptsz(uint64_t *addr, size_t size, void *pool, void *stream)
{
    MT_REAL(CU_FROM_POOL_PTSZ, (uint64_t *, size_t, void *, void *));
    return cu_from_pool(real, addr, size, pool, stream);
}

/* The beginning of CUmemPoolProps. */
struct pool_prop {
    int type, handle_types;
    int location_type; /* 1: a device */
    int device;
};

MT_DOOR int cuMemPoolCreate(void **pool, const void *prop)
{
    const struct pool_prop *p = prop;
    MT_REAL(CU_POOL_CREATE, (void **, const void *));
    int result = real(pool, prop);
    if (result == 0 && p && p->location_type == 1 && mt_preload_on() && !mt_preload_own()) {
        mt_preload_pool_created(*pool, p->device);
    }
    return result;
}

MT_DOOR int cuMemPoolDestroy(void *pool)
{
    MT_REAL(CU_POOL_DESTROY, (void *));
    mt_preload_pool_destroyed(pool);
    return real(pool);
}
