# SPDX-License-Identifier: MIT
# Without events there is no run to write: an error, and an older file stays what it was.
echo old >q.pickle
here=$PWD
cd "$TESTDATA/good" || exit
"$MEMTOOL" simulate --conf expandable_segments:True -f -o "$here/q.pickle" "no_traces.pickle"
echo $?
cat "$here/q.pickle"
