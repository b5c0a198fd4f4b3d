/* SPDX-License-Identifier: MIT */
/* Private to top: cards, processes, what is known of them, and how it is shown. */
#ifndef MEMTOOL_VERBS_TOP_TOP_H
#define MEMTOOL_VERBS_TOP_TOP_H

#include "cli/command.h"
#include "support/vec.h"
#include "verbs/capture/attach/attach_folder.h"

/* ---- cards, from NVML or nvidia-smi ---- */

struct mt_top_card {
    uint32_t index;
    char name[96], uuid[96];
    uint64_t total, used, free; /* total 0: not known */
};

struct mt_top_user { /* a process on a card */
    pid_t pid;
    uint32_t card;
    bool known; /* its bytes are */
    uint64_t used;
};

struct mt_top_cards {
    void *library;
    bool by_smi;
    char why[160]; /* nothing is known of cards; empty: they are */
    MT_VEC(struct mt_top_card) list;
    MT_VEC(struct mt_top_user) users;
};

/* Loads NVML, or asks nvidia-smi; without either `why` says so. */
void mt_top_cards_open(struct mt_top_cards *cards);
void mt_top_cards_read(struct mt_top_cards *cards);
void mt_top_cards_close(struct mt_top_cards *cards);

/* ---- processes, from within ---- */

/* What PyTorch's allocator says of one device at one moment. */
struct mt_top_sample {
    int device; /* as the process counts */
    int64_t time_us;
    uint64_t live, low; /* now, and the least since the sample before */
    uint64_t reserved, requests, calls, misses, retries, ooms, hole;
    uint64_t free, total; /* of the card, as the driver tells that process */
    char uuid[96], name[96];
};
/* Reads a line that the script wrote; false for anything else. */
bool mt_top_sample_parse(const char *line, struct mt_top_sample *out);

enum { MT_TOP_KEPT = 60, MT_TOP_LEAST = 8 }; /* moments by which growth is judged */

/* Of one process and device. */
struct mt_top_row {
    pid_t pid;
    struct mt_top_sample first, last, before; /* `before`: that before the last, for rates */
    bool has_before;
    struct {
        int64_t time_us;
        uint64_t low;
    } kept[MT_TOP_KEPT];
    size_t n_kept; /* ever; the oldest is overwritten */
};
void mt_top_row_put(struct mt_top_row *row, const struct mt_top_sample *s);

/* What a row says. A figure that is not known is not there. */
struct mt_top_figures {
    bool has_rates, has_hits, has_growth, has_full;
    double calls_per_s, hits; /* share of the requests served without the driver */
    double growth;            /* bytes a second */
    double full_in;           /* seconds, as it grows now */
};
void mt_top_figures(const struct mt_top_row *row, struct mt_top_figures *out);

/* Bytes a second by which the least live memory grows, by the median of all slopes; false where it
 * does not clearly rise (Mann and Kendall's test, 1 in 1,000) or there are too few moments. */
bool mt_top_growth(const struct mt_top_row *row, double *out);

struct mt_top_watched {
    pid_t pid;
    struct mt_attach_target target;
    struct mt_attach_folder folder;
    char name[64]; /* of its program */
    char why[480]; /* it cannot be watched; empty: it is */
    bool ended;
};

struct mt_top {
    struct mt_top_cards cards;
    MT_VEC(struct mt_top_watched) watched;
    MT_VEC(struct mt_top_row) rows;
};

/* Begins to watch a process; what hinders it is in its `why`. */
void mt_top_watch(struct mt_top *top, pid_t pid, int64_t interval_us);
/* Reads what they told since. */
void mt_top_read(struct mt_top *top);
void mt_top_release(struct mt_top *top);
/* "python3" of a process, "?" when it is gone. */
void mt_top_name(pid_t pid, char *out, size_t room);

/* ---- shown ---- */

enum mt_status mt_top_print(const struct mt_top *top, const struct mt_report *r,
                            struct mt_error *err) MT_NODISCARD;
enum mt_status mt_top_json(const struct mt_top *top, const struct mt_report *r, bool one_line,
                           struct mt_error *err) MT_NODISCARD;
void mt_top_prometheus(const struct mt_top *top, FILE *out);

/* The card of a row; NULL: it is not known. */
const struct mt_top_card *mt_top_card_of(const struct mt_top *top, const struct mt_top_row *row);
const struct mt_top_watched *mt_top_watched_of(const struct mt_top *top, pid_t pid);

/* The script (src/verbs/top/python/watch.py). */
extern const unsigned char mt_embedded_watch[];
extern const size_t mt_embedded_watch_n;

#endif
