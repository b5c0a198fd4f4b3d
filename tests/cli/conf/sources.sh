# SPDX-License-Identifier: MIT
printf 'start\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:99\npython train.py\n' >job.log
"$MEMTOOL" conf job.log | head -4
gzip -dc "$TESTDATA/simulate/churn_splitgc.pickle.gz" >snap.pickle
"$MEMTOOL" conf snap.pickle | head -2
