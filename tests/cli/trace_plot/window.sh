# A window: what is alive from before still counts; filters drop the rest.
"$MEMTOOL" trace_plot --ascii --events 10:30 --device 0 "$TESTDATA/good/streams.pickle" | sed -n 2p
"$MEMTOOL" trace_plot --ascii --time 50ms:52ms "$TESTDATA/good/streams.pickle" | sed -n 2p
"$MEMTOOL" trace_plot --ascii --size 1MiB: "$TESTDATA/good/streams.pickle" | sed -n 2p
"$MEMTOOL" trace_plot --ascii --filter_freed "$TESTDATA/good/streams.pickle" | sed -n 2p
"$MEMTOOL" trace_plot --ascii --live "$TESTDATA/good/streams.pickle" | sed -n 2p
