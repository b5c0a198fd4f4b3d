/* SPDX-License-Identifier: MIT */
/* The pattern of requests that makes a cache large: sizes for which a free segment is seldom right.
 */
#ifndef MEMTOOL_VERBS_FRAG_PATTERN_H
#define MEMTOOL_VERBS_FRAG_PATTERN_H

#include "heap/walk/replay.h"
#include "support/error.h"

/* name, id in JSON */
#define MT_PATTERN_MAP(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(DYNAMIC, "dynamic_sizes")          /* sizes that hardly come twice */                        \
    X(ALTERNATING, "alternating_shapes") /* few sizes that take turns */                           \
    X(PYRAMID, "pyramid_features")       /* sizes in fixed ratios, all of which change together */

enum mt_pattern_kind {
#define X(name, id) MT_PATTERN_##name,
    MT_PATTERN_MAP(X)
#undef X
        MT_PATTERN_COUNT
};
const char *mt_pattern_id(enum mt_pattern_kind kind);

enum { MT_PATTERN_LINES = 12, MT_PATTERN_SIZES = 128 };

/* A stack whose large requests change in size, and the first of those sizes. */
struct mt_pattern_line {
    uint32_t stack;
    uint64_t count, changes; /* requests; from one to the next */
    uint64_t least, most;    /* bytes */
    size_t different;        /* among `sizes` */
    uint64_t sizes[MT_PATTERN_SIZES];
    size_t n;
};

struct mt_pattern {
    enum mt_pattern_kind kind;
    struct mt_pattern_line lines[MT_PATTERN_LINES]; /* largest request first */
    size_t n_lines;
    size_t in_step; /* PYRAMID: so many levels; of one line or of the first lines */
    double ratio;   /* PYRAMID: of one level to the next */
};

/* Linear. Errors: MT_NOMEM. */
enum mt_status mt_pattern_find(struct mt_pattern *out, const struct mt_replay *r,
                               struct mt_error *err) MT_NODISCARD;

#endif
