# SPDX-License-Identifier: MIT
# Each limit at its value and one below: what is exactly as large is read.
f="$TESTDATA/good/aliases.pickle"
bytes=$(wc -c <"$f")
cp "$f" snap.pickle
for limit in "--max-events 267" "--max-events 266" "--max-input $bytes" "--max-input $((bytes - 1))" \
    "--max-depth 7" "--max-depth 6"; do
    # shellcheck disable=SC2086
    "$MEMTOOL" info -q $limit snap.pickle >report
    echo "$limit: exit $?, $(wc -l <report | tr -d ' ') lines"
done 2>&1
