# What is wrong with the call is said before anything is read.
cp "$TESTDATA"/fit/lstm_2.pickle.gz "$TESTDATA"/fit/lstm_3.pickle.gz .
for how in "--advise" "--card 1MiB" "--card nothing" "--sizes 2" "--sizes 2,x" "--sizes 2,0" "--sizes 2,2" "--sizes 2,3 --conf nonsense:1" "--sizes 2,3 --torch none"; do
    # shellcheck disable=SC2086 # words on purpose
    "$MEMTOOL" fit $how lstm_2.pickle.gz lstm_3.pickle.gz
    echo "exit $?"
done 2>&1
cp lstm_2.pickle.gz one.gz
cp lstm_3.pickle.gz other.gz
"$MEMTOOL" fit one.gz other.gz 2>&1
echo "exit $?"
# a file without what is wanted is no fault of the command line
printf '{"segments": [], "device_traces": [[]]}' >bare.json
cp bare.json bare2.json
"$MEMTOOL" fit --sizes 1,2 bare.json bare2.json 2>&1
echo "exit $?"
"$MEMTOOL" fit --sizes 1,2 --device 5 "$TESTDATA/good/graphs.pickle" "$TESTDATA/good/frag_oom.pickle" 2>&1
echo "exit $?"
# a key that the release of the recordings did not have yet
"$MEMTOOL" fit --sizes 1,2 --conf expandable_segments:True "$TESTDATA/good/torch20_history_oom.pickle.gz" "$TESTDATA/good/frag_oom.pickle" 2>&1
echo "exit $?"
