#!/bin/sh
# SPDX-License-Identifier: MIT
# JAX, TensorFlow, CuPy, RMM and Spark: words and switches of their own.
cd "$TESTDATA/logs/programs" || exit
for log in jax_cudnn jax_tpu tf_frag tf_growth cupy_limit rmm_pool spark_rapids; do
    "$MEMTOOL" triage "$log.log"
done
