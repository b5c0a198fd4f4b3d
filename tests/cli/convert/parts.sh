# A part is a snapshot as if it had been taken at its end; figures follow.
cp "$TESTDATA/good/two_devices.pickle" snap.pickle
"$MEMTOOL" convert --device 1 snap.pickle -o one.pickle
"$MEMTOOL" stats --csv one.pickle | cut -d, -f 1-8
gzip -dc "$TESTDATA/good/transformer.pickle.gz" >big.pickle
"$MEMTOOL" convert --events :1000 big.pickle -o head.pickle
"$MEMTOOL" convert --events 1000: big.pickle -o tail.pickle
"$MEMTOOL" info --json head.pickle | grep -E '"events"'
# What lived after event 999 in the whole file lives at the end of the head, and before the tail.
"$MEMTOOL" peak --at 999 --json big.pickle | grep -m 1 peak_requested
"$MEMTOOL" peak --at end --json head.pickle | grep -m 1 peak_requested
"$MEMTOOL" peak --at start --json tail.pickle | grep -m 1 peak_requested
"$MEMTOOL" peak --at end --json tail.pickle | grep -m 1 peak_requested
"$MEMTOOL" peak --at end --json big.pickle | grep -m 1 peak_requested
"$MEMTOOL" convert --drop-frames big.pickle -o bare.pickle
"$MEMTOOL" peak bare.pickle | head -n 8
