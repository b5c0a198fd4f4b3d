# SPDX-License-Identifier: MIT
# What the user preloads stays in front: a sanitizer's library has to be the first of all.
LD_PRELOAD=own.so "$MEMTOOL" capture -q --mode record -- sh -c 'echo "$LD_PRELOAD"' 2>/dev/null | sed 's|:/.*/|:|'
