#!/bin/sh
# SPDX-License-Identifier: MIT
# what is in force is not advised again
cd "$TESTDATA/logs" && "$MEMTOOL" triage --device-used 43GiB limit.log
