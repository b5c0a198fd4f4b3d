#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$TESTDATA/logs" && "$MEMTOOL" triage --json - <killed.log | head -6
