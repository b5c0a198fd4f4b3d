/* SPDX-License-Identifier: MIT */
/* What of a program a cure would change: found in its lifetimes and stacks. */
#ifndef MEMTOOL_SIM_SUBJECTS_H
#define MEMTOOL_SIM_SUBJECTS_H

#include "verbs/simulate/cures.h"
#include "verbs/simulate/edits/sim_edit.h"

struct mt_sim_subject {
    enum mt_sim_cure_kind kind;
    uint32_t frame;
    bool *stacks;                      /* by stack id, owned */
    uint64_t sizes[MT_SIM_EDIT_SIZES]; /* these alone, the first the largest of the loss; 0: all */
};

enum { MT_SIM_SUBJECTS = 8 };
struct mt_sim_subjects {
    struct mt_sim_subject v[MT_SIM_SUBJECTS];
    size_t n;
};

/* Errors: MT_NOMEM; release it all the same. */
enum mt_status mt_sim_find_subjects(const struct mt_sim *sim, struct mt_sim_subjects *out,
                                    struct mt_error *err) MT_NODISCARD;
void mt_sim_subjects_release(struct mt_sim_subjects *s);

#endif
