/* SPDX-License-Identifier: MIT */
/*
 * What part of a program each call stack belongs to, by its lines of Python: the call of a model,
 * the backward pass, the optimizer. Private to analysis/.
 */
#ifndef MEMTOOL_HEAP_STACKS_STACK_ROLES_H
#define MEMTOOL_HEAP_STACKS_STACK_ROLES_H

#include "support/error.h"
#include "snapshot/model/model.h"
#include "heap/walk/replay.h"

enum mt_role {
    MT_ROLE_OTHER,
    MT_ROLE_MODULE,    /* inside the call of an nn.Module */
    MT_ROLE_BACKWARD,  /* inside autograd's backward pass */
    MT_ROLE_OPTIMIZER, /* inside an optimizer's step: PyTorch's, a library's, or a function `step`
                          that neither calls a model nor backward */
    MT_ROLE_SETUP,     /* a model is made, moved or loaded */
    MT_ROLE_WORKSPACE  /* cuBLAS asks for its workspace (known from compiled frames) */
};

struct mt_stack_role {
    unsigned char role; /* enum mt_role */
    bool leaf;          /* MODULE: one of PyTorch's own layers is called from outside of any */
    uint32_t n_outer;   /* MODULE: lines of Python outside of the outermost call of a module */
    uint32_t inside;    /* MODULE: frame id of the line inside that call, of the model's own code
                           where there is some */
    uint64_t site;      /* MODULE: the same for calls of one function from one function; else 0 */
    uint64_t path;      /* the same for the same lines outside of the outermost call */
};

struct mt_stack_roles {
    const struct mt_replay *replay;
    struct mt_stack_role *of; /* by stack id; those that the trace does not name are OTHER */
    bool has_frames;          /* some allocation of the trace has a line of Python */
};

/* Of the stacks of allocations in r. Time: their frames. Errors: MT_NOMEM. Release it also after a
 * failure. */
enum mt_status mt_stack_roles_init(struct mt_stack_roles *x, const struct mt_replay *r,
                                   struct mt_error *err) MT_NODISCARD;
void mt_stack_roles_release(struct mt_stack_roles *x);

/* The role of an allocation. Without frames, in a trace that has them elsewhere, it is BACKWARD:
 * autograd runs in a thread of its own, where Python has no lines. */
enum mt_role mt_stack_role_of(const struct mt_stack_roles *x, uint32_t stack);

/*
 * Where two stacks stand in the order of the program's lines: they are the same down to two lines
 * of one function, of which a's comes first (< 0) or last (> 0). 0: nothing can be said. Only the
 * first `depth` lines of Python from outside are compared.
 */
int mt_stack_order(const struct mt_snapshot *s, uint32_t a, uint32_t b, uint32_t depth);

/* Whether all lines of Python of a are the outermost of b, so that one line allocates and calls. */
bool mt_stack_leads(const struct mt_snapshot *s, uint32_t a, uint32_t b);

#endif
