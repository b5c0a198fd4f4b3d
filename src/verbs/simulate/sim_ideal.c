/* SPDX-License-Identifier: MIT */
/* The lifetimes of the program as it is now, packed at best. */
#include "verbs/simulate/sim.h"

struct gather {
    const struct mt_sim *sim;
    MT_VEC(struct mt_lifetime) list;
    uint32_t *owner; /* by slot: the lifetime that is open, NEVER: none */
};

static bool open_lifetime(struct gather *g, uint32_t slot, uint32_t at, uint64_t size)
{
    struct mt_lifetime l = {at, (uint32_t)g->sim->ops.n + 1, mt_packing_rounded(size)};
    g->owner[slot] = (uint32_t)g->list.n;
    return mt_vec_push(&g->list, l);
}

static bool gather(struct gather *g)
{
    const struct mt_sim *sim = g->sim;
    bool room = true;
    size_t call = 0;
    for (size_t i = 0; room && i < sim->start.blocks.n; i++) {
        if (sim->start.slots.v[i] != NEVER) {
            room = open_lifetime(g, sim->start.slots.v[i], 0, sim->start.blocks.v[i].requested);
        }
    }
    for (size_t i = 0; room && i < sim->ops.n; i++) {
        const struct op *op = &sim->ops.v[i];
        if (op->kind == OP_ALLOC) {
            uint64_t size = sim->sizes ? sim->sizes[call] : sim->events[op->event].size;
            room = open_lifetime(g, op->slot, (uint32_t)i + 1, size);
            call++;
        } else if ((op->kind == OP_FREE || op->kind == OP_FREE_COMPLETE) &&
                   g->owner[op->slot] != NEVER) {
            g->list.v[g->owner[op->slot]].to = (uint32_t)i + 1;
            g->owner[op->slot] = NEVER;
        }
    }
    return room;
}

enum mt_status mt_sim_ideal(const struct mt_sim *sim, struct mt_packing *out, struct mt_error *err)
{
    struct gather g = {.sim = sim};
    size_t slots = (size_t)sim->n_slots + 1;
    g.owner = mt_mem_alloc(slots, sizeof *g.owner);
    if (!g.owner) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < slots; i++) {
        g.owner[i] = NEVER;
    }
    enum mt_status status =
        gather(&g) ? mt_packing_find(out, g.list.v, g.list.n, err) : mt_fail_nomem(err);
    mt_mem_free(g.owner);
    mt_vec_release(&g.list);
    return status;
}
