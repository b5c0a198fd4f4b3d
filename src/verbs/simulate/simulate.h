/* SPDX-License-Identifier: MIT */
/*
 * Replaying a recording through the allocator: under the settings that it was made with, to see how
 * exactly the replay matches, and under others, to see whether they would have helped.
 *
 *   mt_sim_load      events of one device -> what the program asked for, what was there before
 *   mt_sim_replay    the recorded settings; finds out where empty_cache was called; fidelity
 *   mt_sim_what_if   other settings over a simulated device
 *
 * One load serves any number of runs. Only what the recording proves is answered: the same requests
 * and frees in the same order, on the same streams. Where a run leaves the recording (a request
 * that had been refused is served, or the other way round) what must be assumed is counted in the
 * run.
 */
#ifndef MEMTOOL_VERBS_SIMULATE_SIMULATE_H
#define MEMTOOL_VERBS_SIMULATE_SIMULATE_H

#include "allocator/core/allocator.h"
#include "heap/findings/packing.h"
#include "snapshot/model/model.h"
#include "snapshot/model/view.h"
#include "support/error.h"
#include "support/vec.h"

/* A bound on bytes: known (given, or proven by the recording), or between two bounds. */
struct mt_sim_bound {
    bool known; /* there is one; `bytes` is what the runs use */
    bool given; /* by the user; else inferred */
    uint64_t bytes;
    bool has_least, has_below;
    uint64_t least; /* inferred: at least this (it was reached) */
    uint64_t below; /* inferred: less than this (it was refused) */
};

struct mt_sim_options {
    mt_torch_release release; /* of the policy; 0: 2.11 */
    bool has_limit;           /* PyTorch's own bound, the memory fraction in bytes */
    uint64_t limit;
    bool watched;      /* the events are the driver's own, no allocator was between: a replay is a
                          what-if      under the default settings, however exact */
    bool has_capacity; /* what the driver can give this process */
    uint64_t capacity;
};

struct mt_sim;

/*
 * Prepares device `device` of s, which must outlive the result. Errors: MT_NOMEM; MT_LIMIT (2^32 -
 * 1 events or more). Caller frees with mt_sim_free. A device without events gives a sim with
 * mt_sim_events == 0, which must not be run.
 */
enum mt_status mt_sim_load(const struct mt_snapshot *s, int32_t device,
                           const struct mt_sim_options *o, struct mt_sim **out,
                           struct mt_error *err) MT_NODISCARD;
void mt_sim_free(struct mt_sim *sim);

size_t mt_sim_events(const struct mt_sim *sim);
/* True when nothing existed before the first event: then the counters are PyTorch's own. */
bool mt_sim_is_complete(const struct mt_sim *sim);
/* Blocks alive before the first event, and how many of them have a size that the recording does not
 * determine (assumed without slack). */
size_t mt_sim_ghosts(const struct mt_sim *sim, size_t *unsure);
/* Private pools were used, and the events do not name them: the pool of a segment that was given
 * back is not known, and taken for the default. */
bool mt_sim_guesses_pools(const struct mt_sim *sim);
/* The bounds of the what-ifs. A bound that was given holds for the replay of the recording too,
 * unless the recording disproves it. */
const struct mt_sim_bound *mt_sim_limit(const struct mt_sim *sim);
const struct mt_sim_bound *mt_sim_capacity(const struct mt_sim *sim);
/* The settings that the recording was made with; the text lives as long as the snapshot. */
struct mt_str mt_sim_conf(const struct mt_sim *sim);
mt_torch_release mt_sim_release(const struct mt_sim *sim);

/* ---- runs ---- */

/* UNKNOWN: nothing was refused, but the recording goes on behind a refusal that is served here, or
 * memory that was not accounted for was alive at the peak. */
enum mt_sim_verdict { MT_SIM_FITS, MT_SIM_OUT_OF_MEMORY, MT_SIM_UNKNOWN };

struct mt_sim_oom {
    uint32_t event; /* index in the device's trace */
    uint64_t size;  /* bytes asked for (rounded where the recording says no more) */
    uint64_t largest_hole;
};

struct mt_sim_fidelity {
    uint64_t device_events_recorded, device_events_matched, device_events_made;
    uint64_t placements_recorded, placements_matched;
    bool final_layout_match;
};

/* Where the reserved bytes were highest; of several such moments the one with the most in use. */
struct mt_sim_peak {
    uint32_t event;
    uint64_t reserved, allocated, requested;
};

/* What was assumed after the run had left the recording. */
struct mt_sim_assumptions {
    uint64_t ooms_served;       /* recorded refusals now served and freed at once */
    uint64_t requests_after;    /* recorded behind the first of them */
    uint64_t frees_ignored;     /* of recorded allocations that are now refused */
    uint32_t last_free_ignored; /* its event */
    uint32_t last_event;        /* of the last of both */
};

struct mt_sim_run {
    bool recorded;
    bool exact;  /* recorded: calls, addresses and final blocks came out as they were */
    bool leaves; /* recorded, not exact: an event differs; else only the final blocks do */
    uint32_t leaves_event; /* the first event that differs */
    bool of_trace; /* recorded, not exact, not watched: the figures are those that the events prove:
                      of `stats` the slot `all` of reserved and requested bytes, segments and
                      allocations, the calls and refusals; of `peak` all but `allocated`; of `ooms`
                      all but the hole. The rest is 0. */
    char conf[200];                      /* the settings, for print; cut when longer */
    struct mt_sim_bound limit, capacity; /* that it ran under */
    struct mt_alloc_stats stats;
    uint64_t requests;
    uint64_t empty_caches;    /* calls of empty_cache that freed something */
    struct mt_sim_peak peak;  /* of reserved bytes */
    uint64_t reserved_before; /* bytes, the peak of the first two thirds */
    uint32_t allocated_peak_event;
    MT_VEC(struct mt_sim_oom) ooms; /* the first MT_SIM_OOMS of them */
    uint64_t n_ooms;
    struct mt_sim_assumptions assumed;
    struct mt_sim_fidelity fidelity; /* recorded only */
    enum mt_sim_verdict verdict;
};
#define MT_SIM_OOMS 10000

void mt_sim_run_release(struct mt_sim_run *r);

/* Gets the finished run as a snapshot: the original with the device's events, segments and blocks
 * replaced. Filled by a run that is given one; release with mt_view_release. */
struct mt_sim_output {
    struct mt_view view;
};

/*
 * The recorded settings over the recorded addresses. Must run once before any what-if: it finds the
 * calls of empty_cache and, with garbage collection, the limit. `output` may be NULL. On an error
 * *run still wants mt_sim_run_release, and the output holds nothing. Errors: MT_NOMEM, MT_DEVICE.
 */
enum mt_status mt_sim_replay(struct mt_sim *sim, struct mt_sim_run *run,
                             struct mt_sim_output *output, struct mt_error *err) MT_NODISCARD;

/* Other settings, whose text `conf` is only for print. Errors: as above. */
enum mt_status mt_sim_what_if(struct mt_sim *sim, const struct mt_alloc_settings *settings,
                              struct mt_str conf, struct mt_sim_run *run,
                              struct mt_sim_output *output, struct mt_error *err) MT_NODISCARD;

/* One of several what-ifs. */
struct mt_sim_try {
    const struct mt_alloc_settings *settings;
    struct mt_str conf; /* only for print */
    enum mt_device_order order;
    const uint64_t *sizes; /* as of mt_sim_set_sizes; NULL: as the sim has them */
    struct mt_sim_run run; /* out; release it, on an error too */
    enum mt_status status; /* out */
    struct mt_error err;   /* out, where status is one */
};
/* All of them, in threads where that is worth it; each comes out as it would alone. Errors: that of
 * the first that has one. */
enum mt_status mt_sim_try_all(struct mt_sim *sim, struct mt_sim_try *tries, size_t n,
                              struct mt_error *err) MT_NODISCARD;

/* ---- a changed program ---- */

/* The stack of an event of the device. */
uint32_t mt_sim_stack_of(const struct mt_sim *sim, uint32_t event);
/* How many allocations the program makes. */
size_t mt_sim_calls(const struct mt_sim *sim);
/* From now on what-ifs ask for sizes[i] bytes, at least 1, at allocation i (mt_sim_calls of them,
 * borrowed); NULL: as recorded. */
void mt_sim_set_sizes(struct mt_sim *sim, const uint64_t *sizes);
/* The same for good, copied: edits that follow start from them. Errors: MT_NOMEM. */
enum mt_status mt_sim_keep_sizes(struct mt_sim *sim, const uint64_t *sizes, struct mt_error *err)
    MT_NODISCARD;
/* The bounds of the what-ifs from now on, in bytes; 0: none. */
void mt_sim_set_bounds(struct mt_sim *sim, uint64_t limit, uint64_t capacity);
/*
 * An edit of the program. Allocations whose stack matches are its subject; a call is one execution
 * of the function that matches, found where the stacks of a row of such allocations repeat. What
 * outlives its call but for the last of it, the result, is what the call keeps.
 */
enum mt_sim_edit_kind {
    MT_SIM_RECOMPUTE,  /* what a call keeps goes at its end; the call runs again before the first of
                          it was freed (activation checkpointing) */
    MT_SIM_OFFLOAD,    /* the same, and only what it keeps comes back */
    MT_SIM_FREE_EARLY, /* what a call keeps goes at its end, for good */
    MT_SIM_SCALE,      /* each allocation, times `factor` */
    MT_SIM_DROP,       /* no such allocation */
    MT_SIM_EDITS
};
enum { MT_SIM_EDIT_SIZES = 3 };
struct mt_sim_edit {
    enum mt_sim_edit_kind kind;
    uint64_t sizes[MT_SIM_EDIT_SIZES]; /* only allocations of these bytes; all 0: of any */
    double factor;                     /* above 0 */
    const bool *stacks;                /* by stack id: matches; borrowed until the edit is made */
    const char *pattern;               /* for print; borrowed as long as the runs */
    uint64_t allocations;              /* out: that match */
    uint64_t calls;                    /* out: RECOMPUTE, OFFLOAD, FREE_EARLY */
    uint64_t changed;                  /* out: allocations that were changed */
    uint64_t bytes;                    /* out: their requests, as recorded */
};
/* Changes the program of all what-ifs from now on; after mt_sim_replay, which must not be called
 * again. Edits add up in the order in which they are made. Errors: MT_NOMEM, MT_LIMIT. */
enum mt_status mt_sim_make_edit(struct mt_sim *sim, struct mt_sim_edit *edit, struct mt_error *err)
    MT_NODISCARD;

/* How little memory the lifetimes of the program could do with, as it is now. Errors: MT_NOMEM. */
enum mt_status mt_sim_ideal(const struct mt_sim *sim, struct mt_packing *out, struct mt_error *err)
    MT_NODISCARD;

/* The recorded settings. */
const struct mt_alloc_settings *mt_sim_settings(const struct mt_sim *sim);

/* ---- settings worth trying ---- */

struct mt_sim_candidate {
    char conf[96];
};
/* What this recording suggests, at most `max` of them; returns how many. */
size_t mt_sim_candidates(const struct mt_sim *sim, const struct mt_sim_run *recorded,
                         struct mt_sim_candidate *out, size_t max);

/* The best of a search, the first the best; equal ones by fewer device calls. One that reaches no
 * more than another with some of its keys is left out. */
enum { MT_SIM_FOUND = 5 };
struct mt_sim_found {
    struct mt_sim_run run;
    unsigned keys;     /* a bit for each that is set */
    uint8_t values[8]; /* of each key, by index */
};
struct mt_sim_search {
    size_t tried;
    bool all; /* every combination of all values */
    struct mt_sim_found best[MT_SIM_FOUND];
    size_t n;
};
/* Replays under many settings; bounds and edits hold. After mt_sim_replay. Errors: MT_NOMEM;
 * release it all the same. */
enum mt_status mt_sim_search(struct mt_sim *sim, struct mt_sim_search *out, struct mt_error *err)
    MT_NODISCARD;
void mt_sim_search_release(struct mt_sim_search *s);

/* Reserved memory still grew by a fiftieth in the last third of a run, and not in the recorded
 * one: over a longer program it may grow without bound. */
bool mt_sim_run_grows(const struct mt_sim_run *run, const struct mt_sim_run *recorded);

/* < 0 when x is the better run: fits before unknown before out of memory, then less reserved, then
 * fewer device calls. */
int mt_sim_run_compare(const struct mt_sim_run *x, const struct mt_sim_run *y);

#endif
