# On a terminal: the pager, colours, and a line that shows how far reading has come.
cp "$TESTDATA/good/graphs.pickle" snap.pickle
cat >on_terminal.py <<'END'
import os, pty, sys
def read(fd):
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
out = b""
while True:
    piece = read(fd)
    if not piece:
        break
    out += piece
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(out.decode().replace("\r\n", "\n"))
print("exit", code)
END
term() { python3 on_terminal.py "$@"; }
export TERM=xterm COLUMNS=80 LINES=40
colors() { grep -c "$(printf '\033\\[[0-9]*m')" | sed 's/^[1-9].*/colours/; s/^0$/plain/'; }
echo "- pager"
MEMTOOL_PAGER='sed s/^/P:/' term "$MEMTOOL" trace -n 2 snap.pickle | grep -c '^P:.*' | sed 's/^[1-9].*/paged/'
MEMTOOL_PAGER='sed s/^/P:/' term "$MEMTOOL" trace -n 2 --no-pager snap.pickle | grep -c '^P:'
MEMTOOL_PAGER='sed s/^/P:/' term "$MEMTOOL" trace -n 2 --json snap.pickle | grep -c '^P:'
MEMTOOL_PAGER='sed s/^/P:/' term "$MEMTOOL" stats snap.pickle | grep -c '^P:'
gzip -dc "$TESTDATA/demo/snap.pickle.gz" >large.pickle
# one that reads all, one that ends early: more than a pipe holds is written, so SIGPIPE is sure
MEMTOOL_PAGER='cat >/dev/null' term "$MEMTOOL" trace -n 0 snap.pickle
MEMTOOL_PAGER='head -n 1 >/dev/null' term "$MEMTOOL" trace -n 0 large.pickle
echo "- colour"
term "$MEMTOOL" stats snap.pickle | colors
NO_COLOR=1 term "$MEMTOOL" stats snap.pickle | colors
TERM=dumb term "$MEMTOOL" stats snap.pickle | colors
echo "- progress"
mkfifo slow
{ head -c 900000 large.pickle; sleep 0.8; tail -c +900001 large.pickle; } >slow &
term "$MEMTOOL" stats slow | tr '\r' '\n' | sed "s/$(printf '\033')\[K/(erased)/g" |
    grep '(erased)reading' | head -n 1 | sed 's,[0-9]* MiB,N MiB,'
wait
echo "- narrow"
COLUMNS=60 NO_COLOR=1 term "$MEMTOOL" peak -n 2 --no-pager snap.pickle
NO_COLOR=1 term "$MEMTOOL" trace -n 2 --no-pager snap.pickle
COLUMNS=58 NO_COLOR=1 term "$MEMTOOL" trace -n 2 --no-pager snap.pickle
COLUMNS=58 NO_COLOR=1 term "$MEMTOOL" segments -n 2 snap.pickle
cp "$TESTDATA/good/streams.pickle" streams.pickle
NO_COLOR=1 term "$MEMTOOL" segments -n 3 streams.pickle
COLUMNS=50 NO_COLOR=1 term "$MEMTOOL" trace -h
