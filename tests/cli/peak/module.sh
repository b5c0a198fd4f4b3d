# SPDX-License-Identifier: MIT
# nn.Module by the labels of capture --modules; without them it says so, and what was meant before.
cat >labelled.json <<'J'
{"segments": [], "device_traces": [[
 {"action": "alloc", "addr": 4096, "size": 3072, "stream": 0, "time_us": 1, "user_metadata": "module GPT.blocks.0.mlp", "frames": []},
 {"action": "alloc", "addr": 8192, "size": 1024, "stream": 0, "time_us": 2, "user_metadata": "module GPT.blocks.0.mlp", "frames": []},
 {"action": "alloc", "addr": 12288, "size": 2048, "stream": 0, "time_us": 3, "user_metadata": "optimizer AdamW", "frames": []},
 {"action": "alloc", "addr": 16384, "size": 512, "stream": 0, "time_us": 4, "user_metadata": "my own words", "frames": []},
 {"action": "alloc", "addr": 20480, "size": 512, "stream": 0, "time_us": 5, "user_metadata": "", "frames": []}]]}
J
"$MEMTOOL" peak -q --by module labelled.json
"$MEMTOOL" peak -q --by module --json labelled.json | grep '"name"'
"$MEMTOOL" peak -q --by folder "$TESTDATA/good/mlp.pickle.gz" | sed -n '/FOLDER/,/---/p'
cd "$TESTDATA/good" && "$MEMTOOL" peak --by module leak.pickle.gz
