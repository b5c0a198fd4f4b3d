#!/bin/sh
# SPDX-License-Identifier: MIT
# A log given for a snapshot is told where logs go, however it begins.
try() {
    printf "$1" >train.log
    for verb in info stats peak; do
        "$MEMTOOL" "$verb" train.log 2>&1
    done | sort | uniq -c | sed 's/^ *//'
}
try '[rank0]: Traceback (most recent call last):\n'
try '[2026-11-29 12:00:00] INFO: step 1\n'
try '{"level": "info", "message": "step 1"}\n{"level": "error"}\n'
try "{'loss': 2.0}\n"
try '<rank0> step 1\n'
try '(RayWorker pid=7) step 1\n'
try '[]x'
