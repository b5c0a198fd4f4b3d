#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$TESTDATA/logs" && "$MEMTOOL" triage --exit-code leak.log >/dev/null
