/* SPDX-License-Identifier: MIT */
/* What would make a large cache smaller, by replaying the same requests. */
#ifndef MEMTOOL_VERBS_FRAG_FRAG_CURES_H
#define MEMTOOL_VERBS_FRAG_FRAG_CURES_H

#include "heap/walk/replay.h"
#include "support/error.h"
#include "verbs/frag/pattern.h"

enum { MT_CURES = 10 };

struct mt_cure {
    char conf[96];     /* settings; "" with `one_size` */
    bool one_size;     /* each line of the pattern always asks for its largest size */
    uint64_t reserved; /* at the peak, bytes */
    bool fits;         /* nothing was refused */
};

struct mt_cures {
    bool tried;                 /* the recording replays exactly, else all is empty */
    uint64_t reserved;          /* at the peak, as recorded */
    struct mt_cure v[MT_CURES]; /* least reserved first */
    size_t n;
};

/* Traces of more than 500,000 events are left out. Errors: MT_NOMEM. */
enum mt_status mt_cures_find(struct mt_cures *out, const struct mt_replay *r,
                             const struct mt_pattern *pattern, struct mt_error *err) MT_NODISCARD;

#endif
