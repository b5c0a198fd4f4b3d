#!/bin/sh
# SPDX-License-Identifier: MIT
# a snapshot of another failure is told apart
cd "$TESTDATA" && "$MEMTOOL" triage logs/frag_oom.log good/true_oom.pickle | grep -A2 "not of this"
