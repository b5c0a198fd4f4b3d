# SPDX-License-Identifier: MIT
# A wrapper's checksum stands behind the pickle, which knows its own end: a file that was cut there, or has another
# byte before, is not taken for a whole one. --salvage reads it and says so.
python3 - "$TESTDATA/good/graphs.pickle" <<'P'
import gzip, io, sys, zipfile
data = open(sys.argv[1], "rb").read()
packed = gzip.compress(data, mtime=0)
for cut in 1, 8, 9:
    open("cut%d.pickle.gz" % cut, "wb").write(packed[:-cut])
open("whole.pickle.gz", "wb").write(packed)
open("zeros.pickle.gz", "wb").write(packed + bytes(512))


class Pipe(io.RawIOBase):  # no seek: sizes and sums stand behind the entries, as torch.save writes them
    def __init__(self, f): self.f = f
    def writable(self): return True
    def write(self, b): return self.f.write(b)


changed = data.replace(b"active_allocated", b"active_allocatef", 1)
for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
    for piped in 0, 1:
        out = io.BytesIO()
        with zipfile.ZipFile(Pipe(out) if piped else out, "w", method) as z:
            with z.open(zipfile.ZipInfo("archive/data.pkl"), "w") if method == 0 and piped else z.open("archive/data.pkl", "w") as f:
                f.write(data)
            z.writestr("archive/version", "3")
        name = "%s_%s" % ("deflated" if method else "stored", "behind" if piped else "before")
        whole = out.getvalue()
        open(name + ".pt", "wb").write(whole)
        if method == 0:
            open(name + "_changed.pt", "wb").write(whole.replace(data, changed))
        crc = (__import__("zlib").crc32(data)).to_bytes(4, "little")
        open(name + "_other_sum.pt", "wb").write(whole.replace(crc, b"abcd"))
P
for f in *.gz *.pt; do
    "$MEMTOOL" info -q $f >out 2>err
    echo "$f: exit $?"
    cat err
    "$MEMTOOL" info --salvage $f >out 2>err || { echo "$f --salvage: exit $?" && cat err; }
done
