#!/bin/sh
# SPDX-License-Identifier: MIT
# the snapshot of the same failure: holes, pins, replays
cd "$TESTDATA" && "$MEMTOOL" triage logs/frag_oom.log good/frag_oom.pickle
