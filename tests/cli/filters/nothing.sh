# SPDX-License-Identifier: MIT
# A filter that names what is not in the file, or hides everything, gives no verdict.
cd "$TESTDATA/good" || exit
for options in "leaks --stream 99 leak.pickle.gz" "stats --frame nomatch mlp.pickle.gz" \
    "peak --stream 99 mlp.pickle.gz" "stats --device 7 mlp.pickle.gz" "trace --device 7 mlp.pickle.gz" \
    "segments --pool private mlp.pickle.gz" "memory --pool 0,7 mlp.pickle.gz" \
    "trace_plot --annotation no-such mlp.pickle.gz" "frag --size 1PiB: mlp.pickle.gz" \
    "check --no-leaks --stream 0x999999 streams.pickle" "peak --stream 77 streams.pickle" \
    "compare --device 7 mlp.pickle.gz leak.pickle.gz" "convert --device 7 mlp.pickle.gz -fo out.pickle" \
    "peak --frame . --not-frame . mlp.pickle.gz" "stats --events 1000000: mlp.pickle.gz"; do
    "$MEMTOOL" $options 2>&1; echo "$options: exit $?"
done
"$MEMTOOL" trace --size 1PiB: mlp.pickle.gz | tail -n 1
