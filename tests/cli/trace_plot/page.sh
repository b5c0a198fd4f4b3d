# SPDX-License-Identifier: MIT
# The interactive page: whole, without an address in it, the same each time; of several files.
"$MEMTOOL" trace_plot "$TESTDATA/good/graphs.pickle" -o a.html
"$MEMTOOL" trace_plot "$TESTDATA/good/graphs.pickle" --format html -o b.page
cmp a.html b.page && echo "the same bytes"
grep -c "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" a.html
grep -oE '(https?:)?//[a-z]+[.][a-z]' a.html
grep -o '<script type="application/octet-stream" id="[^"]*"' a.html | head -4
tail -1 a.html
"$MEMTOOL" trace_plot "$TESTDATA/good/graphs.pickle" -o a.html
echo "exit $?"
"$MEMTOOL" trace_plot "$TESTDATA/good/graphs.pickle" "$TESTDATA/good/streams.pickle" -o c.html
echo "exit $?"
grep -o '<script type="application/octet-stream" id="meta[^"]*"\|<title>[^<]*' c.html
"$MEMTOOL" trace_plot "$TESTDATA/good/frag_oom.pickle" --conf no_such_key:1 -o d.html
echo "exit $?"
"$MEMTOOL" trace_plot "$TESTDATA/good/frag_oom.pickle" --conf expandable_segments:True -o d.svg
echo "exit $?"
