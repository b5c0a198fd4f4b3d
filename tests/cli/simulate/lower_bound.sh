# SPDX-License-Identifier: MIT
# The lower bound is one: no run that refuses nothing reserves less, under any setting, and what was asked for at once is
# never more, but for a request that the recording refused and a run serves. No packing is below it.
for f in "$TESTDATA"/good/*.pickle* "$TESTDATA"/simulate/*.gz "$TESTDATA"/fit/*.gz; do
    "$MEMTOOL" simulate --json "$f" 2>/dev/null >"$(basename "$f").json" || rm "$(basename "$f").json"
done
python3 - <<'END'
import glob, json
rows = files = 0
for path in sorted(glob.glob('*.json')):
    runs = json.load(open(path))['runs']
    files += 1
    refused = {r['device']: r['counters'].get('num_ooms') for r in runs if r['role'] == 'recorded'}
    for r in runs:
        bound, packed = r['ideal']['lower_bound_bytes'], r['ideal']['packed_bytes']
        asked = r['counters'].get('requested_bytes.all.peak')
        rows += 1
        served = refused[r['device']] and r['role'] == 'what_if'
        if r['verdict'] != 'out_of_memory' and r['peak']['reserved_bytes'] < bound:
            print(path, r['conf'], 'reserves less than', bound)
        if asked is not None and asked > bound and not served:
            print(path, r['conf'], 'asks for', asked, 'above', bound)
        if packed is not None and packed < bound:
            print(path, r['conf'], packed, 'is below', bound)
print('enough files' if files > 10 else files, 'enough rows' if rows > 60 else rows)
END
