# SPDX-License-Identifier: MIT
# The user's own sitecustomize still runs, handlers are chained, forked workers stay silent, and the
# folder that was made for the program is gone afterwards.
mkdir own tmp
echo 'import os; os.environ["OWN"] = "it ran"' >own/sitecustomize.py
PYTHONPATH=$TESTDATA/../tests/support/fake_torch:$(pwd)/own
TMPDIR=$(pwd)/tmp
export PYTHONPATH TMPDIR
cat >program.py <<'P'
import os, signal, sys, torch
print("sitecustomize:", os.environ.get("OWN"))
signal.signal(signal.SIGUSR2, lambda *a: print("the program's handler"))
torch.cuda.init()
os.kill(os.getpid(), signal.SIGUSR2)
print("after the signal:", sorted(f for f in os.listdir(".") if f.endswith("pickle")))
sys.stdout.flush()
if os.fork() == 0:
    sys.exit(0)
os.wait()
P
"$MEMTOOL" capture -o 'run-%r.pickle' -- python3 program.py 2>err
echo "exit $?"
sed 's/.*wrote .*\(run[^ ]* ([a-z]*)\).*/\1/' err
ls tmp | wc -l
