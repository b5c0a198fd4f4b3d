# SPDX-License-Identifier: MIT
cd "$TESTDATA/bad" && "$MEMTOOL" stats --salvage --json truncated.pickle | grep -E "\"(events|segments)\"" | head -2
