#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$TESTDATA/good" && "$MEMTOOL" triage --json frag_oom.pickle
