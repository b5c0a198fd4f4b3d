# SPDX-License-Identifier: MIT
# What is worth trying; the limit is inferred from the refusal.
"$MEMTOOL" simulate "$TESTDATA/good/frag_oom.pickle"
