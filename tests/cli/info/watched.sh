# SPDX-License-Identifier: MIT
# what a watched process could not see is said, and reaches stats; the key survives convert
cat >gaps.json <<'END'
{"segments":[{"device":0,"address":4096,"total_size":2097152,"allocated_size":2097152,
"active_size":2097152,"stream":0,"segment_type":"large","blocks":[{"address":4096,"size":2097152,
"requested_size":2097152,"state":"active_allocated","frames":[]}]}],
"device_traces":[],
"memtool":{"mode":"record","devices":[{"device":0,"total_bytes":85899345920,
"free_before_context_bytes":64424509440,"free_start_bytes":63887638528,
"free_dump_bytes":62813896704,"seen_bytes":2097152,"seen_peak_bytes":2097152,"libraries":[]},
{"device":1,"total_bytes":85899345920,"free_start_bytes":85362475008,"libraries":[]}],
"doors":{"runtime_calls":1,"driver_calls":0,"lookups":0}}}
END
"$MEMTOOL" info gaps.json
"$MEMTOOL" info -v gaps.json 2>/dev/null | grep -E '^note: (what|recorded)'
"$MEMTOOL" info --json gaps.json | grep -oE '"id":[^"]*"(libraries_unseen|used_before|memory_unseen|free_unknown|watched)"'
"$MEMTOOL" stats gaps.json | grep -c '^note: device 0 has 1.00 GiB less free'
"$MEMTOOL" convert gaps.json -o again.pickle && "$MEMTOOL" convert again.pickle -o again.json
grep -oE '"memtool":.{60}' again.json
