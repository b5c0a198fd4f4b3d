# SPDX-License-Identifier: MIT
# A file cut inside its list of segments: a part is never told as the whole.
head -c 3000 "$TESTDATA/good/frag_oom.pickle" > cut.pickle
"$MEMTOOL" info --salvage cut.pickle
"$MEMTOOL" stats -q --salvage --json cut.pickle | head -n 5
exit 4
