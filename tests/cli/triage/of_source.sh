#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines of source are no event.
cd "$TESTDATA/logs/programs" || exit
for log in source; do
    "$MEMTOOL" triage "$log.log"
done
