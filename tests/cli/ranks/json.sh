"$MEMTOOL" ranks --json -n 1 "$TESTDATA"/ranks/mem_rank?.pickle.gz | sed 's|"[^"]*/testdata/|"testdata/|' | grep -vE '"(name|filename|line)"'
