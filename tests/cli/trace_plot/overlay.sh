# Two files over one another: steps on steps, where they part, and what each does beyond; a picture says the same.
"$MEMTOOL" trace_plot "$TESTDATA/good/transformer.pickle.gz" "$TESTDATA/good/leak.pickle.gz" --ascii
"$MEMTOOL" trace_plot "$TESTDATA/ranks/mem_rank0.pickle.gz" "$TESTDATA/ranks/mem_rank1.pickle.gz" | sed -n 1,6p
"$MEMTOOL" trace_plot --x event "$TESTDATA/good/mlp.pickle.gz" "$TESTDATA/good/two_devices.pickle" --ascii | grep -v "|"
"$MEMTOOL" trace_plot --x step "$TESTDATA/good/two_devices.pickle" "$TESTDATA/good/mlp.pickle.gz"
"$MEMTOOL" trace_plot --x step "$TESTDATA/good/mlp.pickle.gz"
"$MEMTOOL" trace_plot "$TESTDATA/good/transformer.pickle.gz" "$TESTDATA/good/leak.pickle.gz" -o a.svg
grep -o ">[^<]*diverge[^<]*<\|>[^<]*differ[^<]*<\|>[^<]* minus [^<]*<\|stroke-dasharray=\"[0-9.]*\"" a.svg | sort | uniq -c
# Colours of the third and more; more than eight are refused.
set -- "$TESTDATA"/ranks/mem_rank*.pickle.gz
"$MEMTOOL" trace_plot "$@" -o b.svg
grep -o "mem_rank[0-9].pickle.gz" b.svg
"$MEMTOOL" trace_plot "$@" "$@" "$@" -o c.svg
"$MEMTOOL" trace_plot "$TESTDATA/good/frag_oom.pickle" "$TESTDATA/good/frag_oom.pickle" --capacity 2GiB -o d.svg && grep -o "capacity (--capacity)[^<]*" d.svg
# What is only out of line is no difference; the steps count more than what stands before them.
"$MEMTOOL" trace_plot "$TESTDATA/good/transformer.pickle.gz" "$TESTDATA/good/expandable_transformer.pickle.gz" --ascii | sed -n 5,7p
"$MEMTOOL" trace_plot "$TESTDATA/jobs/ddp_rank0.pickle.gz" "$TESTDATA/jobs/fsdp_rank0.pickle.gz" -o e.svg
grep -o ">[^<]*diverge[^<]*<\|>[^<]*differ[^<]*<\|>set-up[^<]*<\|>[+-][0-9.]* [GM]iB<" e.svg
# JSON tells the same of the second file.
"$MEMTOOL" trace_plot --json "$TESTDATA/jobs/ddp_rank0.pickle.gz" "$TESTDATA/jobs/fsdp_rank0.pickle.gz" | grep -o '"parting":.*"bands"' | sed 's/,"bands".*//'
"$MEMTOOL" trace_plot --json --x event "$TESTDATA/good/mlp.pickle.gz" "$TESTDATA/good/mlp.pickle.gz" | grep -o '"parting":.*"bands"' | sed 's/,"bands".*//'
