# SPDX-License-Identifier: MIT
# An event may have both an addr and device_free, in any order: neither is lost, and each keeps its meaning.
cat >s.json <<'J'
{"segments": [], "device_traces": [[
{"action": "oom", "addr": 4096, "device_free": 7, "size": 512, "stream": 0},
{"action": "oom", "device_free": 8, "addr": -8192, "size": 512, "stream": 0},
{"action": "alloc", "addr": 512, "device_free": 9, "size": 512, "stream": 0},
{"action": "alloc", "device_free": 10, "addr": 1024, "size": 512, "stream": 0}]]}
J
"$MEMTOOL" convert -q -o s.pickle s.json
"$MEMTOOL" convert -q -o t.json s.pickle
for f in s.pickle s.json t.json; do
    "$MEMTOOL" convert -q -o - --format json $f | tr -d ' \n' | grep -o '{"action[^}]*}'
    "$MEMTOOL" trace --json $f | grep -o '"\(addr\|device_free_bytes\)":[^,]*' | tr '\n' ' '
    echo
done
