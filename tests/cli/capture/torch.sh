# SPDX-License-Identifier: MIT
# PyTorch's own recording, switched on from outside: at the end, on an out-of-memory, not without CUDA.
PYTHONPATH=$TESTDATA/../tests/support/fake_torch
export PYTHONPATH
here=$(pwd -P)
run() { "$MEMTOOL" capture "$@" 2>&1 | sed "s|$here|HERE|g"; }
run -o end.pickle -- python3 -c 'import torch; torch.cuda.init(); print(torch.cuda.memory.recording)'
run -o oom.pickle -- python3 -c 'import torch; torch.cuda.init(); torch.run_out()'
run -o none.pickle -- python3 -c 'import torch; print("no CUDA")'
run --max-entries 5 --stacks all -o few.pickle -- python3 -c 'import torch; torch.cuda.init(); print(torch.cuda.memory.recording)'
ls
"$MEMTOOL" info --json end.pickle | grep -c '"format"'
