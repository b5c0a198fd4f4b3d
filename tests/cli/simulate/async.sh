# SPDX-License-Identifier: MIT
"$MEMTOOL" simulate --conf backend:cudaMallocAsync "$TESTDATA/good/graphs.pickle"
