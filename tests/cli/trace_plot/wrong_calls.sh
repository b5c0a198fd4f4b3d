# Each is refused in words; nothing is overwritten and no file is left behind.
snap="$TESTDATA/good/graphs.pickle"
try() { "$MEMTOOL" trace_plot "$@" 2>err; code=$?; sed "s|: [^ ]*/good|: good|" err >&2; echo "exit $code"; }
try "$snap" -o picture.bmp
try "$snap" -o picture
try "$snap" --format gif
try "$snap" --width 10
try "$snap" --theme blue
echo old >have.svg
try "$snap" -o have.svg
cat have.svg
try "$snap" -f -o have.svg
grep -c "</svg>" have.svg
try nothing.pickle -o no.svg
try "$snap" -o no/such/folder.svg
ls
