# SPDX-License-Identifier: MIT
"$MEMTOOL" stats --json - < "$TESTDATA/good/graphs.pickle" | grep reserved_bytes | head -1
