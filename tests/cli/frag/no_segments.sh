# Without segments the file does not tell what is free in them: unknown, not normal.
cat >snap.json <<'J'
{"segments": [], "device_traces": [[
 {"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0, "time_us": 1, "frames": []},
 {"action": "alloc", "addr": 4096, "size": 1048576, "stream": 0, "time_us": 2, "frames": []},
 {"action": "free_requested", "addr": 4096, "size": 1048576, "stream": 0, "time_us": 3, "frames": []},
 {"action": "free_completed", "addr": 4096, "size": 1048576, "stream": 0, "time_us": 4, "frames": []}]]}
J
"$MEMTOOL" frag snap.json
"$MEMTOOL" frag --at peak snap.json
