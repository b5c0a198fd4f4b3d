# One snapshot in every container, in several orders of keys: the same figures.
devices() { "$MEMTOOL" stats --json "$1" | sed 1,4d; }
devices "$TESTDATA/good/graphs.pickle" >expected
for f in protocol0.pickle protocol1.pickle protocol2.pickle protocol3.pickle protocol5.pickle plain.json.gz \
    pickle.gz torch_save.pt trailing_nuls.pickle page.html; do
    devices "$TESTDATA/good/$f" | cmp -s - expected && echo "$f: same" || echo "$f: differs"
done
