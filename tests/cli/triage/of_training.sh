#!/bin/sh
# SPDX-License-Identifier: MIT
# PyTorch, in training and elsewhere.
cd "$TESTDATA/logs/programs" || exit
for log in dataparallel ddp_same_gpu docker_split mps_train notebook_old_kernel pools_graphs retry_ladder stranger_smi ultra xpu_new; do
    "$MEMTOOL" triage "$log.log"
done
