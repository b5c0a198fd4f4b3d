#!/bin/sh
# SPDX-License-Identifier: MIT
# what a log holds reaches the terminal made harmless
printf 'RuntimeError: CUDA error: out of memory \033]0;title\007 \342\200\256 \377\n' >odd.log
"$MEMTOOL" triage odd.log | sed -n 2p
