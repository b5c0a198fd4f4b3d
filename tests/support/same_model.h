/* SPDX-License-Identifier: MIT */
/* Compares two snapshots by what they say, not by how their ids came about. */
#ifndef MEMTOOL_TESTS_SAME_MODEL_H
#define MEMTOOL_TESTS_SAME_MODEL_H

#include "snapshot/model/model.h"

/* NULL when equal, else the name of the first thing that differs. */
const char *same_model(const struct mt_snapshot *a, const struct mt_snapshot *b);

/* Reads $TESTDATA/<name> (packed or not) whole into memory; the caller frees. Fails the test when
 * it cannot. */
unsigned char *read_testdata(const char *name, size_t *n);

#endif
