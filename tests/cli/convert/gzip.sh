# SPDX-License-Identifier: MIT
# --gzip packs whatever the name says, and what comes out again is the same file.
"$MEMTOOL" convert --gzip -o packed.pickle "$TESTDATA/good/aliases.pickle"
head -c 2 packed.pickle | od -An -tx1
"$MEMTOOL" convert -o plain.pickle packed.pickle
"$MEMTOOL" convert -o direct.pickle "$TESTDATA/good/aliases.pickle"
cmp plain.pickle direct.pickle && echo same
