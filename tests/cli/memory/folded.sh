# PyTorch 2.0 kept a history in each block.
"$MEMTOOL" memory --format folded "$TESTDATA/good/torch20_history_blocks.pickle.gz" | sort | uniq -c | sort -rn | head -n 5
"$MEMTOOL" memory --format folded "$TESTDATA/good/streams.pickle" -o streams.folded
wc -l <streams.folded
