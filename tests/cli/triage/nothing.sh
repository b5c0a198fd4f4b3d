#!/bin/sh
# SPDX-License-Identifier: MIT
printf 'step 1: loss 2.0\nstep 2: loss 1.9\n' >train.log
"$MEMTOOL" triage train.log
