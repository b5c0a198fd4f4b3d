/* SPDX-License-Identifier: MIT */
/*
 * The whole account of a card: who takes how much of it. Rows are owners - the caching allocator,
 * each library that called the driver, the context, other processes - and what is left over is
 * named as unexplained, so that the rows always add up to what the card reports.
 *
 * A snapshot of PyTorch knows of its allocator alone; one that `capture --mode record` wrote has
 * every allocation of the process with the stack of its caller. The card's own figures come from
 * the file where it holds them, or from the user (nvidia-smi).
 */
#ifndef MEMTOOL_HEAP_SUMS_ACCOUNT_H
#define MEMTOOL_HEAP_SUMS_ACCOUNT_H

#include "heap/stacks/frames.h"
#include "heap/sums/smi.h"
#include "snapshot/model/model.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/vec.h"

/* name, id in JSON, word for people */
#define MT_OWNER_MAP(X)                                                                            \
    X(ALLOCATOR, "allocator", "caching allocator")                                                 \
    X(LIBRARY, "library", "library")                                                               \
    X(PROGRAM, "program", "the program itself")                                                    \
    X(UNKNOWN, "unknown", "caller not recorded")                                                   \
    X(CODE, "kernel_code", "code of kernels")                                                      \
    X(CONTEXT, "context", "CUDA context")                                                          \
    X(POOL, "driver_pool", "driver's memory pool")                                                 \
    X(OUTSIDE, "outside", "this process")                                                          \
    X(BEFORE, "before", MT_OLDER)                                                                  \
    X(OTHER_PROCESS, "other_process", "other process")                                             \
    X(UNEXPLAINED, "unexplained", "not explained")

enum mt_owner_kind {
#define X(name, id, words) MT_OWNER_##name,
    MT_OWNER_MAP(X)
#undef X
        MT_OWNER_KIND_COUNT
};

const char *mt_owner_id(enum mt_owner_kind k);
const char *mt_owner_words(enum mt_owner_kind k);

/* ---- who called (owners.c) ---- */

/* "NCCL" of a library; borrowed from the snapshot or for good. */
struct mt_owner_name {
    enum mt_owner_kind kind;
    struct mt_str name;
};

/*
 * The owner of memory that was allocated with this stack: the innermost frame of a library other
 * than the driver and the runtime themselves. UNKNOWN without such a frame. O(frames).
 */
struct mt_owner_name mt_owner_of_stack(const struct mt_snapshot *s, uint32_t stack);

/* The same for the path of one library; "??" is none. */
struct mt_owner_name mt_owner_of_file(struct mt_str file);

/* What kind of file this is, told by its content alone. O(frames). */
struct mt_recorded {
    bool watched;     /* every allocation of the process: capture --mode record */
    bool cached;      /* served by memtool's allocator but for what passed by: --mode cache */
    bool plain;       /* of a program without PyTorch: compiled callers, none of them torch's */
    bool torch;       /* frames of PyTorch are in it */
    bool python;      /* frames of Python are in it */
    bool live;        /* by memtool's live allocator, called as such */
    const char *mode; /* what of memtool wrote it: a mode of `memtool capture`, "record" or "cache",
                         or "allocator", the live one; NULL: PyTorch, or who knows */
};
void mt_recorded_find(struct mt_recorded *r, const struct mt_snapshot *s);

/* The variable from which the allocator that wrote s takes its settings; of a recording without an
 * allocator, of a program without PyTorch, that of the cache which could serve it. */
const char *mt_conf_variable_of(const struct mt_snapshot *s);

/* The call by which the recorded program gives cached memory back to the driver; NULL when it has
 * none: with `cached` the cache does so by itself before a request fails, with `watched` what is
 * recorded are the driver's allocations. */
const char *mt_empty_cache_of(const struct mt_recorded *r);

/* ---- the account (account.c) ---- */

struct mt_owner {
    enum mt_owner_kind kind;
    struct mt_str name; /* not safe for terminals where it came from the input */
    uint64_t bytes;     /* now; of UNEXPLAINED its size, mt_account.over tells the sign */
    uint64_t peak;      /* most at any time */
    bool peak_known;
    uint64_t count; /* allocations; 0 where they are not known one by one */
};

struct mt_account {
    int32_t device;
    struct mt_recorded recorded;
    uint64_t allocations;         /* segments and segment events that it rests on */
    MT_VEC(struct mt_owner) rows; /* largest first; UNEXPLAINED last */
    uint64_t seen;                /* sum of all rows but UNEXPLAINED */
    uint64_t seen_peak;           /* most that those of the snapshot held together */
    bool seen_peak_known;
    uint64_t process; /* of `seen`, what this process holds */
    bool used_known;
    uint64_t used; /* bytes in use on the card */
    bool total_known;
    uint64_t total;  /* bytes that the card has */
    uint64_t beyond; /* what was given as in use where that is more than the card has: left aside;
                        0: nothing */
    const char *source;   /* where `used` is from: "the snapshot", "--device-used", a file */
    bool over;            /* more is seen than the card reports: UNEXPLAINED counts negative */
    bool own_is_missing;  /* nvidia-smi lists processes, none large enough to be this one */
    bool own_is_inferred; /* which process of the list is this one was told by its size */
    struct mt_arena arena;
};

/* The card's own figures, where the user gave some. */
struct mt_account_figures {
    bool used_known, total_known;
    uint64_t used, total;
    const struct mt_smi *smi; /* or NULL */
    const char *source;
    /* The state after so many events of the device's trace, rather than at the end; 0: the end.
     * What a snapshot says of the card is then of another moment and left out. */
    size_t after;
    bool free_known; /* what the driver had free then: with the card's total it gives `used` */
    uint64_t free;
};

/*
 * Rows sum exactly to `used` where that is known: seen + unexplained, or seen - unexplained where
 * `over`. Sums saturate. O(segments + events). Errors: MT_NOMEM. Release it also after a failure.
 */
enum mt_status mt_account_find(struct mt_account *a, const struct mt_snapshot *s, int32_t device,
                               const struct mt_account_figures *given, struct mt_error *err)
    MT_NODISCARD;
void mt_account_release(struct mt_account *a);

/* Of every device that has segments or events, ascending. */
struct mt_accounts {
    MT_VEC(struct mt_account) v;
};
enum mt_status mt_accounts_find(struct mt_accounts *all, const struct mt_snapshot *s,
                                const struct mt_account_figures *given, struct mt_error *err)
    MT_NODISCARD;
void mt_accounts_release(struct mt_accounts *all);
/* NULL: none of this device. */
const struct mt_account *mt_accounts_device(const struct mt_accounts *all, int32_t device);

/* Whether there is more to say than the allocator's own total. */
bool mt_account_is_whole(const struct mt_account *a);

/* Bytes of all rows of one kind. */
uint64_t mt_account_sum(const struct mt_account *a, enum mt_owner_kind kind);

#endif
