#!/bin/sh
# SPDX-License-Identifier: MIT
# A log tells the segment that was asked from the driver, the snapshot the request; both are said.
cd "$TESTDATA/demo" || exit 9
"$MEMTOOL" triage -v train.log snap.pickle.gz 2>/dev/null | grep -A 1 'is the segment'
"$MEMTOOL" triage -v train.log snap.pickle.gz 2>/dev/null | grep -A 1 'expandable_segments:True:'
