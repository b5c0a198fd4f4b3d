# SPDX-License-Identifier: MIT
# A value beyond its option's range is told with the range; a memory of 0 bytes is none.
for o in "-n 99999999999999999999" "-n 18446744073709551615" "-n -1" "-n 0x" "--max-events 0" \
    "--max-input 16EiB" "--device 5000" "--stack 1000001"; do
    "$MEMTOOL" memory $o "$TESTDATA/good/graphs.pickle"
    echo "exit $?"
done
# kinds that have a parser of their own
for o in "--events -1:5" "--events 18446744073709551616:" "--size -1GiB:" "--size :99999999999999999999" \
    "--time :18446744073709551616s" "--stream 18446744073709551616" "--pool 9223372036854775808,0"; do
    "$MEMTOOL" stats $o "$TESTDATA/good/graphs.pickle"
    echo "exit $?"
done
for o in "--params -1" "--params 99999999999999999999" "--card 99999999999999999999" "--zero 4" \
    "--context -1" "--fragmentation 1e30"; do
    "$MEMTOOL" estimate --layers 1 $o
    echo "exit $?"
done
for o in "--max-peak -1" "--max-peak 16EiB" "--max-reserved 99999999999999999999"; do
    "$MEMTOOL" check $o "$TESTDATA/good/graphs.pickle"
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
