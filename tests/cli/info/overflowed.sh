# SPDX-License-Identifier: MIT
# A recording that says itself that it overflowed is not called one from an empty allocator on.
"$MEMTOOL" info "$TESTDATA/good/newest.pickle" | grep -E 'device 0|note'
"$MEMTOOL" info --json "$TESTDATA/good/newest.pickle" | grep -E '"(device|complete)"'
"$MEMTOOL" stats "$TESTDATA/good/newest.pickle" | grep -E 'Trace|note'
