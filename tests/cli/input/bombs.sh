# Small files that unpack to gigabytes, large ones that hold nothing, nesting without end: each is
# refused soon, in little memory (a limit of 1.5 GB of addresses holds for all of it, but for the
# address sanitizer, which takes terabytes of them).
limited() { [ -z "${ASAN_OPTIONS:-}" ]; }
limited && ulimit -v 1500000
run() {
    timeout 50 "$MEMTOOL" "$@" >out 2>&1
    code=$?
    echo "$code: $*: $(head -n 1 out | cut -c 1-110)"
}
# NAME HEAD CHARACTER: 144 MiB of a character in nine members of gzip
bomb() {
    printf "$2" | gzip -n >"$1"
    head -c 16777216 /dev/zero | tr '\0' "$3" | gzip -n >member
    for i in 1 2 3 4 5 6 7 8 9; do cat member; done >>"$1"
}
bomb lists.pickle.gz '\200\004](' ']'
bomb string.json.gz '{"segments":[],"x":"' a
bomb deep.json.gz '' '['
bomb deep.pickle.gz '\200\004' '('
for f in *.pickle.gz *.json.gz; do run stats "$f"; done
gzip -n <string.json.gz | gzip -n >nested.gz
run stats nested.gz
# no more than the address space that there is
if limited; then
    (ulimit -v 200000 && run stats lists.pickle.gz)
else
    run stats lists.pickle.gz
fi
# 10 GB that take no room on disk
for head in '\200\004](' '{"segments":[' 'PK\3\4' 'step 1\n' '\37\213\10\0\0\0\0\0\0\0'; do
    rm -f sparse
    printf "$head" >sparse
    truncate -s 10G sparse
    run stats sparse
    run triage sparse
done
run conf sparse
run stats /dev/zero
run triage - </dev/zero
cp "$TESTDATA/good/empty.pickle" .
run peak --rules /dev/zero empty.pickle
run estimate --config /dev/zero
