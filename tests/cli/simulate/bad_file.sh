# SPDX-License-Identifier: MIT
cd "$TESTDATA/bad" && "$MEMTOOL" simulate truncated.pickle
