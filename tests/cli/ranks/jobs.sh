# Two H200s under torchrun and memtool capture: DDP and FSDP have no odd rank; longer inputs are told; so is who died.
cd "$TESTDATA/jobs"
"$MEMTOOL" ranks ddp_rank?.pickle.gz | sed -n '1p;$p'
"$MEMTOOL" ranks fsdp_rank?.pickle.gz | sed -n '1p;$p'
"$MEMTOOL" ranks ddp_rank0.pickle.gz long_rank1.pickle.gz | tail -9
"$MEMTOOL" ranks oom_rank*.pickle.gz --world-size 2 | sed -n '1,6p'
"$MEMTOOL" compare ddp_rank0.pickle.gz fsdp_rank0.pickle.gz
"$MEMTOOL" trace_plot ddp_rank0.pickle.gz long_rank1.pickle.gz --ascii
