cp "$TESTDATA/good/graphs.pickle" good.pickle
cp "$TESTDATA/good/true_oom.pickle" oom.pickle
gzip -dc "$TESTDATA/good/leak.pickle.gz" >leak.pickle
gzip -dc "$TESTDATA/good/transformer.pickle.gz" >flat.pickle
try() { "$MEMTOOL" check "$@"; echo "exit $?"; }
try --max-peak 95MiB good.pickle
try --max-peak 94MiB good.pickle
try --max-peak 99360784 good.pickle
try --max-peak 99360783 good.pickle
try --max-reserved 112MiB --max-frag 20% --no-oom good.pickle
try --max-reserved 111MiB --max-frag 0.1 good.pickle
try --no-oom oom.pickle
try --no-leaks flat.pickle
try --no-leaks leak.pickle
try --no-leaks good.pickle
try --no-leaks --strict good.pickle
try --base good.pickle --max-growth 5% good.pickle
try --base good.pickle --max-growth 5% flat.pickle
try --base flat.pickle --max-growth 0 good.pickle
try --max-peak 1GiB --no-oom good.pickle oom.pickle leak.pickle
try -v --max-peak 1GiB --no-leaks leak.pickle 2>/dev/null
# with a filter, what it lets through: as `peak` says
"$MEMTOOL" peak --frame _init_group flat.pickle | head -n 1
try --max-peak 55MiB --frame _init_group flat.pickle
# a cache that can be given back is not fragmentation, in expandable segments neither
cp "$TESTDATA/good/expandable_transformer.pickle.gz" pages.pickle
cp "$TESTDATA/good/frag_oom.pickle" cut.pickle
try --max-frag 20% flat.pickle pages.pickle cut.pickle
