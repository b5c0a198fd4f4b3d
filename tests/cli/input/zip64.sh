# Zips whose sizes stand in zip64 records: of Python's zipfile, and by hand after the rules of the
# format, with an entry before the pickle that must be skipped. The same figures come from each that
# is right; the others get a sentence.
cp "$TESTDATA/good/two_devices.pickle" data.pkl
"$MEMTOOL" stats data.pkl | tail -n +2 >want # without its name
run() {
    "$MEMTOOL" stats "$1" >out 2>err
    code=$?
    [ $code -ne 0 ] || tail -n +2 out | cmp -s - want || echo "$1: other figures"
    echo "$code: $1: $(head -n 1 err)"
}
python3 - <<'END'
import io, struct, zipfile, zlib

pickle = open("data.pkl", "rb").read()
NONE, ALL = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF

def by_zipfile(name, method, to):
    with zipfile.ZipFile(to, "w", method) as z:
        for entry, content in ("a/version", b"3\n" * 50), ("a/data.pkl", pickle):
            with z.open(entry, "w", force_zip64=True) as f:
                f.write(content)
    if to is not name:
        open(name, "wb").write(to.bytes)

class Pipe(io.RawIOBase):
    bytes = b""
    def writable(self):
        return True
    def write(self, b):
        self.bytes += bytes(b)
        return len(b)

by_zipfile("stored.zip", zipfile.ZIP_STORED, "stored.zip")
by_zipfile("deflated.zip", zipfile.ZIP_DEFLATED, "deflated.zip")
by_zipfile("piped.zip", zipfile.ZIP_STORED, Pipe()) # sizes behind the data

def entry(name, content, packed, unpacked, extra=b"", flags=0):
    return (struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 45, flags, 0, 0, 0, zlib.crc32(content), packed, unpacked,
                        len(name), len(extra)) + name + extra + content)

def record(*sizes):
    return struct.pack(f"<HH{len(sizes)}Q", 1, 8 * len(sizes), *sizes)

def zip(name, *entries):
    open(name + ".zip", "wb").write(b"".join(entries))

pkl = entry(b"a/data.pkl", pickle, len(pickle), len(pickle))
first = b"x" * 1000
def before(name, packed, unpacked, extra):
    zip(name, entry(b"a/first", first, packed, unpacked, extra), pkl)

# right, or clear enough
before("both", NONE, NONE, record(1000, 1000))
before("packed_alone", NONE, 1000, record(1000))
before("both_for_one", NONE, 1000, record(1000, 1000))
before("unpacked_alone", 1000, NONE, record(1000))
before("behind_another", NONE, NONE, struct.pack("<HHI", 0x5455, 4, 7) + record(1000, 1000))
before("with_offset", NONE, NONE, record(1000, 1000, 0))
zip("pickle_without", entry(b"data.pkl", pickle, NONE, NONE))
# not right
before("missing", NONE, NONE, b"")
before("too_short", NONE, NONE, record(1000))
before("record_too_long", NONE, NONE, struct.pack("<HHQQ", 1, 60, 1000, 1000))
before("beyond", NONE, NONE, record(1000, 10**6))
before("all_bits", NONE, NONE, record(ALL, ALL))
zip("pickle_cut", entry(b"data.pkl", pickle[:-100], NONE, NONE, record(ALL, ALL)))
zip("pickle_shorter", entry(b"data.pkl", pickle, NONE, NONE, record(100, 100)))
zip("encrypted", entry(b"data.pkl", pickle, len(pickle), len(pickle), flags=1))
open("cut_header.zip", "wb").write(entry(b"a/first", first, 1000, 1000) + pkl[:33])
END
for f in stored deflated piped both packed_alone both_for_one unpacked_alone behind_another \
    with_offset pickle_without missing too_short record_too_long beyond all_bits pickle_cut \
    pickle_shorter encrypted cut_header; do
    run $f.zip
done
