/* SPDX-License-Identifier: MIT */
/*
 * What grew between two snapshots: their memory side by side, by call stack or by a name. Stacks
 * are matched by content, first exactly, then without line numbers, so that an edit between the two
 * runs does not turn every line below it into "gone" and "new".
 */
#ifndef MEMTOOL_VERBS_COMPARE_DIFF_H
#define MEMTOOL_VERBS_COMPARE_DIFF_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"
#include "verbs/compare/sides.h"

enum mt_diff_status { MT_DIFF_SAME, MT_DIFF_CHANGED, MT_DIFF_NEW, MT_DIFF_GONE };
/* "same", "changed", "new", "gone" */
const char *mt_diff_status_word(enum mt_diff_status s);

/* How the two sides of a row were found to be one. */
enum mt_diff_match {
    MT_DIFF_EXACT,
    MT_DIFF_MOVED,     /* without line numbers, to the nearest lines */
    MT_DIFF_GENERATED, /* the same in files that torch.compile wrote, whatever they are called */
    MT_DIFF_REROUTED   /* by the program's own frames and the innermost function: libraries called
                        each other otherwise */
};

struct mt_diff_row {
    struct mt_str name;     /* of the items; .p NULL: stacks */
    uint64_t before, after; /* bytes of the items */
    uint64_t before_count, after_count;
    uint32_t before_stack, after_stack; /* ids in their snapshots; 0 where it has none */
    enum mt_diff_status status;
    enum mt_diff_match match;
};

struct mt_diff {
    MT_VEC(struct mt_diff_row)
    rows;                   /* largest change first; equal ones by size, then as in the
                               files */
    uint64_t before, after; /* sums of the rows */
    uint64_t before_count, after_count;
    size_t by_status[4]; /* rows of each status */
};

/* after - before, for rows and sums. */
static inline int64_t mt_diff_delta(uint64_t before, uint64_t after)
{
    return (int64_t)(after - before);
}

/* Matches the items of both. Names stay those of the sides. O(n log n) in items. Errors: MT_NOMEM.
 * Release it also after a failure. */
enum mt_status mt_diff_find(struct mt_diff *d, const struct mt_compare_side *before,
                            const struct mt_compare_side *after, struct mt_error *err) MT_NODISCARD;
void mt_diff_release(struct mt_diff *d);

/* Segments of one snapshot that the other does not have: the meaning of `compare` in PyTorch's
 * viewer. A segment is known by device, address and size. */
struct mt_segment_diff {
    MT_VEC(uint32_t) only_before; /* indexes, in the order of the file */
    MT_VEC(uint32_t) only_after;
};
enum mt_status mt_segment_diff_find(struct mt_segment_diff *d, const struct mt_snapshot *before,
                                    const struct mt_snapshot *after, struct mt_error *err)
    MT_NODISCARD;
void mt_segment_diff_release(struct mt_segment_diff *d);

#endif
