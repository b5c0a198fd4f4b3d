# SPDX-License-Identifier: MIT
# What the user preloads stays in front: a sanitizer's library has to be the first of all.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" # of memtool itself, where it is built with it
LD_PRELOAD=own.so "$MEMTOOL" capture -q --mode record -- sh -c 'echo "$LD_PRELOAD"' 2>/dev/null | sed 's|:/.*/|:|'
