echo "nothing to see here" >train.log
"$MEMTOOL" summary train.log
