# SPDX-License-Identifier: MIT
# Dispositions and masks that memtool was started with, which exec passes on: it ends with its program,
# and the program finds them as they were.
cat >start.py <<'P'
import os, signal, sys
what, argv = sys.argv[1], sys.argv[2:]
if what == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
else:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM])
os.execvp(argv[0], argv)
P
cat >look.py <<'P'
import signal
print("SIGCHLD ignored:", signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN,
      "blocked:", sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))
P
cat >die.py <<'P'
import os, signal
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
P
for what in ignored blocked; do
    echo "# $what"
    for program in look.py die.py; do
        (timeout -s KILL 60 python3 start.py $what "$MEMTOOL" capture -q -- python3 $program) 2>/dev/null
        echo "exit $?"
    done
    timeout -s KILL 60 python3 start.py $what "$MEMTOOL" capture -q -- sh -c 'exit 7'
    echo "exit $?"
    timeout -s KILL 60 python3 start.py $what "$MEMTOOL" capture -q -- nothing-of-that-name 2>/dev/null
    echo "exit $?"
done
