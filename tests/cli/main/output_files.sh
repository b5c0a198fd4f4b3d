# Files are written whole, never over others without --force, and nothing is left behind.
cp "$TESTDATA/good/graphs.pickle" snap.pickle
run() {
    "$MEMTOOL" "$@" && return
    echo "exit $?" >&2
}
run stats --json snap.pickle -o a.json
head -c 1 a.json
echo
run stats --json snap.pickle -o a.json
echo old >b.json
run stats --json snap.pickle -o b.json --force
head -c 1 b.json
echo
run stats snap.pickle -o missing/a.txt
run stats snap.pickle -o /dev/null
run stats snap.pickle -o /dev/full
for form in html svg png pdf json pickle pickle.gz csv; do
    ln -s /dev/full full.$form
    case $form in
        html | svg | png | pdf) run trace_plot snap.pickle -o full.$form ;;
        csv) run segments snap.pickle -o full.$form ;;
        *) run convert snap.pickle -o full.$form ;;
    esac
    rm full.$form
done
run stats missing.pickle -o c.txt
umask 027
run stats snap.pickle -o d.txt
stat -c '%a %n' d.txt
for mode in 600 664; do # also behind a link, which is replaced itself
    chmod $mode d.txt
    ln -sf d.txt f.txt
    run stats snap.pickle -f -o d.txt
    run stats snap.pickle -f -o f.txt
    stat -c '%a %F %n' d.txt f.txt
done
rm f.txt
run stats --json snap.pickle -o - >e.json
head -c 1 e.json
echo
ls -A
# whose name is not that of the input
"$MEMTOOL" convert --format json -o - "$TESTDATA/good/graphs.pickle" 2>&1 >/dev/full
"$MEMTOOL" simulate --conf expandable_segments:True -o - "$TESTDATA/good/graphs.pickle" 2>&1 >/dev/full
