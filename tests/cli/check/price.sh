# What the cache serves after warm-up, and how often a step asks the driver
cd "$TESTDATA/good" || exit
for x in transformer.pickle.gz empty_cache_each_step.pickle.gz pinned.pickle; do
    "$MEMTOOL" check --min-hits 95% --max-driver-calls 0 $x
    echo "$?"
done
"$MEMTOOL" check --strict --min-hits 0.5 pinned.pickle
"$MEMTOOL" check --json --min-hits 0.9 --max-driver-calls 2 empty_cache_each_step.pickle.gz | grep -A 30 '"results"'
