# nn.DataParallel gathers outputs on one device: triage says so where its file is among the frames, and that devices are uneven.
segment() {
    printf '{"device": %s, "address": %s, "total_size": %s, "stream": 0, "segment_type": "large", "allocated_size": %s, "active_size": %s, ' "$1" "$2" "$3" "$3" "$3"
    printf '"blocks": [{"address": %s, "size": %s, "requested_size": %s, "state": "active_allocated", "frames": [%s]}]}' "$2" "$3" "$3" "$4"
}
snap() {
    frame="{\"name\": \"forward\", \"filename\": \"/env/torch/nn/parallel/$1.py\", \"line\": 90}, {\"name\": \"main\", \"filename\": \"train.py\", \"line\": 7}"
    printf '{"segments": [%s, %s, %s], ' "$(segment 0 1048576 209715200 "$frame")" "$(segment 1 1048576 1073741824 "$frame")" "$(segment 2 1048576 104857600 "$frame")"
    printf '"device_traces": [[], [{"action": "oom", "device_free": 1048576, "size": 536870912, "stream": 0, "frames": [%s]}], []]}\n' "$frame"
}
snap data_parallel >dp.json
"$MEMTOOL" triage dp.json | grep -A5 'filled unevenly' | sed '/FIRST/,$d'
snap distributed >ddp.json
"$MEMTOOL" triage ddp.json | grep -A1 'filled unevenly'
