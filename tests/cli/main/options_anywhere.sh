# Before the verb, after the file, shortened, with either of - and _, and ended by --.
want=$("$MEMTOOL" explain fragmentation | cksum)
same() { [ "$("$MEMTOOL" "$@" | cksum)" = "$want" ] && echo same; }
same -q --color never explain fragmentation
same explain fragmentation --quiet
same explain --qui fragmentation
same explain --full_path fragmentation
same explain --full-path fragmentation
same explain -qvv -n3 fragmentation
same explain -q -- fragmentation
