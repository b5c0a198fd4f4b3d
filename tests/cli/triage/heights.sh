# SPDX-License-Identifier: MIT
# Logs of the newest servers and frameworks: the verdict, the phase, the engine's own account, and
# numbers that are computed from what the log says (on the other side of the value in force), or not
# given.
for f in "$TESTDATA"/heights/*.log; do
    echo "== ${f##*/}"
    "$MEMTOOL" triage "$f" | grep -E '^         [a-z_]+, (high|medium|low)|It happened|own account|^      (vllm|python -m sglang|step =|rmm\.|ulimit|torch\.cuda)|Look at the largest buffer|address space'
done
"$MEMTOOL" triage "$TESTDATA/heights/tf_bfc.log" | grep -E 'live tensors|reserved, un|allowed|largest piece'
"$MEMTOOL" summary "$TESTDATA/heights/ds.log"
