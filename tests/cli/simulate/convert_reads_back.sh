# SPDX-License-Identifier: MIT
# A pickle that memtool wrote (it memoizes lists, not events) is read to the last event.
"$MEMTOOL" convert -o copy.pickle "$TESTDATA/good/transformer.pickle.gz"
"$MEMTOOL" stats --json copy.pickle | sed 1,5d >copy
"$MEMTOOL" stats --json "$TESTDATA/good/transformer.pickle.gz" | sed 1,5d >original
cmp copy original && grep '"events"' copy
