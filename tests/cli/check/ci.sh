# A CI job: budget kept, broken, file missing, each with its exit code; and the report.
cp "$TESTDATA/good/graphs.pickle" 'a<&".pickle'
cp "$TESTDATA/good/true_oom.pickle" oom.pickle
"$MEMTOOL" check --max-peak 100MiB --no-oom --junit ok.xml 'a<&".pickle' && echo kept
"$MEMTOOL" check --max-peak 100MiB --no-oom --junit broken.xml oom.pickle || echo "broken: $?"
"$MEMTOOL" check --max-peak 100MiB --no-oom --junit all.xml 'a<&".pickle' missing.pickle oom.pickle || echo "missing: $?"
cat all.xml
"$MEMTOOL" check --no-leaks --max-peak 100MiB --junit open.xml 'a<&".pickle' && cat open.xml
"$MEMTOOL" check --no-leaks --strict --junit strict.xml 'a<&".pickle' || grep -A 1 no_leaks strict.xml
"$MEMTOOL" check --max-peak 1MiB --junit ok.xml oom.pickle || echo "exists: $?"
if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom as m; [m.parse(f) for f in sys.argv[1:]]' ok.xml broken.xml all.xml open.xml
fi
"$MEMTOOL" check --max-peak 1MiB --sarif odd.sarif 'a<&".pickle' >/dev/null || grep -o '"uri":.*' odd.sarif
