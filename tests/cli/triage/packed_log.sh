#!/bin/sh
# SPDX-License-Identifier: MIT
gzip -c <"$TESTDATA/logs/leak.log" >job.log.gz
"$MEMTOOL" triage job.log.gz
