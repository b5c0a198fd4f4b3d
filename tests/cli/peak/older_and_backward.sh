# SPDX-License-Identifier: MIT
# Memory older than the trace is called so everywhere; a node of the backward pass names memory
# that no line of Python does.
cd "$TESTDATA/good" || exit 1
"$MEMTOOL" peak older_than_trace.pickle | grep stack
"$MEMTOOL" trace_plot older_than_trace.pickle | grep stack
"$MEMTOOL" segment_plot older_than_trace.pickle | grep stack
"$MEMTOOL" peak backward_thread48.pickle | sed -n 6,7p
"$MEMTOOL" peak --stack full backward_thread48.pickle | grep -A2 gradient | head -n 3
