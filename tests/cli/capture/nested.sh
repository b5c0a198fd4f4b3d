# SPDX-License-Identifier: MIT
# A capture within a capture: the inner one tells what was written, and the outer one does not deny it.
export PYTHONPATH="$TESTDATA/../tests/support/fake_torch"
short() { sed 's|/[^ ]*/\([a-z0-9.]*\)\.pickle|\1.pickle|g; s|/[^ ]*/memtool: |memtool: |'; }
echo 'import torch; torch.cuda.init()' >program.py
"$MEMTOOL" capture -o outer.pickle -- "$MEMTOOL" capture -o inner.pickle -- python3 program.py 2>&1 | short
"$MEMTOOL" capture -o outer.pickle -- sh -c '"$0" capture -q -o second.pickle -- true; python3 program.py' "$MEMTOOL" 2>&1 | short
ls
