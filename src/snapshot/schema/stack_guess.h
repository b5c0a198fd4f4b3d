/* SPDX-License-Identifier: MIT */
/*
 * Which list of frames comes next, guessed: a program that trains runs through the same code step
 * after step, so the list that followed the same list at an event of the same action and size
 * follows again (measured on 2 million events: 9 of 10 times). A guess is the very bytes of the
 * list; where they stand in the file its stack is known, without looking up frame by frame.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_STACK_GUESS_H
#define MEMTOOL_SNAPSHOT_SCHEMA_STACK_GUESS_H

#include <stdint.h>
#include <string.h>

#include "snapshot/model/model.h"

enum { MT_STACK_GUESSES = 256, MT_STACK_GUESS_BYTES = 504 };

struct mt_stack_guess {
    uint32_t stack; /* id */
    uint32_t n;     /* bytes from behind the opcode that opens the list, 0: there is no guess */
    uint8_t bytes[MT_STACK_GUESS_BYTES];
};

struct mt_stack_guesses {
    struct mt_stack_guess *v; /* MT_STACK_GUESSES of them */
    uint32_t last;            /* the stack of the last list */
};

/* The place for the list of an event whose action and size are known. */
static inline struct mt_stack_guess *mt_stack_guess_find(const struct mt_stack_guesses *g,
                                                         const struct mt_event *e)
{
    uint64_t mix = (e->size + e->action) * UINT64_C(0x9e3779b97f4a7c15) ^
                   g->last * UINT64_C(0xff51afd7ed558ccd);
    return &g->v[mix >> 56];
}

static inline void mt_stack_guess_learn(struct mt_stack_guesses *g, struct mt_stack_guess *at,
                                        const uint8_t *p, size_t n, uint32_t stack)
{
    if (n <= MT_STACK_GUESS_BYTES) {
        memcpy(at->bytes, p, n);
        at->n = (uint32_t)n;
        at->stack = stack;
    }
    g->last = stack;
}

/* What the bytes mean has changed. */
static inline void mt_stack_guess_forget(struct mt_stack_guesses *g)
{
    for (int i = 0; i < MT_STACK_GUESSES; i++) {
        g->v[i].n = 0;
    }
}

#endif
