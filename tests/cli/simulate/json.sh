# SPDX-License-Identifier: MIT
"$MEMTOOL" simulate --json --conf expandable_segments:True "$TESTDATA/good/frag_oom.pickle" |
    grep -vE '"(allocation|active|segment|inactive_split|oversize)[a-z_]*[.]|memtool|"file"'
