# A rank that died leaves a file that is cut off or empty, or none: it is named, and the exit code tells, whichever way the
# files were given.
mkdir job
for i in 0 1 2 3 4 6 7; do cp "$TESTDATA/good/graphs.pickle" job/rank$i.pickle; done
head -c 5000 "$TESTDATA/good/graphs.pickle" >job/rank2.pickle
: >job/rank7.pickle
"$MEMTOOL" ranks job | grep -v graphs || echo "exit $?"
"$MEMTOOL" ranks job >/dev/null || echo "exit $?"
"$MEMTOOL" ranks job/*.pickle >/dev/null || echo "exit $?"
"$MEMTOOL" ranks --json --world-size 12 job | sed -n '/"missing"/,$p'
rm job/rank2.pickle job/rank7.pickle
"$MEMTOOL" ranks job/rank0.pickle job/rank1.pickle && echo "two ranks are a job"
