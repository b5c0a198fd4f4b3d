# SPDX-License-Identifier: MIT
# A size without a unit that cannot be meant is refused, and a number that can is taken.
cp "$TESTDATA/good/transformer.pickle.gz" a.pickle
try() { "$MEMTOOL" "$@" >out; code=$?; echo "$code: $*"; }
try estimate --params 7B --card 80
try estimate --params 7B --card 1.5
try estimate --params 7B --card h300
try estimate --params 7B --workspace 128
try estimate --params 7B --context 0
try estimate --params 7
try estimate --params 1.5
try simulate --limit 1.9 a.pickle
try simulate --capacity 80 a.pickle
try leaks --capacity 80 a.pickle
try leaks --threshold 2.5 a.pickle
try leaks --threshold 100 a.pickle
try ranks --capacity 80 a.pickle
try trace_plot --capacity 80 -o x.svg a.pickle
try check --max-peak 70 a.pickle
try check --max-peak 70foo a.pickle
try check --max-reserved 1 a.pickle
try check --max-growth 0 --base a.pickle a.pickle
try check --max-growth 12 --base a.pickle a.pickle
try check --max-growth foo --base a.pickle a.pickle
try check --max-peak 99360784 a.pickle
try segments --size 1.5:2MiB a.pickle
