/* SPDX-License-Identifier: MIT */
/* Edits of a program as the command line gives them. */
#ifndef MEMTOOL_CLI_EDIT_LIST_H
#define MEMTOOL_CLI_EDIT_LIST_H

#include "verbs/simulate/simulate.h"

#include "cli/command.h"

struct mt_edit_list {
    MT_VEC(struct mt_sim_edit) list;
    MT_VEC(char *) owned; /* patterns that were cut from their factor */
};

/* Of the options' texts by kind: "REGEX", for MT_SIM_SCALE "REGEX=FACTOR". Errors: MT_USAGE,
 * MT_NOMEM; release it all the same. */
enum mt_status mt_edit_list_make(struct mt_edit_list *l, const struct mt_texts *texts,
                                 const struct mt_snapshot *s, struct mt_error *err) MT_NODISCARD;
void mt_edit_list_release(struct mt_edit_list *l);

#endif
