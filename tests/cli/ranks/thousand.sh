# A thousand results: one of them is odd.
"$MEMTOOL" peak --json -n 6 "$TESTDATA/ranks/mem_rank0.pickle.gz" "$TESTDATA/ranks/mem_rank2.pickle.gz" >two
{
    i=0
    while [ $i -lt 1000 ]; do
        if [ $i = 321 ]; then sed -n 2p two; else sed -n 1p two; fi | sed "s|\"file\":\"[^\"]*\"|\"file\":\"/dumps/rank$i.pickle\"|"
        i=$((i + 1))
    done
} >results
wc -l <results
"$MEMTOOL" ranks -n 3 results
