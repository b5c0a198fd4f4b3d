# SPDX-License-Identifier: MIT
cd "$TESTDATA/bad" && "$MEMTOOL" stats not_blocks.json
