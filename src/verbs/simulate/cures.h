/* SPDX-License-Identifier: MIT */
/*
 * The usual cures for too little memory, each proven by a replay of the program as it would be
 * then: other settings, logits in pieces, a smaller evaluation batch, calls that are computed again
 * in the backward pass.
 */
#ifndef MEMTOOL_VERBS_SIMULATE_CURES_H
#define MEMTOOL_VERBS_SIMULATE_CURES_H

#include "support/str.h"
#include "verbs/simulate/simulate.h"

enum mt_sim_cure_kind { /* the cheapest first */
                        MT_SIM_CURE_SETTINGS,
                        MT_SIM_CURE_LOGITS,     /* the largest requests of the loss in eighths */
                        MT_SIM_CURE_EVALUATION, /* what evaluation asks for, halved */
                        MT_SIM_CURE_RECOMPUTE,
                        MT_SIM_CURE_KINDS
};

struct mt_sim_cure {
    enum mt_sim_cure_kind kind;
    char conf[200];    /* settings, beside the change where there is one; "": as recorded */
    uint32_t frame;    /* frame id whose calls are changed; 0: of SETTINGS and LOGITS */
    uint64_t calls;    /* RECOMPUTE */
    uint64_t size;     /* LOGITS: of the largest request, bytes */
    uint64_t reserved; /* bytes, the peak with the cure; without bounds where it does not fit */
    uint64_t device_calls;
    enum mt_sim_verdict verdict;
};

struct mt_sim_cures {
    uint64_t reserved; /* bytes, the peak without any; without bounds where that does not fit */
    enum mt_sim_verdict verdict;
    MT_VEC(struct mt_sim_cure)
    list; /* that fit or reserve less: those that fit, the cheapest first, then those of which
             nothing is refused; then the others, the least reserved first */
};

struct mt_sim_patient {
    const struct mt_snapshot *snapshot;
    int32_t device;
    struct mt_sim_options options;
    const uint64_t *sizes;    /* of its allocations; NULL: as recorded */
    uint64_t limit, capacity; /* bytes; both 0: what the recording proves */
    const char *beside;       /* NULL: settings are searched, and the best also tried beside changes
                                 where none is enough; else these are, "" for none, and no search */
};

/* Loads and replays the recording once for each cure that is tried, about ten times. Errors:
 * MT_NOMEM, MT_DEVICE, MT_LIMIT; release it all the same. */
enum mt_status mt_sim_find_cures(const struct mt_sim_patient *p, struct mt_sim_cures *out,
                                 struct mt_error *err) MT_NODISCARD;
void mt_sim_cures_release(struct mt_sim_cures *c);

/* "settings", "logits_in_pieces", "evaluation_batch", "recompute". */
const char *mt_sim_cure_id(enum mt_sim_cure_kind kind);

/* What to do, "checkpoint the 18 calls at model.py:33 forward", safe for a terminal. */
void mt_sim_cure_words(struct mt_buf *b, const struct mt_snapshot *s,
                       const struct mt_sim_cure *cure);

#endif
