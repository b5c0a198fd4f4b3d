#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$TESTDATA/good" && "$MEMTOOL" triage true_oom.pickle && "$MEMTOOL" triage leak.pickle.gz
