#!/bin/sh
# SPDX-License-Identifier: MIT
# Serving engines: the setting that must move, and in which direction.
cd "$TESTDATA/logs/programs" || exit
for log in vllm_tp_worker vllm_start_util sgl_capture sgl_runtime trtllm_exec tgi_warmup; do
    "$MEMTOOL" triage "$log.log"
done
