/* SPDX-License-Identifier: MIT */
/*
 * The code of kernels. No call asks for its memory: it goes when a module is loaded, and since CUDA
 * 11.7, which loads lazily, when a kernel is first looked up, asked about or launched. So the free
 * memory is looked at before and after each such first time; what went and was not seen to go by an
 * allocation is counted for the library that called. A launch of a kernel that is known costs one
 * look into a table. Other processes that allocate at that very moment are counted with it.
 *
 * Not in mode cache, where the allocator's own requests would have to be told apart.
 */
#include <stdatomic.h>

#include "live/preload/preload.h"
#include "live/preload/preload_device.h"
#include "live/preload/preload_doors.h"
#include "support/compiler.h"
#include "support/hash.h"

enum { SLOTS = 1 << 15, PROBES = 16 };

/* Functions and kernels that were met; one that finds no slot is never looked at. */
static _Atomic uintptr_t met[SLOTS];

static bool first_time(const void *function)
{
    uintptr_t f = (uintptr_t)function;
    size_t at = (size_t)mt_hash_mix(f, 0);
    for (size_t i = 0; f != 0 && i < PROBES; i++) {
        _Atomic uintptr_t *slot = &met[(at + i) & (SLOTS - 1)];
        uintptr_t there = atomic_load_explicit(slot, memory_order_relaxed);
        if (MT_LIKELY(there == f)) {
            return false;
        }
        if (there == 0) {
            if (atomic_compare_exchange_strong(slot, &there, f)) {
                return true;
            }
            if (there == f) {
                return false;
            }
        }
    }
    return false;
}

/* ---- before and after ---- */

struct before {
    bool known;
    int device;
    uint64_t free_bytes, seen;
};

static struct before look(void)
{
    struct before b = {0};
    uint64_t total;
    if (!mt_preload_on() || mt_preload_own()) {
        return b;
    }
    mt_preload_own_begin();
    b.device = mt_preload_device();
    b.known = mt_preload_seen(b.device, &b.seen) && mt_preload_device_free(&b.free_bytes, &total);
    mt_preload_own_end();
    return b;
}

/* What the process allocated meanwhile, in other threads, is not code. A load takes memory and an
 * unload gives some back: what went the other way was somebody else's. */
static int compare(const struct before *b, bool unload, int result)
{
    uint64_t now = 0, total, seen = 0;
    if (!b->known || result != 0) {
        return result;
    }
    mt_preload_own_begin();
    if (mt_preload_device() == b->device && mt_preload_device_free(&now, &total) &&
        mt_preload_seen(b->device, &seen)) {
        int64_t gone = (int64_t)(b->free_bytes - now) - (int64_t)(seen - b->seen);
        if (unload ? gone < 0 : gone > 0) {
            mt_preload_code(b->device, gone);
        }
    }
    mt_preload_own_end();
    return result;
}

static struct before look_once(const void *function)
{
    return first_time(function) ? look() : (struct before){0};
}

/* A call with its memory looked at before and after, always or once for each function. */
#define MEASURED(call)                                                                             \
    do {                                                                                           \
        const struct before before_ = look();                                                      \
        return compare(&before_, false, call);                                                     \
    } while (0)
#define MEASURED_ONCE(function, call)                                                              \
    do {                                                                                           \
        const struct before before_ = look_once(function);                                         \
        return compare(&before_, false, call);                                                     \
    } while (0)

#define MEASURED_UNLOAD(call)                                                                      \
    do {                                                                                           \
        const struct before before_ = look();                                                      \
        return compare(&before_, true, call);                                                      \
    } while (0)

/* ---- modules ---- */

MT_DOOR int cuModuleLoad(void **module, const char *path)
{
    MT_REAL(CU_MODULE_LOAD, (void **, const char *));
    MEASURED(real(module, path));
}

MT_DOOR int cuModuleLoadData(void **module, const void *image)
{
    MT_REAL(CU_MODULE_DATA, (void **, const void *));
    MEASURED(real(module, image));
}

MT_DOOR int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options,
                               void **values)
{
    MT_REAL(CU_MODULE_DATA_EX, (void **, const void *, unsigned, int *, void **));
    MEASURED(real(module, image, n, options, values));
}

MT_DOOR int cuModuleLoadFatBinary(void **module, const void *image)
{
    MT_REAL(CU_MODULE_FAT, (void **, const void *));
    MEASURED(real(module, image));
}

MT_DOOR int cuModuleGetFunction(void **function, void *module, const char *name)
{
    MT_REAL(CU_MODULE_FUNCTION, (void **, void *, const char *));
    MEASURED(real(function, module, name));
}

MT_DOOR int cuModuleUnload(void *module)
{
    MT_REAL(CU_MODULE_UNLOAD, (void *));
    MEASURED_UNLOAD(real(module));
}

/* ---- libraries ---- */

MT_DOOR int cuLibraryLoadData(void **library, const void *code, int *options, void **values,
                              unsigned n, int *library_options, void **library_values,
                              unsigned n_library)
{
    MT_REAL(CU_LIBRARY_DATA,
            (void **, const void *, int *, void **, unsigned, int *, void **, unsigned));
    MEASURED(real(library, code, options, values, n, library_options, library_values, n_library));
}

MT_DOOR int cuLibraryLoadFromFile(void **library, const char *path, int *options, void **values,
                                  unsigned n, int *library_options, void **library_values,
                                  unsigned n_library)
{
    MT_REAL(CU_LIBRARY_FILE,
            (void **, const char *, int *, void **, unsigned, int *, void **, unsigned));
    MEASURED(real(library, path, options, values, n, library_options, library_values, n_library));
}

MT_DOOR int cuLibraryUnload(void *library)
{
    MT_REAL(CU_LIBRARY_UNLOAD, (void *));
    MEASURED_UNLOAD(real(library));
}

MT_DOOR int cuKernelGetFunction(void **function, void *kernel)
{
    MT_REAL(CU_KERNEL_FUNCTION, (void **, void *));
    MEASURED_ONCE(kernel, real(function, kernel));
}

MT_DOOR int cuFuncLoad(void *function)
{
    MT_REAL(CU_FUNC_LOAD, (void *));
    MEASURED(real(function));
}

/* ---- questions that load ---- */

/* A launch may still load what a question did not: they are told apart. */
static const void *asked(const void *function)
{
    return function ? (const char *)function + 1 : NULL;
}

MT_DOOR int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    MT_REAL(CU_FUNC_GET, (int *, int, void *));
    MEASURED_ONCE(asked(function), real(value, attribute, function));
}

MT_DOOR int cuFuncSetAttribute(void *function, int attribute, int value)
{
    MT_REAL(CU_FUNC_SET, (void *, int, int));
    MEASURED_ONCE(asked(function), real(function, attribute, value));
}

MT_DOOR int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
    MT_REAL(CU_KERNEL_GET, (int *, int, void *, int));
    MEASURED_ONCE(asked(kernel), real(value, attribute, kernel, device));
}

MT_DOOR int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    MT_REAL(CU_KERNEL_SET, (int, int, void *, int));
    MEASURED_ONCE(asked(kernel), real(attribute, value, kernel, device));
}

/* ---- launches ---- */

#define LAUNCH(name, call)                                                                         \
    MT_DOOR int name(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,     \
                     unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)  \
    {                                                                                              \
        MT_REAL(call, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, void *, void **, void **));                                       \
        MEASURED_ONCE(f, real(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra));      \
    }
LAUNCH(cuLaunchKernel, CU_LAUNCH)
LAUNCH(cuLaunchKernel_ptsz, CU_LAUNCH_PTSZ)

#define LAUNCH_EX(name, call)                                                                      \
    MT_DOOR int name(const void *config, void *f, void **parameters, void **extra)                 \
    {                                                                                              \
        MT_REAL(call, (const void *, void *, void **, void **));                                   \
        MEASURED_ONCE(f, real(config, f, parameters, extra));                                      \
    }
LAUNCH_EX(cuLaunchKernelEx, CU_LAUNCH_EX)
LAUNCH_EX(cuLaunchKernelEx_ptsz, CU_LAUNCH_EX_PTSZ)

#define LAUNCH_TOGETHER(name, call)                                                                \
    MT_DOOR int name(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,     \
                     unsigned bz, unsigned shared, void *stream, void **parameters)                \
    {                                                                                              \
        MT_REAL(call, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, void *, void **));                                                \
        MEASURED_ONCE(f, real(f, gx, gy, gz, bx, by, bz, shared, stream, parameters));             \
    }
LAUNCH_TOGETHER(cuLaunchCooperativeKernel, CU_LAUNCH_TOGETHER)
LAUNCH_TOGETHER(cuLaunchCooperativeKernel_ptsz, CU_LAUNCH_TOGETHER_PTSZ)
