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
run stats missing.pickle -o c.txt
umask 027
run stats snap.pickle -o d.txt
stat -c '%a %n' d.txt
run stats --json snap.pickle -o - >e.json
head -c 1 e.json
echo
ls -A
