# Edits of the program: what checkpointing, offloading, scaling and dropping would do; -o cannot write them.
cp "$TESTDATA/good/transformer.pickle.gz" snap.pickle.gz
for edit in "--recompute=train_small.py:4[234] forward" "--offload=train_small.py:4[234] forward" \
    "--free-early=train_small.py:4[234] forward" "--drop=train_small.py:58 forward" "--scale=train_small.py:58 forward=2" \
    "--drop=nosuch"; do
    "$MEMTOOL" simulate "$edit" snap.pickle.gz | sed '1,/^  fits/d'
done
"$MEMTOOL" simulate --json --recompute "train_small.py:4[234] forward" snap.pickle.gz | sed -n '/"edits"/,/]/p'
"$MEMTOOL" simulate --drop forward -o run.pickle snap.pickle.gz
# no regular expression, and one that matches nothing among others
"$MEMTOOL" simulate --drop '(' snap.pickle.gz
"$MEMTOOL" simulate --json --drop nosuch --scale 'train_small.py:58 forward=0.5' --conf expandable_segments:True --limit 1GiB snap.pickle.gz |
    python3 -c 'import json, sys
for r in json.load(sys.stdin)["runs"]:
    print(r["conf"] or "defaults", r.get("edits"), [(e["kind"], e["allocations"], e["changed"], e["bytes"], e.get("factor")) for e in r.get("edit_effects", [])])'
"$MEMTOOL" simulate --scale forward=none snap.pickle.gz
