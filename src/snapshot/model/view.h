/* SPDX-License-Identifier: MIT */
/*
 * A snapshot with changes: parts cut out, names replaced. The view shares with its original all
 * that it does not change, so the original must outlive it. Changes may follow one another; each is
 * made in place on view->s.
 */
#ifndef MEMTOOL_SNAPSHOT_MODEL_VIEW_H
#define MEMTOOL_SNAPSHOT_MODEL_VIEW_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_view {
    struct mt_snapshot s; /* owner is NULL: mt_snapshot_release must not be called on it */
    MT_VEC(void *) owned;
};

/* A view without changes. */
void mt_view_init(struct mt_view *v, const struct mt_snapshot *s);
void mt_view_release(struct mt_view *v);

/* Cleared memory that lives as long as the view; NULL when out of memory. */
void *mt_view_alloc(struct mt_view *v, size_t count, size_t size) MT_NODISCARD;
/* The same, with a copy of the `count` items at `p`. */
void *mt_view_copy(struct mt_view *v, const void *p, size_t count, size_t size) MT_NODISCARD;

/* For a snapshot whose records are others than those of the view: unknown keys may hold records of
 * the kinds that memtool knows, which lie among the others and are named by their index. Those
 * values become None in *out. False: no memory. */
bool mt_view_forget_records(struct mt_view *v, struct mt_snapshot *out) MT_NODISCARD;

/*
 * Takes away every call stack: events are without, segments and blocks have empty lists, history
 * entries lose theirs, unknown keys that hold stacks (cpp_frames, forward_frames) go. The frames of
 * user_defined events stay: they hold the names of annotations. Errors: MT_NOMEM.
 */
enum mt_status mt_view_drop_frames(struct mt_view *v, struct mt_error *err) MT_NODISCARD;

/* Secret of mt_view_anonymize: names under the same key stay comparable from file to file. */
struct mt_mask_key {
    uint64_t a, b;
};

/* A key made from a text that the user chose. */
struct mt_mask_key mt_mask_key_from(struct mt_str salt);

/*
 * Replaces names by numbers that stand for them: each run of letters, digits and underscores in a
 * file name, function name, annotation, note of the user or unknown value becomes 14 digits (in
 * text: letters), a keyed hash (SipHash-2-4) of it. Slashes, dots, brackets and the suffixes of
 * source files stay, so that folders and stacks keep their structure; so do numbers that stand
 * alone or at the end of words in text, and the words of the file's writer (keys, actions, states,
 * categories, START and END, settings). Annotations that mark steps can still be told by
 * mt_step_name_rank. Errors: MT_NOMEM, MT_LIMIT (too many strings for 32-bit ids).
 */
enum mt_status mt_view_anonymize(struct mt_view *v, struct mt_mask_key key, struct mt_error *err)
    MT_NODISCARD;

#endif
