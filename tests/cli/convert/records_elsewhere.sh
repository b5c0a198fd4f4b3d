# Segments, blocks and events under a key that memtool does not know: carried through where they can
# be, and no other record takes their place where they cannot.
unknown() { tr -d '\n' <back.json | grep -o '"x":.*'; }
"$MEMTOOL" convert "$TESTDATA/good/graphs.pickle" -o g.json
sed '1s/^{/{"x":[[{"device":0,"address":7,"total_size":9,"frames":[{"name":"secret","filename":"f","line":1}],"blocks":[{"size":9,"state":"inactive"}]}],{"action":"alloc","addr":4242}],/' g.json >s.json
"$MEMTOOL" convert s.json -o back.json && unknown
"$MEMTOOL" convert s.json -f --drop-frames -o back.json && unknown
"$MEMTOOL" convert s.json -f --anonymize -o back.json && unknown | grep -c secret
"$MEMTOOL" convert s.json -f --events 0:20 -o back.json && unknown
"$MEMTOOL" simulate s.json --conf expandable_segments:True -f -o back.json >/dev/null && unknown
