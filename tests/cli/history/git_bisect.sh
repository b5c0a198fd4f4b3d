# git bisect run memtool check: a growth of 1 % in one of 200 commits, under noise of 0.1 %, is found in 8 runs.
command -v git >/dev/null || { cat "$0.stdout.exact" && exit; }
export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
snap() {
    printf '{"segments": [{"device": 0, "address": 4194304, "total_size": 1073741824, "stream": 0, "segment_type": "large", '
    printf '"allocated_size": 0, "active_size": 0, "blocks": [{"address": 4194304, "size": 1073741824, "requested_size": 0, "state": "inactive"}]}], '
    printf '"device_traces": [[{"action": "segment_alloc", "addr": 4194304, "size": 1073741824, "stream": 0}, '
    printf '{"action": "alloc", "addr": 4194304, "size": %s, "stream": 0}, ' "$1"
    printf '{"action": "free_requested", "addr": 4194304, "size": %s, "stream": 0}, ' "$1"
    printf '{"action": "free_completed", "addr": 4194304, "size": %s, "stream": 0}]]}\n' "$1"
}
git init -q -b main repo
cd repo
i=0
while [ $i -lt 200 ]; do
    peak=$((500000000 + i * 7919 % 500000))
    [ $i -ge 137 ] && peak=$((peak + 5000000))
    text=$(snap $peak)
    printf 'commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata <<END\n%d\nEND\n' $((1700000000 + i)) $i
    printf 'M 644 inline snap.json\ndata <<END\n%s\nEND\n' "$text"
    i=$((i + 1))
done | git fast-import --quiet
git reset -q --hard
snap 500000000 >../good.json
{
    git bisect start main main~199
    git bisect run "$MEMTOOL" check --base ../good.json --max-growth 0.5% snap.json
} >../log 2>&1
echo "$(grep -c '^running' ../log) runs"
git log -1 --format='%s is the first bad commit' refs/bisect/bad
