/* SPDX-License-Identifier: MIT */
/*
 * A snapshot as a tree of dictionaries, lists and scalars, handed to a writer piece by piece. The
 * walk (document.c) knows PyTorch's keys and the model; the writers know one syntax each.
 */
#ifndef MEMTOOL_SNAPSHOT_WRITE_DOCUMENT_H
#define MEMTOOL_SNAPSHOT_WRITE_DOCUMENT_H

#include "snapshot/model/model.h"
#include "snapshot/write/sink.h"

/* Words that memtool itself knows (keys, actions, states) have numbers below this. */
size_t mt_document_n_words(void);
struct mt_str mt_document_word(size_t word);

enum mt_document_kind { MT_DOCUMENT_LIST, MT_DOCUMENT_TUPLE, MT_DOCUMENT_DICT };

/* What a pickle writes once and refers to afterwards, beside strings. */
enum mt_shared { MT_SHARED_FRAME, MT_SHARED_STACK };

/*
 * The writer's side. In a DICT, keys and values come in turn. Failures stick in the sink, so
 * nothing returns a status.
 */
struct mt_document_ops {
    void (*none)(void *writer);
    void (*boolean)(void *writer, bool b);
    void (*integer)(void *writer, uint64_t magnitude, bool negative);
    void (*big)(void *writer, struct mt_str digits); /* decimal, with an optional minus */
    void (*real)(void *writer, double x);
    void (*word)(void *writer, size_t word);
    void (*string)(void *writer, uint32_t id);
    void (*bytes)(void *writer, uint32_t id);
    /* n items, or pairs of a DICT; `rows`: each item deserves a line of its own. */
    void (*begin)(void *writer, enum mt_document_kind c, size_t n, bool rows);
    void (*end)(void *writer);
    /* True when the writer has written a reference in its place; NULL when it never does. */
    bool (*refer)(void *writer, enum mt_shared kind, uint32_t id);
    /* The next container to begin is this one: later calls of `refer` may find it. May be NULL. */
    void (*remember)(void *writer, enum mt_shared kind, uint32_t id);
};

/* Walks all of s. Stops early when the sink has failed. */
void mt_document_walk(const struct mt_snapshot *s, const struct mt_document_ops *ops, void *writer,
                      struct mt_sink *sink);

#endif
