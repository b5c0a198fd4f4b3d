/* SPDX-License-Identifier: MIT */
/*
 * What nvidia-smi prints, in any of its shapes: the table, -q, -q -x (XML), and the CSV of
 * --query-gpu and --query-compute-apps with their head line. Of all of it only memory: how much of
 * each card is in use, and by which processes.
 */
#ifndef MEMTOOL_HEAP_SUMS_SMI_H
#define MEMTOOL_HEAP_SUMS_SMI_H

#include "support/error.h"
#include "support/str.h"
#include "support/vec.h"

struct mt_smi_gpu {
    int64_t index; /* nvidia-smi's, which CUDA_VISIBLE_DEVICES may have renumbered */
    bool used_known, total_known;
    uint64_t used, total; /* bytes */
};

struct mt_smi_process {
    int64_t index; /* of its card; -1: not said */
    int64_t pid;
    struct mt_str name; /* borrowed from the text */
    uint64_t bytes;
};

/* Empty when zeroed. */
struct mt_smi {
    MT_VEC(struct mt_smi_gpu) gpus;
    MT_VEC(struct mt_smi_process) processes; /* those whose memory is printed */
};

/* At most so many cards and processes are kept. */
enum { MT_SMI_GPUS = 256, MT_SMI_PROCESSES = 4096 };

/* Reads; `text` must outlive *out. Errors: MT_FORMAT (no figure of memory in it), MT_NOMEM. Release
 * it also after a failure. */
enum mt_status mt_smi_read(struct mt_smi *out, struct mt_str text, struct mt_error *err)
    MT_NODISCARD;
void mt_smi_release(struct mt_smi *s);

/* The card of this index, or the only one there is; NULL otherwise. */
const struct mt_smi_gpu *mt_smi_gpu_find(const struct mt_smi *s, int32_t device);

#endif
