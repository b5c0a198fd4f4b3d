#!/bin/sh
# SPDX-License-Identifier: MIT
# Figures of the card that cannot be meant, or that do not go with the snapshot.
f=$TESTDATA/good/cache_python_oom.pickle.gz
why() {
    "$MEMTOOL" triage "$@" 2>&1 | sed -n '/^ *[#+o.?>|] /p; /^WHY/,/^$/p; /^memtool/p; /^hint/p'
}
why --device-used 27497 "$f"
why --device-used 900GiB "$f"
cat >processes.csv <<END
pid, used_gpu_memory [MiB]
4711, 1000 MiB
4812, 22000 MiB
END
why --nvidia-smi processes.csv "$f"
cat >small.csv <<END
pid, used_gpu_memory [MiB]
4711, 1000 MiB
END
why --nvidia-smi small.csv "$f"
"$MEMTOOL" stats --nvidia-smi small.csv "$f" | grep 'large enough'
"$MEMTOOL" stats --device-used 900GiB "$f" | grep 'left aside'
why --device-used 20GiB --nvidia-smi small.csv "$f"
