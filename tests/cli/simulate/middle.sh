# SPDX-License-Identifier: MIT
# A ring that overflowed.
"$MEMTOOL" simulate --no-what-if "$TESTDATA/good/context_ring3.pickle"
