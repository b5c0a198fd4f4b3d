# SPDX-License-Identifier: MIT
cd "$TESTDATA/bad" && "$MEMTOOL" stats runs_code.pickle
