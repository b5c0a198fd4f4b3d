/* SPDX-License-Identifier: MIT */
/*
 * A history: one line of JSON for each run that `check --history` measured, the newest last
 * (schema history/1). The file only grows, so that it can be kept beside the code or as an artefact
 * of CI, and two branches of it can be merged by lines.
 */
#ifndef MEMTOOL_PRINT_HISTORY_H
#define MEMTOOL_PRINT_HISTORY_H

#include "support/arena.h"
#include "support/error.h"
#include "support/str.h"
#include "support/vec.h"

struct mt_history_entry {
    struct mt_str commit; /* "" when not known */
    struct mt_str time;   /* ISO 8601, "" when not known */
    struct mt_str file;
    uint64_t peak, reserved; /* bytes, at their highest points */
    uint64_t device_calls;   /* of the trace: segments taken from the driver and given back */
    double frag;             /* share of reserved that is cut up at the end */
    bool knows_growth;
    int64_t bytes_per_step;
};

struct mt_run_history {
    MT_VEC(struct mt_history_entry) v;
    struct mt_arena text;
};

/* Reads all lines; empty ones are passed over. Errors: MT_FORMAT (a line that is no entry, with its
 * number), MT_NOMEM. Release it also after a failure. */
enum mt_status mt_history_read(struct mt_run_history *h, struct mt_str lines, struct mt_error *err)
    MT_NODISCARD;
void mt_history_release(struct mt_run_history *h);

/* Appends the entry as a line, with a newline behind it. */
void mt_history_line(struct mt_buf *b, const struct mt_history_entry *e);

enum mt_history_against { MT_AGAINST_BEST, MT_AGAINST_MEDIAN, MT_AGAINST_COMMIT };

/* What a run is held against, and how much more it may need. */
struct mt_history_rule {
    enum mt_history_against against;
    const char *commit; /* COMMIT: the newest entry whose commit begins with it */
    uint64_t last;      /* MEDIAN: of so many last entries, 0: of all */
    double percent;     /* more than the base is allowed, or `bytes`, whichever is more */
    uint64_t bytes;
};

/* The peak to compare with among the first `n` entries; of an even number of entries the median is
 * the mean of the two in the middle. False when there is none. O(n log n); false too when out of
 * memory. */
bool mt_history_base(const struct mt_run_history *h, size_t n, const struct mt_history_rule *rule,
                     uint64_t *peak) MT_NODISCARD;

/* The highest peak that the rule allows over `base`. */
uint64_t mt_history_limit(const struct mt_history_rule *rule, uint64_t base);

/* The first of the entries that are above `limit` from there to the last one: where the growth that
 * is still there came in. SIZE_MAX when the last entry is within it. O(n). */
size_t mt_history_first_bad(const struct mt_run_history *h, uint64_t limit);

#endif
