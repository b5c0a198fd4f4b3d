# The first lines for every container.
for f in protocol0.pickle protocol5.pickle plain.json.gz torch_save.pt page.html pickle.gz; do
    "$MEMTOOL" info "$TESTDATA/good/$f" | sed -n '2,3p'
done
