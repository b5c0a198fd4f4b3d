# The state at another moment than the dump, from the trace undone; a device without the moment is left out.
cp "$TESTDATA/good/frag_oom.pickle" a.pickle
cp "$TESTDATA/good/two_devices.pickle" b.pickle
"$MEMTOOL" stats --at peak a.pickle | sed -n 1,10p
"$MEMTOOL" stats --at step:2 b.pickle | sed -n 1,8p
"$MEMTOOL" stats --at end a.pickle >end
"$MEMTOOL" stats a.pickle | cmp - end
"$MEMTOOL" stats --json --at oom a.pickle | grep -E '"(at|reserved_bytes|allocated_bytes)"' | head -n 3
"$MEMTOOL" stats --at step:9999 a.pickle 2>&1 || echo "exit $?"
"$MEMTOOL" stats --at annotation:none a.pickle 2>&1 || echo "exit $?"
"$MEMTOOL" stats --at step:x a.pickle 2>&1 || echo "exit $?"
