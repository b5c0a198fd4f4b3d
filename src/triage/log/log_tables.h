/* SPDX-License-Identifier: MIT */
/* Tables pasted into logs: memory_summary() and nvidia-smi. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_TABLES_H
#define MEMTOOL_TRIAGE_LOG_LOG_TABLES_H

#include "support/arena.h"
#include "support/vec.h"
#include "triage/triage.h"

/* Tables and cards kept; more are not looked at. */
#define MT_LOG_TABLES 64
#define MT_LOG_CARDS 64
#define MT_LOG_PROCESSES 256
/* Lines of an nvidia-smi table behind its last card. */
#define MT_LOG_SMI_LINES 80u

struct mt_tables {
    MT_VEC(struct mt_summary_table) summaries;
    MT_VEC(struct mt_smi_card) cards;
    MT_VEC(struct mt_smi_row) processes;
    const char *file;   /* name of the log that is read, borrowed */
    bool in_summary;    /* rows of the newest summary may follow */
    unsigned rows_left; /* lines after which it is over */
    size_t counted;     /* summaries whose allocated memory was taken as a step print */
    unsigned smi_left;  /* lines in which a row of nvidia-smi's processes may follow */
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

/* A row of nvidia-smi's list of processes: "|  0  N/A  N/A  31794  C  ray::IDLE  16500MiB |".
 * False: no memory; *name: as it is printed, in `clean`, to be copied. */
bool mt_tables_process(struct mt_tables *t, struct mt_str clean, struct mt_arena *arena)
    MT_NODISCARD;

#endif
