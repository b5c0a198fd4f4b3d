/* SPDX-License-Identifier: MIT */
/* NVML knows what is free while the process has no context yet, which is how the size of the
 * context is had. It is asked once a device, and attaches to none. */
#include <dlfcn.h>
#include <string.h>

#include "live/preload/preload_device.h"

enum { NO_ATTACH = 2 }; /* NVML_INIT_FLAG_NO_ATTACH of nvml.h */

struct nvml_memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};

static bool find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* The driver's total is a little less than NVML's; a slice of a card is much less. */
static bool same_device(uint64_t total, uint64_t nvml_total)
{
    return total <= nvml_total && nvml_total - total < nvml_total / 16;
}

bool mt_preload_nvml_free(const char *bus, uint64_t total, uint64_t *free_bytes)
{
    int (*init)(unsigned) = NULL, (*shut_down)(void) = NULL;
    int (*handle)(const char *, void **) = NULL, (*memory)(void *, struct nvml_memory *) = NULL;
    struct nvml_memory m = {0};
    void *device = NULL, *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library || !find(library, "nvmlInitWithFlags", &init) ||
        !find(library, "nvmlShutdown", &shut_down) ||
        !find(library, "nvmlDeviceGetHandleByPciBusId_v2", &handle) ||
        !find(library, "nvmlDeviceGetMemoryInfo", &memory) || init(NO_ATTACH) != 0) {
        return false; /* an open library stays: others may have its functions */
    }
    bool known =
        handle(bus, &device) == 0 && memory(device, &m) == 0 && same_device(total, m.total);
    *free_bytes = m.free;
    shut_down();
    return known;
}
