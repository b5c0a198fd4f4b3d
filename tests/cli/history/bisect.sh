# A growth of 1 % in one of 200 runs: history names it, and a bisection over the same runs finds it in 8 checks.
export SOURCE_DATE_EPOCH=1700000000
cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" check --history one.ndjson --commit c0 snap.pickle
cat one.ndjson
run() { sed "s/\"commit\":\"c0\"/\"commit\":\"$1\"/; s/\"peak_requested_bytes\":[0-9]*/\"peak_requested_bytes\":$2/" one.ndjson; }
i=0
while [ $i -lt 200 ]; do
    peak=$((100000000 + i % 7 * 1000))
    [ $i -ge 137 ] && peak=$((peak + 1100000))
    [ $i = 50 ] && peak=150000000
    run "c$i" $peak
    i=$((i + 1))
done >runs.ndjson
"$MEMTOOL" history -n 3 runs.ndjson
"$MEMTOOL" history runs.ndjson -o trend.svg && tr "<>" "\n\n" <trend.svg | grep "run\|base\|allowed\|MiB" | grep -v "^run [0-9]*[1-9],"
"$MEMTOOL" history --json runs.ndjson | grep -E 'first_bad|base|limit'
good=0 bad=199 tries=0
while [ $((bad - good)) -gt 1 ]; do
    middle=$(((good + bad) / 2)) tries=$((tries + 1))
    sed -n "1,$((middle + 1))p" runs.ndjson >here
    if "$MEMTOOL" history --against-commit c0 --json here | grep -q 'first_bad":.null'; then good=$middle; else bad=$middle; fi
done
echo "c$bad after $tries tries"
# The next run is held against the best, the median, or a commit.
"$MEMTOOL" check --history one.ndjson snap.pickle
sed -i 's/"peak_requested_bytes":[0-9]*/"peak_requested_bytes":90000000/' one.ndjson
"$MEMTOOL" check --history one.ndjson --tolerance 5 snap.pickle || echo "exit $?"
"$MEMTOOL" check --history one.ndjson --tolerance 5 --tolerance-bytes 10MiB --against median snap.pickle && wc -l <one.ndjson
"$MEMTOOL" check --history one.ndjson --against-commit nope snap.pickle || echo "exit $?"
echo '{"a":1}' >bad.ndjson
"$MEMTOOL" history bad.ndjson || echo "exit $?"
: >empty.ndjson
"$MEMTOOL" history empty.ndjson
