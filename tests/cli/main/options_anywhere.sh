# Before the verb, after the file, shortened, with either of - and _, and ended by --.
want=$("$MEMTOOL" completion fish | cksum)
same() { [ "$("$MEMTOOL" "$@" | cksum)" = "$want" ] && echo same; }
same -q --color never completion fish
same completion fish --quiet
same completion --qui fish
same completion --full_path fish
same completion --full-path fish
same completion -qvv -n3 fish
same completion -q -- fish
