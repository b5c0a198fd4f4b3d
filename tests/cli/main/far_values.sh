# SPDX-License-Identifier: MIT
# A value beyond its option's range is told with the range; a memory of 0 bytes is none.
for o in "-n 99999999999999999999" "-n 18446744073709551615" "-n -1" "-n 0x" "--max-events 0" \
    "--max-input 16EiB" "--device 5000" "--stack 1000001"; do
    "$MEMTOOL" memory $o "$TESTDATA/good/graphs.pickle"
    echo "exit $?"
done
for o in "--torch 0.0" "--limit 0" "--capacity 0"; do
    "$MEMTOOL" simulate $o "$TESTDATA/good/graphs.pickle"
    echo "exit $?"
done
for verb in leaks ranks trace_plot; do
    "$MEMTOOL" $verb --capacity 0 "$TESTDATA/good/graphs.pickle"
    echo "exit $?"
done
