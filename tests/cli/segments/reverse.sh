# SPDX-License-Identifier: MIT
# Least first; the total stays below the rows.
"$MEMTOOL" segments -n 3 "$TESTDATA/good/streams.pickle"
"$MEMTOOL" segments --reverse -n 3 "$TESTDATA/good/streams.pickle"
