#!/bin/sh
# SPDX-License-Identifier: MIT
# A program without PyTorch gets no advice for PyTorch.
cp "$TESTDATA/good/cache_c_program.pickle" snap.pickle
"$MEMTOOL" triage snap.pickle
