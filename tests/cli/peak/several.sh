"$MEMTOOL" peak -n 1 "$TESTDATA/good/graphs.pickle" "$TESTDATA/good/streams.pickle" | sed "s|==> .*/|==> |"
"$MEMTOOL" peak --json -n 1 "$TESTDATA/good/graphs.pickle" "$TESTDATA/good/streams.pickle" | grep -c "^{"
