# SPDX-License-Identifier: MIT
# Results of several nodes whose file has one name are not taken for one rank's.
mkdir a b
cp "$(ls "$TESTDATA"/ranks/*.gz | head -1)" a/snap.pickle.gz
cp "$(ls "$TESTDATA"/ranks/*.gz | tail -1)" b/snap.pickle.gz
for d in a b; do (cd $d && "$MEMTOOL" stats --json snap.pickle.gz) >$d.json; done
cat a.json b.json | "$MEMTOOL" ranks - 2>&1
echo "exit $?"
"$MEMTOOL" ranks a.json b.json 2>&1 | head -3
cat a.json a.json | "$MEMTOOL" ranks - 2>&1 | head -1
echo "numbered:"
i=0
for d in a b; do
    python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); o["rank"] = int(sys.argv[2]); print(json.dumps(o))' $d.json $i
    i=$((i + 1))
done | "$MEMTOOL" ranks - | head -6
