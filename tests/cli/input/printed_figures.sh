# SPDX-License-Identifier: MIT
# A verb that needs requests or stacks says what memory_stats() can be asked.
cd "$TESTDATA/stats" || exit
for verb in trace peak segments frag memory simulate steps trace_plot segment_plot ranks; do
    "$MEMTOOL" $verb memory_stats.json
done
"$MEMTOOL" compare memory_stats.json printed.txt
"$MEMTOOL" convert -o out.json printed.txt
