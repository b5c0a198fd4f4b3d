/* SPDX-License-Identifier: MIT */
/* The conformance suite of devices over every GPU that the process sees. */
#include <stdio.h>

#include "allocator/device/device_cuda.h"

#include "device/device_conformance.h"

static void say(const char *text)
{
    printf("  %s\n", text);
}

int main(void)
{
    struct mt_cuda *cuda;
    struct mt_error err;
    int failures = 0;
    if (mt_cuda_open(NULL, &cuda, &err) != MT_OK) {
        printf("%s\n", err.text);
        return 2;
    }
    for (int i = 0; i < mt_cuda_device_count(cuda); i++) {
        struct mt_device_cuda *d;
        int checks = 0;
        if (mt_device_cuda_new(cuda, i, &d, &err) != MT_OK) {
            printf("%s\n", err.text);
            return 2;
        }
        int failed = device_conformance(mt_device_cuda_device(d), say, &checks);
        printf("device %d: %d checks, %d failed\n", i, checks, failed);
        failures += failed;
        mt_device_cuda_free(d);
    }
    mt_cuda_close(cuda);
    return failures > 0;
}
