# SPDX-License-Identifier: MIT
# Values that no list takes, memo entries, items, numbers and events, a quarter of a gigabyte of each
# in 2 MB of gzip (130-fold): refused early, within 2 s and 500 MB of addresses. One string of 100 MB, and
# many long ones.
command -v python3 >/dev/null || { cat "$0.stdout.exact" && exit; }
[ -n "${ASAN_OPTIONS:-}" ] || ulimit -v 500000
python3 - <<'END'
import random, zlib
MIB = 1 << 20
noise = random.Random(1)

def packed(name, head, unit, mib):
    """`head`, then `unit` again and again, between bytes that do not pack."""
    pack, block = zlib.compressobj(6, zlib.DEFLATED, 31), unit * (MIB // len(unit))
    with open(name, "wb") as f:
        f.write(pack.compress(head))
        for i in range(mib):
            f.write(pack.compress(block))
            f.write(pack.compress(b"B" + (4200).to_bytes(4, "little") + noise.randbytes(4200) + b"0"))
        f.write(pack.flush())

head = b"\x80\x04"
for i, key in enumerate([b"alloc", b"action", b"addr", b"size", b"stream"]):
    head += b"\x8c" + bytes([len(key)]) + key + b"q" + bytes([i]) + b"0"
head += b"}(\x8c\x08segments]\x8c\x0ddevice_traces](]"
event = b"}(h\x01h\x00h\x02J\x00\x00\x10\x00h\x03M\x00\x02h\x04K\x00u"
packed("stack.gz", b"\x80\x04](", b"N", 250)
packed("items.gz", b"\x80\x04]", b"(" + b"N" * 1000 + b"e", 250)
packed("memo.gz", b"\x80\x04N", b"\x94", 250)
packed("memo_of_integers.gz", b"\x80\x04K\x01", b"\x94", 250)
packed("integers.gz", b"\x80\x04]", b"\x8a\x09" + b"\xff" * 8 + b"\x000", 250)
packed("floats.gz", b"\x80\x04]", b"G" + b"@" * 8 + b"0", 250)
packed("events.gz", head, b"(" + event * 1000 + b"e", 250)
packed("events_of_cpp.gz", head + b"(", event, 250)
open("one.json", "wb").write(b'{"segments": [], "x": "' + b"y" * 100 * MIB + b'"}')
with open("strings.pickle", "wb") as f:
    f.write(b"\x80\x04](")
    for i in range(300):
        f.write(b"X" + MIB.to_bytes(4, "little") + bytes([i % 256, i // 256]) * (MIB // 2))
    f.write(b"e.")
END
for f in stack.gz items.gz memo.gz memo_of_integers.gz integers.gz floats.gz events.gz events_of_cpp.gz one.json strings.pickle; do
    (ulimit -t 2 && "$MEMTOOL" info -q $f)
    echo "$f: exit $?"
done 2>&1
rm -f ./*.gz one.json strings.pickle
