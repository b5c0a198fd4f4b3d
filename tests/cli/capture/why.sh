# SPDX-License-Identifier: MIT
# Why there is no snapshot, or no program: what is known, and no more.
PYTHONPATH=$TESTDATA/../tests/support/fake_torch
export PYTHONPATH
ulimit -c 0
why() {
    echo "$*" | cut -c 1-72
    ("$MEMTOOL" capture "$@") 2>&1 | sed -e 's/^/    /' -e 's|/[^ ]*/memtool: |memtool: |' | grep -v "Segmentation\|Aborted"
}
echo "# mode torch"
why -- sh -c 'exit 0'
why -- sh -c 'kill -SEGV $$'
why -- python3 -c 'pass'
why -- python3 -I -c 'pass'
why -- python3 -c 'import torch'
why -- python3 -c 'import torch; torch.cuda.init(); import os; os._exit(0)'
why -- python3 -c 'import torch; torch.cuda.init(); import os; os.kill(os.getpid(), 11)'
why -- python3 -c 'import torch; import os; os.abort()'
why -- python3 -c 'import os; os.kill(os.getpid(), 9)'
why -- sh -c 'python3 -c "import torch; torch.cuda.init(); import os; os.abort()"; exit $?'
why -o gone/x.pickle -- sh -c 'exit 0'
mkdir gone
why -o gone/x.pickle -- python3 -c 'import torch, shutil; torch.cuda.init(); shutil.rmtree("gone")' | sed 's/[a-zA-Z]*Error(.*/.../'
echo "# no program"
echo 'print(1)' >hi.py
printf '#!/bin/sh\n' >plain
printf '#!/nope/sh\n' >odd
why -- hi.py
why -- ./hi.py
why -- ./plain
chmod +x plain odd
why -- plain
why -- ./odd
why -- nothing
