# SPDX-License-Identifier: MIT
# Blocks taken one after the other, half of them given back before the end: no leak.
cp "$TESTDATA/good/frag_oom.pickle" fill.pickle
"$MEMTOOL" leaks fill.pickle | head -n 2
"$MEMTOOL" leaks --json fill.pickle | grep -e verdict -e reason
"$MEMTOOL" check --no-leaks fill.pickle
