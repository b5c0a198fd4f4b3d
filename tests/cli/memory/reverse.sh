# SPDX-License-Identifier: MIT
# Least first; the total stays below the rows. And a stream by its number, which hides the others.
"$MEMTOOL" memory --reverse -n 3 "$TESTDATA/good/aliases.pickle"
"$MEMTOOL" memory --stream 1 "$TESTDATA/good/streams.pickle"
