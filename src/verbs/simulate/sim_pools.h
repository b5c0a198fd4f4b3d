/* SPDX-License-Identifier: MIT */
/* Segments and reservations through time, shared by the two ways to find out their pools. */
#ifndef MEMTOOL_SIM_POOLS_H
#define MEMTOOL_SIM_POOLS_H

#include "verbs/simulate/sim.h"

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

#endif
