# SPDX-License-Identifier: MIT
# Labels: what the program said (the annotation of a block goes before the text at its allocation),
# regions of torch.compile, nodes of its graphs and of the backward pass, and the forward pass.
cd "$TESTDATA/good" || exit 1
for by in label region node; do "$MEMTOOL" peak --by $by newest.pickle | sed -n '6,$p'; done
"$MEMTOOL" peak --by node backward_thread48.pickle | grep MiB
"$MEMTOOL" peak --by label --json newest.pickle | grep '"name"'
"$MEMTOOL" peak --label expert newest.pickle | grep param
"$MEMTOOL" memory --device 0 --label 'expert|graph' newest.pickle
"$MEMTOOL" trace --device 0 --label 'Region: 0/0' newest.pickle
"$MEMTOOL" peak --at 4 newest.pickle | grep attn
"$MEMTOOL" peak --at 4 --stack full newest.pickle | grep -A3 '4.00 MiB'
"$MEMTOOL" peak --at 4 --json newest.pickle | grep -A2 forward
"$MEMTOOL" peak --label nothing newest.pickle; echo "exit $?"
"$MEMTOOL" peak --label '(' newest.pickle; echo "exit $?"
"$MEMTOOL" memory --at 4 --device 0 newest.pickle | grep attn
"$MEMTOOL" compare --at 4 --by label newest.pickle newest.pickle -n 0 | grep -e LABEL -e layers
"$MEMTOOL" compare --at 4 --json newest.pickle newest.pickle -n 0 | grep -A1 forward_frames
