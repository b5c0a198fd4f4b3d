# SPDX-License-Identifier: MIT
# --live and --freed count what trace_plot counts.
cd "$TESTDATA/good" || exit 1
for fate in --live --freed; do
    "$MEMTOOL" peak $fate transformer.pickle.gz | head -n 2
    "$MEMTOOL" trace_plot $fate transformer.pickle.gz | sed -n 2p
done
"$MEMTOOL" leaks --live leak.pickle.gz
"$MEMTOOL" frag --freed leak.pickle.gz
