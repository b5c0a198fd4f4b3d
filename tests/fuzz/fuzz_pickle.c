/* SPDX-License-Identifier: MIT */
/* Any bytes behind a protocol 4 header, so that the fuzzer stays in the pickle reader. */
#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || data[0] != 0x80) {
        return 0;
    }
    fuzz_read(data, size);
    return 0;
}
