#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$TESTDATA/logs" && "$MEMTOOL" triage leak.log
