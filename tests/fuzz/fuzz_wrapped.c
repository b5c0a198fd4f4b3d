/* SPDX-License-Identifier: MIT */
/* Any bytes as they are: wrappers, detection, and what lies inside. */
#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read(data, size);
    return 0;
}
