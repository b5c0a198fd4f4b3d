#!/bin/sh
# SPDX-License-Identifier: MIT
# a look-alike is no GPU event, also for --exit-code
cd "$TESTDATA/logs" && "$MEMTOOL" triage --exit-code killed.log
