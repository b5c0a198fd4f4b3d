/* SPDX-License-Identifier: MIT */
/* Which PyTorch wrote a snapshot: the file does not say, its keys do. */
#ifndef MEMTOOL_SNAPSHOT_MODEL_ERA_H
#define MEMTOOL_SNAPSHOT_MODEL_ERA_H

#include "snapshot/model/model.h"

struct mt_era {
    const char *from;  /* oldest release that can have written it: "2.8" */
    const char *until; /* newest, or NULL when the newest known may have */
    const char *why;   /* the key that decides, for people: "compile_context in the trace" */
    const char *lacks; /* an older key that each release with that one writes, and the file has not:
                          another program wrote it or left something out; NULL: none */
    bool xpu;          /* in the form that torch.xpu writes */
};

/* O(event shapes + segments). */
struct mt_era mt_era_find(const struct mt_snapshot *s);

#endif
