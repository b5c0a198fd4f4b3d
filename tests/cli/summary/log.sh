# Tables with the prefixes of a logger, an abbreviated one, one of the old units.
for file in graphs streams transformer.pickle.gz; do
    case $file in *.gz) ;; *) file=$file.pickle ;; esac
    "$MEMTOOL" summary "$TESTDATA/good/$file" | sed "s/^/2026-03-01 12:00:00 | INFO | rank0: /"
    echo "epoch done"
done >train.log
"$MEMTOOL" summary "$TESTDATA/good/true_oom.pickle" | grep -v "pool" | sed "s/KiB/KB /g; s/MiB/MB /g" >>train.log
"$MEMTOOL" summary train.log
"$MEMTOOL" summary --csv train.log
"$MEMTOOL" summary --json train.log | grep -E "line|allocated_bytes.all.current|num_ooms"
