/* SPDX-License-Identifier: MIT */
/* A libnvidia-ml.so.1 that says what the fake driver has free, also where there is no context. Its
 * cards have 200 MiB more than the driver tells of, as real ones. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_API __attribute__((visibility("default")))

struct memory {
    unsigned long long total, free, used;
};

FAKE_API int nvmlInitWithFlags(unsigned flags);
FAKE_API int nvmlShutdown(void);
FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
FAKE_API int nvmlDeviceGetMemoryInfo(void *device, struct memory *out);

FAKE_API int nvmlInit_v2(void);
FAKE_API int nvmlDeviceGetCount_v2(unsigned *n);
FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
FAKE_API int nvmlDeviceGetName(void *device, char *name, unsigned room);
FAKE_API int nvmlDeviceGetUUID(void *device, char *uuid, unsigned room);

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute_instance;
};
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n,
                                                     struct process *out);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(uintptr_t)(index + 1);
    return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned room)
{
    (void)device;
    snprintf(name, room, "Fake card");
    return 0;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned room)
{
    snprintf(uuid, room, "GPU-%u", (unsigned)(uintptr_t)device - 1);
    return 0;
}

/* Those of FAKE_NVML_PIDS, 512 MiB each. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *out)
{
    const char *rest = getenv("FAKE_NVML_PIDS");
    unsigned room = *n;
    (void)device;
    *n = 0;
    while (rest && *rest && *n < room) {
        char *end;
        out[*n] = (struct process){.pid = (unsigned)strtoul(rest, &end, 10), .used = 512ull << 20};
        *n += end > rest;
        rest = *end ? end + 1 : end;
    }
    return 0;
}

int nvmlInitWithFlags(unsigned flags)
{
    return flags == 2 ? 0 : 2;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    if (strlen(bus) != strlen("0000:00:00.0")) {
        return 2;
    }
    *device = (void *)(uintptr_t)(1 + strtoul(bus + 5, NULL, 16));
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *out)
{
    uint64_t (*used)(int);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *address = driver ? dlsym(driver, "fake_cuda_used") : NULL;
    if (!address && getenv("FAKE_NVML_PIDS")) { /* memtool top, which starts no driver */
        *out = (struct memory){16ull << 30, 15ull << 30, 1ull << 30};
        return 0;
    }
    if (!address) {
        return 9;
    }
    memcpy(&used, &address, sizeof address);
    out->total = (16ull << 30) + (200ull << 20);
    out->used = used((int)(uintptr_t)device - 1) + (200ull << 20);
    out->free = out->total - out->used;
    return 0;
}
