# SPDX-License-Identifier: MIT
# With more room the failed request is served, and what is assumed is said.
"$MEMTOOL" simulate --limit 4GiB --conf expandable_segments:True "$TESTDATA/good/frag_oom.pickle"
