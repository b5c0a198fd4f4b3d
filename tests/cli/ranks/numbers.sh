# Where the number of a rank comes from.
mkdir a_rank7 b_rank8
for f in a_rank7/snap b_rank8/snap; do cp "$TESTDATA/good/graphs.pickle" $f.pickle; done
"$MEMTOOL" ranks --csv a_rank7/snap.pickle b_rank8/snap.pickle | cut -d, -f 1,7
for f in iteration_20_rank3_exit oom_rank-12_x mem.4 Rank_05; do cp "$TESTDATA/good/graphs.pickle" $f.pickle; done
"$MEMTOOL" ranks --csv *.pickle | cut -d, -f 1,7
for f in x y; do cp "$TESTDATA/good/graphs.pickle" $f.pickle; done
"$MEMTOOL" ranks --csv x.pickle y.pickle | cut -d, -f 1,7
"$MEMTOOL" ranks '?.pickle' | tail -n 1
