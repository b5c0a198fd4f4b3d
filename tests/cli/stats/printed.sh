# SPDX-License-Identifier: MIT
# memory_stats() as people keep it: JSON, a dictionary in a log, pprint, part of one.
cp "$TESTDATA"/stats/* .
"$MEMTOOL" stats memory_stats.json
gzip -k ordered_dict.log
"$MEMTOOL" stats ordered_dict.log.gz part.json
"$MEMTOOL" stats --json printed.txt | sed -n 4,20p
