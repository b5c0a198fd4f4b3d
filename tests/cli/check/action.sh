# The step of the GitHub Action, run as the shell would.
cp "$TESTDATA/good/graphs.pickle" a.pickle
sed -n '/^      run: |$/,$p' "$TESTDATA/../.github/actions/memtool-check/action.yml" | sed '1d; s/^ \{8\}//' >step.sh
MEMTOOL=$MEMTOOL SNAPSHOT=a.pickle OPTIONS='--max-peak 100MiB --no-oom' HISTORY=runs.ndjson sh step.sh 2>/dev/null
MEMTOOL=$MEMTOOL SNAPSHOT=a.pickle OPTIONS='--max-peak 1MiB' HISTORY= sh step.sh 2>/dev/null || echo "exit $?"
wc -l <runs.ndjson
sed 's/"version":.*"[0-9.]*"/"version": "-"/' memtool.sarif | sed -n '/results/,$p'
