# SPDX-License-Identifier: MIT
# Size, theme and format of a picture of the state; --term is what happens without -o.
snap="$TESTDATA/good/graphs.pickle"
size() { grep -o 'viewBox="[^"]*"' "$1"; }
"$MEMTOOL" segment_plot --width 700 --height 2000 "$snap" -o a.svg && size a.svg
"$MEMTOOL" segment_plot --width 700 --height 200 "$snap" -o b.svg && size b.svg
"$MEMTOOL" segment_plot --width 700 "$snap" -o c.svg && size c.svg
cmp b.svg c.svg && echo "as high as it must be"
"$MEMTOOL" segment_plot --format svg --width 700 "$snap" -o d.txt && cmp c.svg d.txt && echo "--format goes before the suffix"
"$MEMTOOL" segment_plot --theme dark "$snap" -o dark.svg
grep -o '<rect [^>]*>' dark.svg | head -n 1
grep -o '<rect [^>]*>' c.svg | head -n 1
"$MEMTOOL" segment_plot --ascii "$snap" >a
"$MEMTOOL" segment_plot --ascii --term "$snap" -o e.txt && cmp a e.txt && echo "the same characters"
"$MEMTOOL" segment_plot --device 1 "$TESTDATA/good/two_devices.pickle" --ascii | head -n 1
"$MEMTOOL" segment_plot --device 5 "$TESTDATA/good/two_devices.pickle" -o none.svg 2>err
echo "exit $?"
sed "s|: [^ ]*/good|: good|" err >&2
