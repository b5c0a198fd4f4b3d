/* SPDX-License-Identifier: MIT */
/* Any bytes behind an opening brace, so that the fuzzer stays in the JSON reader. */
#include "fuzz_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || (data[0] != '{' && data[0] != '[')) {
        return 0;
    }
    fuzz_read(data, size);
    return 0;
}
