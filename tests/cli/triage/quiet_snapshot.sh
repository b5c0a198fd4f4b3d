#!/bin/sh
# SPDX-License-Identifier: MIT
# no failure, and nothing at all
cd "$TESTDATA/good" && "$MEMTOOL" triage mlp.pickle.gz && "$MEMTOOL" triage empty.pickle
