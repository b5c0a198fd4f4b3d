# SPDX-License-Identifier: MIT
# Free pages of expandable segments are a cache, although live blocks lie beside them.
"$MEMTOOL" frag "$TESTDATA/good/expandable_transformer.pickle.gz"
"$MEMTOOL" stats "$TESTDATA/good/expandable_transformer.pickle.gz" | grep 'fragmentation '
"$MEMTOOL" frag --json "$TESTDATA/good/expandable_transformer.pickle.gz" | grep -A 12 '"class"'
