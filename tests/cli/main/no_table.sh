# SPDX-License-Identifier: MIT
# A verb without a table refuses to write one, and its help does not offer it.
cp "$TESTDATA/good/streams.pickle" a.pickle
cp "$TESTDATA/logs/frag_oom.log" a.log
try() { "$MEMTOOL" "$@" >out; echo "$?: $*"; }
try info --csv a.pickle
try info --tsv a.pickle
try triage --csv a.log
try conf --csv max_split_size_mb:128
try explain --csv hole
try check --no-oom --csv a.pickle
try trace_plot --csv a.pickle
try segment_plot --csv a.pickle
try convert --csv a.pickle -o x.json
try info a.pickle -o x.csv
try conf max_split_size_mb:128 -o x.tsv
try info -n 3 a.pickle
try info a.pickle -o x.json
try convert a.pickle -o x.csv
for verb in info triage conf explain check trace_plot segment_plot convert; do
    "$MEMTOOL" $verb --help | grep -E -e '--(csv|tsv|limit)|\.csv' | sed "s/^/$verb: /"
done
for verb in explain conf; do
    "$MEMTOOL" $verb --help | grep -E -e '--(unit|exact|stack|full-path|all-frames)' | sed "s/^/$verb: /"
done
