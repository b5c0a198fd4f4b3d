# Three pages of 2 MiB, unmapped in one piece of 6 MiB: the small pool's.
"$MEMTOOL" segment_plot --at 8 --ascii "$TESTDATA/good/small_pool_unmap.pickle"
