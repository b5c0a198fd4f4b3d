# SPDX-License-Identifier: MIT
# Two times further apart than 64 bits hold: the duration is the longest there is, never negative.
event() {
    printf '{"action":"%s","addr":4096,"size":512,"stream":0,"frames":[],"time_us":%s}' "$@"
}
printf '{"segments":[],"device_traces":[[%s,%s]]}' "$(event alloc -9000000000000000000)" \
    "$(event free_completed 9000000000000000000)" >far.json
"$MEMTOOL" stats far.json | grep ' in '
"$MEMTOOL" trace far.json | grep free
"$MEMTOOL" info far.json | grep -o ', for .*'
"$MEMTOOL" peak far.json --at end --json | grep since_first
"$MEMTOOL" segment_plot far.json --at 1 | grep -o 'event 1 (.*'
"$MEMTOOL" trace_plot far.json -o far.svg && grep -o 'events in [^<]*' far.svg
"$MEMTOOL" trace_plot far.json -o far.html && python3 - <<'END'
import base64, re, zlib
page = open("far.html").read()
data = base64.b64decode(re.search('id="d0-time"[^>]*>([^<]*)<', page).group(1))
columns = zlib.decompress(data)
print([int.from_bytes(bytes(columns[i + 2 * b] for b in range(4)), "little") for i in range(2)])
END
