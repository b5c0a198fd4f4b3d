# SPDX-License-Identifier: MIT
# What is only shown never refuses a file: it is kept, shown as unknown, and counted.
cp "$TESTDATA/good/line_minus_one_as_size_t.pickle" "$TESTDATA/good/odd_shown.json" .
"$MEMTOOL" info -qv line_minus_one_as_size_t.pickle | grep note
"$MEMTOOL" peak --stack full --all-frames line_minus_one_as_size_t.pickle | sed -n 5,9p
"$MEMTOOL" info odd_shown.json
"$MEMTOOL" info -qv odd_shown.json | grep nothing
"$MEMTOOL" trace odd_shown.json
"$MEMTOOL" convert -q odd_shown.json -o odd.pickle && "$MEMTOOL" convert -q odd.pickle -o again.json
"$MEMTOOL" convert -q odd_shown.json -o once.json && cmp once.json again.json && echo "kept by convert"
