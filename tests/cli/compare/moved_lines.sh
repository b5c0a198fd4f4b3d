# Twelve lines were added above: the stacks stay what they were.
gzip -dc "$TESTDATA/good/plain.json.gz" >a.json
sed 's/"line": 234/"line": 246/g; s/"line": 222/"line": 223/g' a.json >b.json
cmp -s a.json b.json && echo "the edit did nothing"
"$MEMTOOL" compare --exit-code a.json b.json
"$MEMTOOL" compare --json a.json b.json | grep -c '"moved":.true'
# torch.compile names what it generates by a hash of it.
c=qdqazvkay3tuz374mhge4mc24xulwati2gi7csgtlyv2hzcuyvr
sed "s|\"filename\": *\"[^\"]*train[^\"]*\"|\"filename\": \"/tmp/torchinductor_a/qd/c$c.py\"|g" a.json >g.json
sed "s|c$c|cagcvroy37p5fmqmvgtvyztl5twvqzkdqytgjeq5zdw44jkthro3|g; s|torchinductor_a/qd|torchinductor_b/ag|g" g.json >h.json
"$MEMTOOL" compare g.json h.json -n 3 --full-path --stack 2
"$MEMTOOL" compare --json g.json h.json | grep -c '"generated":.true'
