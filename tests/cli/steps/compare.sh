# All verbs say the same of each of these.
cd "$TESTDATA" && "${TESTDATA%/testdata}/scripts/compare-verbs" programs good/leak.pickle.gz good/transformer.pickle.gz good/graphs.pickle \
    good/true_oom.pickle good/frag_oom.pickle good/three_thieves.json.gz good/mlp.pickle.gz good/streams.pickle good/two_devices.pickle \
    good/empty_cache_each_step.pickle.gz good/one_forward_32_layers.pickle good/older_than_trace.pickle frag
