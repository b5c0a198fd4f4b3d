# SPDX-License-Identifier: MIT
# Two of --history, --junit, --sarif and -o cannot be one file, by whatever name, and a history keeps its runs;
# reports that stand in the way are told before the run is in the history. The JUnit report is whole.
snap=$TESTDATA/good/frag_oom.pickle
mkdir d
for name in x.xml ./x.xml d/../x.xml; do
    "$MEMTOOL" check -f --max-peak 1TiB --junit x.xml -o $name "$snap"
    echo "$? $(ls)"
done
"$MEMTOOL" check -f --max-peak 1TiB --junit x.xml -o y.txt "$snap" && wc -l <y.txt
"$MEMTOOL" check -q --history h "$snap" >/dev/null
ln -s h link
ln h hard
for options in "-o h --json" "--junit ./h" "--sarif link" "-o hard" "--sarif s --junit d/../s"; do
    "$MEMTOOL" check -f --history h $options "$snap"
    echo "$? $(wc -l <h)"
done
touch old
for options in "--sarif old" "--junit old" "-o old" "--junit new --sarif old"; do
    "$MEMTOOL" check --history h $options "$snap"
    echo "$? $(wc -l <h)"
done
ls
