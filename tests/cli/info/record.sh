# Who wrote a recording of a whole process, and who holds the card in it.
cd "$TESTDATA/good" || exit
"$MEMTOOL" info record_heat.pickle record_train.pickle | grep -v time
"$MEMTOOL" info --json record_heat.pickle graphs.pickle | grep -o '"capture_mode":[^,]*'
