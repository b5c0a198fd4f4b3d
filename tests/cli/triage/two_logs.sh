#!/bin/sh
# SPDX-License-Identifier: MIT
# Each log keeps its own events, counts and verdict.
cd "$TESTDATA/logs" && "$MEMTOOL" triage two_ranks.log leak.log fragmented.log killed.log |
    sed -n '/^VERDICT/,/^$/p; /^WITH/,$p'
