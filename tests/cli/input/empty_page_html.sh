# SPDX-License-Identifier: MIT
cd "$TESTDATA/bad" && "$MEMTOOL" stats empty_page.html
