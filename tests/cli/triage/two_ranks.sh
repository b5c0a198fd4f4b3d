#!/bin/sh
# SPDX-License-Identifier: MIT
# interleaved, wrapped ranks stay apart; the first in time is the cause
cd "$TESTDATA/logs" && "$MEMTOOL" triage -v two_ranks.log
