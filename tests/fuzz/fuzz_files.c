/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as any file that a verb reads: memory_stats(), tables, files of profilers and of RMM,
 * results, histories, config.json, rules, logs. Each verb is called as a user calls it. The last
 * byte chooses the lines of a fuzzer's run; a replay does all.
 */
#include "verbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    verbs_call_file(data, size, data[size - 1]);
#else
    for (unsigned part = 0; part < VERBS_PARTS; part++) {
        verbs_call_file(data, size, part);
    }
#endif
    return 0;
}
