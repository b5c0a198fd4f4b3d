# SPDX-License-Identifier: MIT
# Signals that come when the program has ended do not end memtool: its exit code is the program's.
cat >flood.py <<'P'
import os, signal, subprocess, sys
codes = set()
for i in range(20):
    p = subprocess.Popen([sys.argv[1], "capture", "-q", "--", "sh", "-c", "trap : USR1 USR2; echo; sleep 0.02; exit 7"],
                         stdout=subprocess.PIPE)
    p.stdout.readline()
    while p.poll() is None:
        for s in signal.SIGUSR1, signal.SIGUSR2:
            try:
                os.kill(p.pid, s)
            except ProcessLookupError:
                pass
    codes.add(p.returncode)
print(sorted(codes))
P
python3 flood.py "$MEMTOOL"
