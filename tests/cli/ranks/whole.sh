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

# What a folder or a pattern leads to is opened where it is a file: a pipe waits for ever, a device never ends.
mkfifo job/rank8.pickle
mkdir job/rank9.pickle
ln -s nowhere job/rank10.pickle
ln -s /dev/zero job/rank11.pickle
ln -s rank0.pickle job/rank12.pickle
timeout 10 "$MEMTOOL" ranks job 2>notes | head -n 2
sort notes >&2
timeout 10 "$MEMTOOL" ranks 'job/*.pickle' 2>notes | tail -n 1
sort notes >&2
