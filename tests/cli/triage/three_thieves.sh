"$MEMTOOL" triage "$TESTDATA/good/three_thieves.json.gz" | sed -n "/^VERDICT/,/^ 1/p"
