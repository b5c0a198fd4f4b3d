# SPDX-License-Identifier: MIT
# The size of a picture, as asked for, and higher where the headings need it; a PNG has --scale times
# as many pixels.
oom="$TESTDATA/good/true_oom.pickle"
size() { grep -o 'viewBox="[^"]*"' "$1"; }
"$MEMTOOL" trace_plot --width 800 --height 500 "$oom" -o a.svg && size a.svg
"$MEMTOOL" trace_plot --width 1500 "$oom" -o b.svg && size b.svg
"$MEMTOOL" trace_plot --width 300 --height 200 "$oom" -o c.svg && size c.svg
"$MEMTOOL" trace_plot --height 900 "$TESTDATA/good/two_devices.pickle" -o d.svg && size d.svg
grep -c "Held at the peak" d.svg
"$MEMTOOL" trace_plot --width 800 --height 500 --scale 1.5 "$oom" -o a.png
od -A n -t u1 -j 16 -N 8 a.png
"$MEMTOOL" trace_plot --height 199 "$oom" -o e.svg
echo "exit $?"
