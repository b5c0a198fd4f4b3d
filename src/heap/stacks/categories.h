/* SPDX-License-Identifier: MIT */
/*
 * What memory is for, in the eight words of PyTorch's profiler (torch.profiler._memory_profiler,
 * Category; as of 2.11) and three of memtool's own: kv_cache, which serving is full of, workspace,
 * what cuBLAS takes for itself, and buffer, what a model keeps beside its parameters. A snapshot
 * does not say it, so rules guess it from call stacks and annotations; what no rule knows is
 * `unknown`, and reports always show how much that is.
 */
#ifndef MEMTOOL_HEAP_STACKS_CATEGORIES_H
#define MEMTOOL_HEAP_STACKS_CATEGORIES_H

#include "heap/walk/replay.h"
#include "snapshot/model/model.h"
#include "support/error.h"

/* name, the word */
#define MT_CATEGORY_MAP(X)                                                                         \
    X(UNKNOWN, "unknown")                                                                          \
    X(INPUT, "input")                                                                              \
    X(TEMPORARY, "temporary")                                                                      \
    X(ACTIVATION, "activation")                                                                    \
    X(GRADIENT, "gradient")                                                                        \
    X(AUTOGRAD_DETAIL, "autograd_detail")                                                          \
    X(PARAMETER, "parameter")                                                                      \
    X(OPTIMIZER_STATE, "optimizer_state")                                                          \
    X(KV_CACHE, "kv_cache")                                                                        \
    X(WORKSPACE, "workspace")                                                                      \
    X(BUFFER, "buffer")

enum mt_category {
#define X(name, word) MT_CATEGORY_##name,
    MT_CATEGORY_MAP(X)
#undef X
        MT_CATEGORY_COUNT
};

const char *mt_category_name(enum mt_category c);
/* MT_CATEGORY_COUNT for any other word. */
enum mt_category mt_category_parse(struct mt_str word);

/* What a category is known from. */
enum mt_sureness {
    MT_SURE_LOW,    /* sizes alone */
    MT_SURE_MEDIUM, /* the place in the program, lifetimes or sizes, where no call stack names it */
    MT_SURE_HIGH,   /* the file, the user's rules, or the call stack says it */
    MT_SURE_COUNT
};
/* "low", "medium", "high". */
const char *mt_sureness_name(enum mt_sureness s);

/* The word that a file says it with: "parameter", of which memtool is less sure "parameter~medium".
 */
struct mt_str mt_category_told(enum mt_category c, enum mt_sureness s);
/* Reads one; false: it is none. */
bool mt_category_read(struct mt_str word, enum mt_category *c, enum mt_sureness *s);

/* How sure a category is whose bytes are known so: what nine tenths of them reach. */
enum mt_sureness mt_sureness_of(const uint64_t bytes[MT_SURE_COUNT]);

/* ---- rules ---- */

/*
 * A line is a category and what must be true of one frame or annotation:
 *     optimizer_state  file torch/optim/  name _init_group
 * `file` is a part of the path ('/' also for '\'), `name` a whole function name, `annotation` a
 * part of a name. The first line that fits any frame of a stack wins. '#' begins a comment.
 */
struct mt_rules;

/* The shipped rules, with the lines of `text` (.p may be NULL) in front. Caller frees with
 * mt_rules_free. Errors: MT_FORMAT (a line that is no rule; the text says which), MT_NOMEM. */
enum mt_status mt_rules_new(struct mt_str text, struct mt_rules **out, struct mt_error *err)
    MT_NODISCARD;
void mt_rules_free(struct mt_rules *r);

/* The shipped rules: lines of text with comments, NULL at the end. */
extern const char *const MT_CATEGORY_RULES[];

/* ---- sorting the allocations of a trace ---- */

/* What each allocation of a trace is for; indexes as in the replay. */
struct mt_categories {
    const struct mt_replay *replay;
    unsigned char *stacks; /* enum mt_category by stack id, UNKNOWN where no rule fits and of
                              stacks that the trace does not name */
    bool *fixed;           /* by stack id: the user's own rule fits it */
    unsigned char *events; /* enum mt_category by event; 0 where it is no alloc */
    unsigned char *ghosts; /* enum mt_category by index of replay->ghosts */
    unsigned char *events_sure, *ghosts_sure; /* enum mt_sureness of both */
};

/*
 * Sorts all allocations of the trace in r: by the `category` key of the event, else by the rules
 * for its stack, else for the annotations around it. What came from the forward part and was freed
 * before the backward part began is temporary, and so is what the backward part freed itself; what
 * an optimizer made and the next pass finds alive is its state. Sizes that match the gradients name
 * parameters and moments that no stack tells, memory older than the trace among them.
 * Linear. Errors: MT_NOMEM. Release it also after a failure.
 */
enum mt_status mt_categories_find(struct mt_categories *c, const struct mt_rules *rules,
                                  const struct mt_replay *r, struct mt_error *err) MT_NODISCARD;
void mt_categories_release(struct mt_categories *c);

/* Of one of c->replay->ghosts. */
enum mt_category mt_category_of_ghost(const struct mt_categories *c, const struct mt_ghost *g);
enum mt_sureness mt_sureness_of_ghost(const struct mt_categories *c, const struct mt_ghost *g);

#endif
