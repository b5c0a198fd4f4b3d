# Programs whose steps and leaks are known (testdata/programs/programs.tsv): what leaks, steps and triage make of them.
cd "$TESTDATA/programs" || exit
tail -n +2 programs.tsv | while IFS='	' read -r name what; do
    echo "$name: $what"
    "$MEMTOOL" leaks "$name.json.gz" 2>/dev/null | grep -v '^note' | head -1 | sed 's/^/    /'
    "$MEMTOOL" steps "$name.json.gz" 2>/dev/null | grep -v '^note' | head -1 | sed 's/^/    /'
    "$MEMTOOL" triage "$name.json.gz" 2>/dev/null | sed -n 's/^VERDICT */    triage: /p'
done
