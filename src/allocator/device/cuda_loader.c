/* SPDX-License-Identifier: MIT */
/*
 * Finds the CUDA driver at run time, so that one build serves machines with any driver and with
 * none. Not linking it is also what lets the tests put a driver of their own in its place.
 */
#include "allocator/device/cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "support/compiler.h"

enum need { OPTIONAL, REQUIRED };

struct entry {
    const char *symbol;
    size_t offset; /* of the function pointer in struct mt_cuda_api */
    enum need need;
};

static const struct entry entries[] = {
#define X(member, symbol, need, arguments) {symbol, offsetof(struct mt_cuda_api, member), need},
#include "allocator/device/cuda_api.def"
#undef X
};

const char *mt_cuda_result_text(int result)
{
    switch (result) {
#define X(name, value, text)                                                                       \
    case value: return text;
        MT_CUDA_RESULT_MAP(X)
#undef X
    default: return "an error of the driver";
    }
}

enum mt_status mt_cuda_api_load(struct mt_cuda_api *api, const char *path, struct mt_error *err)
{
    memset(api, 0, sizeof *api);
    api->library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!api->library) {
        const char *why = dlerror();
        mt_fail(err, MT_DEVICE, MT_NO_OFFSET, "no CUDA driver: %s", why ? why : "unknown error");
        return mt_hint(err, "libcuda.so.1 comes with NVIDIA's driver, not with the CUDA Toolkit");
    }
    for (size_t i = 0; i < MT_COUNT(entries); i++) {
        void *function = dlsym(api->library, entries[i].symbol);
        if (!function && entries[i].need == REQUIRED) {
            return mt_fail(err, MT_DEVICE, MT_NO_OFFSET, "the CUDA driver is too old: it has no %s",
                           entries[i].symbol);
        }
        /* POSIX lets the pointers have one size; a cast between them ISO C does not define */
        memcpy((char *)api + entries[i].offset, &function, sizeof function);
    }
    return MT_OK;
}
