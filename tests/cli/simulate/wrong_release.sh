# SPDX-License-Identifier: MIT
"$MEMTOOL" simulate --torch two "$TESTDATA/good/graphs.pickle"
