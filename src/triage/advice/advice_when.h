/* SPDX-License-Identifier: MIT */
/* The conditions that rows of advice name: mt_if_<name> of each. */
#ifndef MEMTOOL_TRIAGE_ADVICE_ADVICE_WHEN_H
#define MEMTOOL_TRIAGE_ADVICE_ADVICE_WHEN_H

#include "triage/advice/advice.h"

/* Those that rows name; a row declares its own. */
#define STEP(id, who, phases, verdicts, when, text, command, why)                                  \
    bool mt_if_##when(const struct mt_advisor *a);
#define HINT(id, who, phases, verdicts, when, text, why)                                           \
    bool mt_if_##when(const struct mt_advisor *a);
#include "triage/advice/advice_host.def"
#include "triage/advice/advice_torch.def"
#include "triage/advice/advice_programs.def"
#include "triage/advice/advice_frameworks.def"
#include "triage/advice/advice_last.def"
#undef STEP
#undef HINT

/* Those that others are made of. */
bool mt_if_before_torch_2_1(const struct mt_advisor *a);
bool mt_if_is_torch(const struct mt_advisor *a);

/* What the conditions and the formulas share. */

/* PyTorch releases up to 1.9 read no settings; expandable segments came with 2.1. */
bool mt_facts_has_no_settings(const struct mt_facts *f);
bool mt_facts_may_expand(const struct mt_facts *f);
/* The process that a table of nvidia-smi in the log names as holding most of this card beside this
 * process; NULL: none. */
const struct mt_smi_row *mt_facts_holder(const struct mt_facts *f);
/* Held by others on the card, or not explained by this process. */
uint64_t mt_facts_others(const struct mt_facts *f);

#endif
