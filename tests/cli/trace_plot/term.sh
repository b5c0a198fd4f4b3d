# SPDX-License-Identifier: MIT
# --term is what happens without -o; it goes before a suffix, and to a file as well.
snap="$TESTDATA/good/streams.pickle"
"$MEMTOOL" trace_plot --ascii "$snap" >a
"$MEMTOOL" trace_plot --ascii --term "$snap" >b
"$MEMTOOL" trace_plot --ascii --term "$snap" -o - >c
"$MEMTOOL" trace_plot --ascii --term "$snap" -o d.svg
"$MEMTOOL" trace_plot --ascii "$snap" -o - >e
cmp a b && cmp a c && cmp a d.svg && echo "four times the same"
head -c 5 e
echo
LC_ALL=C grep -q "[^ -~]" a || echo "nothing but ASCII"
"$MEMTOOL" trace_plot --term "$snap" | LC_ALL=C grep -q "[^ -~]" && echo "blocks without --ascii"
