# A report goes to the file of -o, and its name says in which form; an option goes before the name.
cp "$TESTDATA"/good/graphs.pickle "$TESTDATA"/logs/* . 2>/dev/null
"$MEMTOOL" triage -o verdict.json "$(ls ./*.log | head -n 1)" && head -c 1 verdict.json && echo
"$MEMTOOL" triage -o verdict.txt "$(ls ./*.log | head -n 1)" && grep -c VERDICT verdict.txt
"$MEMTOOL" peak -o peak.json graphs.pickle && head -c 1 peak.json && echo
"$MEMTOOL" stats -o stats.csv graphs.pickle && head -n 1 stats.csv
"$MEMTOOL" frag --csv -o frag.json graphs.pickle && head -n 1 frag.json
