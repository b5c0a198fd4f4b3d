# what a colon belongs to, and no warning about a value that was refused
"$MEMTOOL" conf expandable_segments=True
"$MEMTOOL" conf max_split_size_mb:10
exit 0
