/* SPDX-License-Identifier: MIT */
/*
 * The inside of a simulation: the program that a recording boils down to, the state that it began
 * with, and the machine that runs it.
 */
#ifndef MEMTOOL_VERBS_SIMULATE_SIM_H
#define MEMTOOL_VERBS_SIMULATE_SIM_H

#include "snapshot/model/settings.h"
#include "support/hash.h"
#include "verbs/simulate/simulate.h"

#define NEVER UINT32_MAX

enum op_kind {
    OP_COPY,          /* an event that changes nothing: kept in a written run */
    OP_ALLOC,         /* slot receives the block */
    OP_FREE,          /* requested and completed at once */
    OP_FREE_REQUEST,  /* the block is pending from here ... */
    OP_FREE_COMPLETE, /* ... to here */
    OP_OOM,           /* a request that was refused */
    OP_RELEASE,       /* slot: how many segment_free and segment_unmap come in a row; whether the
                         program called empty_cache is found out by the replay */
    OP_EMPTY_CACHE,
    OP_NOTHING
};

/* One step of the program. Sizes and streams are read from the event. */
struct op {
    uint32_t event; /* index in the trace */
    uint32_t slot;
    uint16_t pool; /* index into mt_sim.pools; of releases: not 0 where all are of private pools,
                      which are then emptied by themselves */
    uint8_t kind;
};

/* What was there before the first event. */
struct start {
    MT_VEC(struct mt_alloc_restore_segment) segments; /* .blocks is set when it is put in place */
    MT_VEC(struct mt_alloc_restore_block) blocks;     /* of all segments, one after the other */
    MT_VEC(uint32_t) slots;                           /* of the blocks; NEVER for free ones */
    uint64_t reserved;                                /* bytes */
};

/*
 * What a replay tells about the limit when garbage collection is on: the share t of it at which
 * something was, or was not, collected.
 */
struct learner {
    uint64_t least; /* nothing was collected at this much of the limit */
    uint64_t below; /* something was; UINT64_MAX: never */
};

/* The program has no more use for a private pool: from this op on it can be released. */
struct pool_end {
    size_t op;
    uint16_t pool;
};

/* A run of releases among the ops, as it was before a replay decided what it is. */
struct undecided {
    size_t op;
    uint32_t n;
};

/* Where a replay first leaves the recording. */
struct leave {
    bool is;
    size_t event;   /* of the request, or the first of the releases */
    uint64_t addr;  /* that the request was given; 0: none */
    uint64_t extra; /* of a segment that was released beyond the recorded ones; 0: none */
};

struct mt_sim {
    const struct mt_snapshot *snapshot;
    int32_t device;
    const struct mt_event *events; /* of the device */
    size_t n;
    struct mt_sim_options options;
    struct mt_torch_rules rules; /* of the recording */
    struct mt_str conf;
    mt_torch_release release;
    MT_VEC(struct mt_pool_id) pools; /* those of the snapshot, then those that only segments name */
    size_t named_pools;              /* of them, what the file names; the others are inferred */
    MT_VEC(struct op) ops;
    MT_VEC(struct pool_end) pool_ends; /* ascending */
    uint32_t n_slots;
    size_t n_calls;             /* ops that allocate */
    MT_VEC(uint64_t) edited;    /* sizes of the calls after edits; empty: as recorded */
    const uint64_t *sizes;      /* of them, in what-ifs; NULL: as recorded; borrowed */
    enum mt_device_order order; /* of what-ifs */
    bool has_pending;
    bool complete;
    struct start start;
    size_t n_ghosts, n_unsure;
    struct mt_sim_bound limit, capacity;         /* of the recording */
    struct mt_sim_bound run_limit, run_capacity; /* of what-ifs */
    struct learner learnt;                       /* zero: nothing */
    MT_VEC(struct undecided) releases;
    struct leave leave;      /* of the last replay */
    uint64_t walks;          /* mt_alloc_options.walks, of all replays together */
    bool released_by_device; /* releases without a refusal are read as those of a full device */
};

static inline bool is_segment_event(const struct mt_event *e)
{
    return e->action >= MT_ACTION_SEGMENT_ALLOC && e->action <= MT_ACTION_SEGMENT_UNMAP;
}

static inline bool is_growth(const struct mt_event *e)
{
    return e->action == MT_ACTION_SEGMENT_ALLOC || e->action == MT_ACTION_SEGMENT_MAP;
}

static inline bool is_release(const struct mt_event *e)
{
    return e->action == MT_ACTION_SEGMENT_FREE || e->action == MT_ACTION_SEGMENT_UNMAP;
}

static inline uint64_t stream_handle(const struct mt_sim *sim, const struct mt_event *e)
{
    return sim->snapshot->streams[e->stream].handle;
}

static inline struct mt_alloc_pool_id pool_id(const struct mt_sim *sim, uint16_t pool)
{
    struct mt_pool_id id = sim->pools.v[pool];
    return (struct mt_alloc_pool_id){id.a, id.b};
}

/* ---- sim_program.c: events to ops ---- */

/* A block alive before the first event. */
struct ghost {
    uint64_t addr, requested;
    uint32_t freed; /* event from which it is gone, NEVER: alive at the end */
    uint32_t block; /* index into mt_snapshot.blocks when alive at the end, else NEVER */
    uint32_t slot;
    uint32_t stack;
    bool pending;
    uint64_t edge; /* the nearest address above it that it cannot reach beyond */
};

/* A cudaMalloc segment that was there before the first event. */
struct old_segment {
    uint64_t addr, size;
    uint32_t segment; /* index into mt_snapshot.segments, NEVER: freed in the trace */
    uint32_t event;   /* of its segment_free, when segment is NEVER */
};

struct leftovers {
    MT_VEC(struct ghost) ghosts;
    MT_VEC(struct old_segment) segments;
};

enum mt_status mt_sim_make_program(struct mt_sim *sim, struct leftovers *left, struct mt_error *err)
    MT_NODISCARD;

/* ---- sim_pools.c ---- */

/* The index of an id in sim->pools, 0 when it is not listed. */
uint16_t mt_sim_pool_index(const struct mt_sim *sim, struct mt_pool_id id);
/* Fills sim->pools. */
enum mt_status mt_sim_list_pools(struct mt_sim *sim, struct mt_error *err) MT_NODISCARD;
/* Once the program is made: the pool of each request, and sim->pool_ends. */
enum mt_status mt_sim_assign_pools(struct mt_sim *sim, struct mt_error *err) MT_NODISCARD;

/* Segments and reservations through time. */

/* One cudaMalloc, or one address reservation of an expandable segment, from its first event to the
 * last one in which something of it is mapped. */
struct region {
    uint64_t low, high; /* all of it that was ever there */
    uint64_t mapped;    /* bytes, while the events are walked */
    size_t from;        /* event; 0: before the trace */
    size_t to;          /* event that gave the last of it back; SIZE_MAX: there at the end */
    uint16_t pool;
    uint16_t stream; /* of its first event */
    bool known;      /* it is there at the end, which names its pool */
};

struct regions {
    const struct mt_sim *sim;
    MT_VEC(struct region) all; /* ascending by `from` */
    struct mt_idmap segments;  /* address of a living cudaMalloc segment -> its region */
    MT_VEC(uint32_t) mappings; /* the living regions of expandable segments */
    MT_VEC(uint32_t) here;     /* regions of the moment that is looked at, by address */
    size_t next;               /* of `all`, not yet in `here` */
    struct mt_error *err;
};

/* Fills r->all from the events; r->sim and r->err are set. */
enum mt_status mt_regions_find(struct regions *r) MT_NODISCARD;
/* The region that addr lies in at this event, NEVER: none. Events must ascend from call to call. */
enum mt_status mt_regions_at(struct regions *r, size_t event, uint64_t addr, uint32_t *index)
    MT_NODISCARD;
/* Gives the requests of the program the pools of their regions, and finds where pools end. */
enum mt_status mt_regions_assign(struct regions *r, struct mt_sim *sim, struct mt_error *err)
    MT_NODISCARD;
void mt_regions_release(struct regions *r);

/* ---- sim_infer.c ---- */

typedef enum mt_status mt_sim_replayer(struct mt_sim *sim, struct mt_sim_run *run,
                                       struct mt_error *err);
/* After a replay that is not exact: looks for pools with which it is. *run is the last replay. */
enum mt_status mt_sim_infer_pools(struct mt_sim *sim, struct mt_sim_run *run,
                                  mt_sim_replayer *replay, struct mt_error *err) MT_NODISCARD;

/* ---- sim.c ---- */

/* Forgets what a replay decided about releases. */
void mt_sim_undecide(struct mt_sim *sim);
bool mt_sim_is_exact(const struct mt_sim_run *run);

/* ---- sim_start.c: what was there before ---- */

enum mt_status mt_sim_rebuild(struct mt_sim *sim, struct leftovers *left, struct mt_error *err)
    MT_NODISCARD;
struct ranges;
/* What expandable segments had mapped before the first event; the caller releases *mapped. */
enum mt_status mt_sim_mapped_before(const struct mt_sim *sim, struct ranges *mapped,
                                    struct mt_error *err) MT_NODISCARD;

/* ---- sim_ranges.c: sets of addresses, for the mapped parts of expandable segments ---- */

struct range {
    uint64_t low, high; /* [low, high) */
};
struct ranges {
    MT_VEC(struct range) list; /* ascending, apart from each other */
};
/* Errors: MT_NOMEM, MT_LIMIT (too many pieces to be a real recording). */
enum mt_status mt_ranges_add(struct ranges *r, uint64_t low, uint64_t high, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_ranges_remove(struct ranges *r, uint64_t low, uint64_t high, struct mt_error *err)
    MT_NODISCARD;
void mt_ranges_release(struct ranges *r);

/* ---- sim_bounds.c: limit and capacity from what was granted and refused ---- */

void mt_sim_infer_bounds(struct mt_sim *sim);

/* ---- recorded_device.c ---- */

/* Hands out the addresses of the recording, and refuses where it shows no call. */
struct recorded_device {
    const struct mt_sim *sim;
    size_t next;     /* the recorded events before it are answered */
    size_t request;  /* the event of the request that is running: calls beyond it are not its own */
    size_t answered; /* the event that the last call matched, SIZE_MAX: none */
    uint64_t made, matched;
    uint64_t extra; /* the first address that was given back beyond the recorded ones; 0: none */
    MT_VEC(struct range) reserved; /* expandable segments that were handed out */
    uint64_t invented;             /* next address for what the recording does not have */
};
struct mt_device mt_recorded_device(struct recorded_device *d);
/* The request at `event` begins or ends: recorded calls up to it are its own. */
void mt_recorded_device_begin(struct recorded_device *d, size_t event);
void mt_recorded_device_end(struct recorded_device *d, size_t event);

/* ---- sim_output.c ---- */

struct sim_recorder {
    const struct mt_sim *sim;
    MT_VEC(struct mt_event) events;
    uint8_t shapes[MT_ACTION_COUNT];
    bool failed;
};
enum mt_status mt_sim_recorder_init(struct sim_recorder *r, const struct mt_sim *sim,
                                    struct mt_sim_output *output, struct mt_error *err)
    MT_NODISCARD;
/* `now`: the event that is being replayed. */
void mt_sim_recorder_event(struct sim_recorder *r, const struct mt_alloc_event *e, size_t now);
void mt_sim_recorder_copy(struct sim_recorder *r, size_t event);
enum mt_status mt_sim_recorder_finish(struct sim_recorder *r, const struct mt_alloc *a,
                                      struct mt_sim_output *output, struct mt_error *err)
    MT_NODISCARD;
void mt_sim_recorder_release(struct sim_recorder *r);

/* sim_output_settings.c: puts the settings of a what-if in place of the recorded ones. */
enum mt_status mt_sim_output_settings(struct mt_view *view, const struct mt_alloc_settings *s,
                                      struct mt_str conf, mt_torch_release release,
                                      struct mt_error *err) MT_NODISCARD;

/* Stack ids in the allocator: the event of the request + 1; restored things have their own stack
 * behind them. */
static inline uint32_t restored_stack(const struct mt_sim *sim, uint32_t stack)
{
    uint64_t id = (uint64_t)sim->n + 1 + stack;
    return stack && id <= UINT32_MAX ? (uint32_t)id : 0;
}

static inline uint32_t real_stack(const struct mt_sim *sim, uint32_t id)
{
    if (id == 0) {
        return 0;
    }
    return id <= sim->n ? sim->events[id - 1].stack : id - (uint32_t)sim->n - 1;
}

/* ---- sim_machine.c ---- */

struct machine {
    struct mt_sim *sim;
    struct mt_alloc *alloc;
    struct recorded_device *recorded; /* NULL: what-if */
    struct sim_recorder *recorder;    /* NULL: the run is not kept */
    struct mt_sim_run *run;
    mt_alloc_block *slots;
    bool *in_use;            /* by pool: private ones that the program still uses */
    size_t pool_end;         /* cursor into mt_sim.pool_ends */
    struct mt_idmap pending; /* blocks between request and completion of a free -> slot */
    size_t now;              /* the event that is replayed */
    size_t call;             /* allocations so far */
    bool completing;         /* a completion of the program's own */
    struct learner *learner; /* the limit is being found out; NULL otherwise */
    int64_t reserved_peak, allocated_peak;
};

enum mt_status mt_sim_machine_init(struct machine *m, struct mt_sim *sim,
                                   const struct mt_alloc_options *o, struct mt_sim_run *run,
                                   struct sim_recorder *recorder, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_sim_machine_run(struct machine *m, struct mt_error *err) MT_NODISCARD;
void mt_sim_machine_release(struct machine *m);

/* ---- sim_learn.c ---- */

/* Before each request of the learning replay: lets the allocator collect exactly when the recording
 * did. */
void mt_sim_learn(struct machine *m, const struct op *op, const struct mt_alloc_request *r);

/* ---- sim_trace.c ---- */

/* The figures of a run whose replay is not exact. */
enum mt_status mt_sim_trace_figures(const struct mt_sim *sim, struct mt_sim_run *run,
                                    struct mt_error *err) MT_NODISCARD;

/* ---- sim_fidelity.c ---- */

enum mt_status mt_sim_compare_layout(const struct mt_sim *sim, const struct mt_alloc *a,
                                     bool *match, struct mt_error *err) MT_NODISCARD;

/* ---- sim_empty_cache.c ---- */

/* Whether the releases of this op were the program's own call; decided just before they would
 * happen. Returns how many of them, 0 = none. */
uint32_t mt_sim_is_empty_cache(const struct machine *m, size_t op);

#endif
