/* SPDX-License-Identifier: MIT */
/* The question turned round: what fits on a card. Answers come from the estimate itself, asked
 * again with other options. */
#ifndef MEMTOOL_VERBS_ESTIMATE_TURNED_H
#define MEMTOOL_VERBS_ESTIMATE_TURNED_H

#include "verbs/estimate/cards.h"
#include "verbs/estimate/estimate.h"

/* The largest number that surely fits (by the most that is estimated) and that may (by the least);
 * 0: none does. */
struct mt_largest {
    uint64_t surely, perhaps;
};

enum { MT_CHANGES_MOST = 8 };
struct mt_change {
    const char *what; /* "--recompute full" */
    int64_t saves;    /* of the middle of the total */
    struct mt_range total;
};

struct mt_turned {
    bool counted; /* batch and sequence below were searched for */
    struct mt_largest batch, sequence;
    const struct mt_card *smallest; /* that surely holds it as it is; NULL: none */
    uint64_t cards;     /* fewest that hold it with the work spread, 0: none up to 1024 */
    const char *spread; /* how: "--tp", "--zero 3 --ranks" */
    struct mt_change changes[MT_CHANGES_MOST]; /* that save something, most first */
    size_t n_changes;
};

/* `o` as it was estimated. Without a card (o->card 0) only the smallest card is looked for. Errors:
 * as mt_estimate_find. */
enum mt_status mt_turned_find(struct mt_turned *t, const struct mt_model *m,
                              const struct mt_estimate_options *o, struct mt_error *err)
    MT_NODISCARD;

/* ---- the largest model of a card ---- */

/* Ways to use a card and the bytes that each parameter takes by them. */
struct mt_way {
    const char *what;
    double bytes;
    uint64_t params; /* that nine tenths of the card hold */
};
enum { MT_WAYS = 8 };
void mt_ways_find(struct mt_way ways[MT_WAYS], uint64_t card);

/* ---- serving ---- */

/* What is left of a card for the cache, and the settings that say so. */
struct mt_serving {
    uint64_t left;       /* bytes for the cache, 0: none */
    uint64_t a_sequence; /* bytes of one of o->sequence tokens */
    uint64_t sequences;  /* that fit at their full length */
    uint64_t longest;    /* tokens of one alone, at most the positions of the model */
    double utilization;  /* vLLM: --gpu-memory-utilization; all of it, of the card */
    double fraction;     /* SGLang: --mem-fraction-static; weights and cache, of the card */
};
void mt_serving_find(struct mt_serving *s, const struct mt_model *m,
                     const struct mt_estimate_options *o);

#endif
