/* SPDX-License-Identifier: MIT */
/* Any bytes as a log with tables of memory_summary(), and as what nvidia-smi prints. */
#include <stddef.h>
#include <stdint.h>

#include "heap/sums/smi.h"
#include "verbs/summary/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_str text = {(const char *)data, size};
    struct mt_logged log;
    struct mt_error err;
    (void)!mt_logged_find(&log, text, &err);
    mt_logged_release(&log);
    struct mt_smi smi;
    (void)!mt_smi_read(&smi, text, &err);
    (void)mt_smi_gpu_find(&smi, 1);
    mt_smi_release(&smi);
    return 0;
}
