/* SPDX-License-Identifier: MIT */
/* Which annotation marks the step of a loop, by its name. */
#ifndef MEMTOOL_SNAPSHOT_MODEL_STEP_NAME_H
#define MEMTOOL_SNAPSHOT_MODEL_STEP_NAME_H

#include "support/str.h"

/* Behind a masked name stand so many of these as its rank was. */
#define MT_STEP_NAME_SIGN '~'

/* How surely the name marks a step: 0 (it does not), then words such as "step", the optimizer's own
 * mark, and torch.profiler's. A name that mt_view_anonymize has masked keeps its rank. */
int mt_step_name_rank(struct mt_str name);

#endif
