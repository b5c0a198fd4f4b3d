/* SPDX-License-Identifier: MIT */
/* Captures what a report prints. */
#ifndef MEMTOOL_TESTS_PRINT_H
#define MEMTOOL_TESTS_PRINT_H

#include "print/report.h"

/* A report into memory: everything at its plainest. End with print_end. */
struct print {
    struct mt_report r;
    char *text;
    size_t n;
};

void print_begin(struct print *p);

/* Closes the stream; p->text then holds what was printed, until print_free. */
void print_end(struct print *p);
void print_free(struct print *p);

#endif
