/* SPDX-License-Identifier: MIT */
/* The inside of a fit, shared by its files. */
#ifndef MEMTOOL_FIT_CORE_H
#define MEMTOOL_FIT_CORE_H

#include "verbs/fit/fit.h"

#define NO_CALL UINT32_MAX
#define MOST_RANGE 15       /* hundredths of the peak: a wider range tells nothing */
#define MOST_UNKNOWN 3      /* hundredths of the peak that a call on no law may have */
#define MARGIN_OF_TWO 1.0   /* hundredths: the least range of laws that rest on two recordings */
#define MARGIN_OF_FAR 2.5   /* hundredths: the least range far from the recordings */
#define SEARCH_FACTOR 65536 /* times the base's size, where the search for the largest ends */

/* One allocation of a recording. */
struct call {
    uint64_t key; /* of its stack, the same in every recording */
    uint64_t size;
    uint32_t stack;
};

struct calls {
    MT_VEC(struct call) list;
    uint64_t path; /* hash over the keys */
    uint64_t at;   /* size of the program; 0: not told */
};

struct mt_fit {
    size_t n;                        /* recordings */
    size_t order[MT_FIT_RECORDINGS]; /* their indexes by size, the smallest first */
    struct mt_fit_recording recordings[MT_FIT_RECORDINGS];
    struct calls calls[MT_FIT_RECORDINGS];
    const struct mt_snapshot *snapshots[MT_FIT_RECORDINGS];
    size_t base;
    uint32_t *match[MT_FIT_RECORDINGS]; /* base call -> call, NO_CALL; NULL: the same index */
    struct mt_sim *sim;                 /* of the base */
    uint32_t peak_stack;                /* of the base's replay */
    uint8_t *laws;                      /* enum mt_fit_law of each call of the base */
    uint8_t *mispaired; /* by call: a recording + 1 whose call is another, 0: none */
    uint32_t *like;     /* the call whose law holds for it; mostly itself */
    size_t law_counts[MT_FIT_LAWS];
    enum mt_device_order order_of_addresses; /* in which most recordings come out as they were */
    double off_low, off_high; /* what larger recordings on other paths reserved, of what is
                                 predicted for them; 1: that */
    MT_VEC(struct mt_fit_stack) unknown, growing;
};

/* ---- fit_calls.c ---- */

/* The allocations of one device. */
enum mt_status mt_fit_list_calls(const struct mt_snapshot *s, int32_t device, struct calls *out,
                                 struct mt_error *err) MT_NODISCARD;

/* ---- fit_align.c ---- */

/* match[i]: the call of `other` that call i of `base` is in the longest common sequence of calls of
 * one key whose sizes may follow a law, or NO_CALL. *n: how many are matched; 0 when the lists
 * differ in too much. */
enum mt_status mt_fit_align(const struct calls *base, const struct calls *other, uint32_t *match,
                            size_t *n, struct mt_error *err) MT_NODISCARD;

/* ---- fit_laws.c ---- */

enum mt_status mt_fit_find_laws(struct mt_fit *f, struct mt_error *err) MT_NODISCARD;
/* Where a call without a law may lie. */
enum guess { GUESS_MIDDLE, GUESS_LOW, GUESS_HIGH, GUESSES };
uint64_t mt_fit_size_of(const struct mt_fit *f, size_t call, uint64_t size, enum guess guess);
/* Several recordings that are points of the laws have the call. */
bool mt_fit_is_shared(const struct mt_fit *f, size_t call);
/* Several recordings have the call, and its sizes lie on no law: a library chooses them. */
bool mt_fit_is_chosen(const struct mt_fit *f, size_t call);
/* The sizes of all calls of the base for a size of the program. */
void mt_fit_sizes_at(const struct mt_fit *f, uint64_t size, enum guess guess, uint64_t *sizes);

/* ---- fit_trials.c ---- */

/* The program at a size, under one order of addresses. */
struct trial {
    uint64_t size;
    enum guess guess;
    enum mt_device_order order;
    uint64_t reserved, requested; /* out, bytes, peaks */
    uint32_t stack;               /* out: of the call at which most is in use */
    uint64_t refused;             /* out: bytes of the first request that is; 0: none */
    uint32_t refused_stack;       /* out */
};
enum { TRIALS = 16 }; /* at most, at once */
enum mt_status mt_fit_run_trials(struct mt_fit *f, const struct mt_alloc_settings *settings,
                                 struct trial *list, size_t n, struct mt_error *err) MT_NODISCARD;

/* Fills order_of_addresses, off_low and off_high. */
enum mt_status mt_fit_try(struct mt_fit *f, struct mt_error *err) MT_NODISCARD;

/* ---- fit_stacks.c ---- */

enum mt_status mt_fit_list_stacks(struct mt_fit *f, struct mt_error *err) MT_NODISCARD;

#endif
