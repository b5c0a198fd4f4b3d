# SPDX-License-Identifier: MIT
# --junit and -o cannot be one file, by whatever name; the JUnit report is whole.
snap=$TESTDATA/good/frag_oom.pickle
for name in x.xml ./x.xml; do
    rm -f x.xml
    "$MEMTOOL" check -f --max-peak 1TiB --junit x.xml -o $name "$snap"
    echo "$? $(grep -c '</testsuite' x.xml)"
done
"$MEMTOOL" check -f --max-peak 1TiB --junit x.xml -o y.txt "$snap" && wc -l <y.txt
