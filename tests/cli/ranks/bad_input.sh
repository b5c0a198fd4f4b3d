cp "$TESTDATA/good/graphs.pickle" rank0.pickle
cp "$TESTDATA/good/graphs.pickle" rank1.pickle
echo 'not a snapshot' >notes.json
mkdir empty
try() { "$MEMTOOL" ranks "$@" || echo "exit $?"; }
try
try missing.pickle
try empty
try notes.json
# what can be read is compared, and the exit code tells
try rank0.pickle missing.pickle rank1.pickle
# in a folder, what is no snapshot is passed over
try . | tail -n 1
echo '{"memtool":"0.1.0","schema":"info/1"}' | try -
echo '{"memtool":"0.1.0","schema":"stats/1","devices":[{"reserved_bytes":-1}]} {"x":1}' | try -
echo '{"memtool":"0.1.0","schema":"peak/1","file":"a","devices":[{"peak_requested_bytes":1e30,"stacks":[{"bytes":"x"},7]}]}' | try -
try --threshold -1 rank0.pickle
