# SPDX-License-Identifier: MIT
cd "$TESTDATA/bad" && "$MEMTOOL" stats truncated.pickle
