# Three pages of 2 MiB, unmapped in one piece of 6 MiB: the small pool's.
"$MEMTOOL" frag --at 8 "$TESTDATA/good/small_pool_unmap.pickle"
