# SPDX-License-Identifier: MIT
"$MEMTOOL" conf --torch 2.11 expandable_segments
