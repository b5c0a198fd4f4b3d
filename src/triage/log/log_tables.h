/* SPDX-License-Identifier: MIT */
/* Tables pasted into logs: memory_summary() and nvidia-smi. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_TABLES_H
#define MEMTOOL_TRIAGE_LOG_LOG_TABLES_H

#include "support/vec.h"
#include "triage/triage.h"

/* Tables and cards kept; more are not looked at. */
#define MT_LOG_TABLES 64
#define MT_LOG_CARDS 64

struct mt_tables {
    MT_VEC(struct mt_summary_table) summaries;
    MT_VEC(struct mt_smi_card) cards;
    const char *file;   /* name of the log that is read, borrowed */
    bool in_summary;    /* rows of the newest summary may follow */
    unsigned rows_left; /* lines after which it is over */
};

void mt_tables_release(struct mt_tables *t);

/* A line with the title of a summary. False: no memory. */
bool mt_tables_title(struct mt_tables *t, struct mt_str squeezed, uint64_t number) MT_NODISCARD;

/* A line that may be a row of the open summary. False: no memory. */
bool mt_tables_row(struct mt_tables *t, struct mt_str clean) MT_NODISCARD;

/* A line of nvidia-smi: "|  0  Tesla V100 ..." names a card, "15109MiB / 16160MiB" tells its use.
 * False: no memory. */
bool mt_tables_smi(struct mt_tables *t, struct mt_str squeezed, struct mt_str before,
                   uint64_t number) MT_NODISCARD;

#endif
