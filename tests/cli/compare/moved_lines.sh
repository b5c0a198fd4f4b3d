# Twelve lines were added above: the stacks stay what they were.
gzip -dc "$TESTDATA/good/plain.json.gz" >a.json
sed 's/"line": 234/"line": 246/g; s/"line": 222/"line": 223/g' a.json >b.json
cmp -s a.json b.json && echo "the edit did nothing"
"$MEMTOOL" compare --exit-code a.json b.json
"$MEMTOOL" compare --json a.json b.json | grep -c '"moved":.true'
