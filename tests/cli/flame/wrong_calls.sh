snap="$TESTDATA/good/graphs.pickle"
"$MEMTOOL" memory "$snap" "$snap" -o two.svg
echo "exit $?"
"$MEMTOOL" peak --by file "$snap" -o by.svg
echo "exit $?"
ls
