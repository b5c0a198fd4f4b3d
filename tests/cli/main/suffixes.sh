# SPDX-License-Identifier: MIT
# A suffix that a verb cannot write is refused, and nothing is written; one that names no format is text.
cp "$TESTDATA/good/leak.pickle.gz" a.pickle.gz
cp "$TESTDATA/good/streams.pickle" b.pickle
for verb in info stats peak leaks steps frag simulate summary trace segments memory ranks trace_plot segment_plot; do
    for suffix in html gif; do
        "$MEMTOOL" $verb a.pickle.gz -o x.$suffix 2>&1 | head -n 1
    done
done
"$MEMTOOL" compare b.pickle b.pickle -o x.html
"$MEMTOOL" simulate b.pickle -o x.csv
"$MEMTOOL" triage b.pickle -o x.xlsx
ls x.*
"$MEMTOOL" memory b.pickle -o x.txt && ls x.txt
"$MEMTOOL" memory b.pickle --csv -o x.pdf && head -c 6 x.pdf
