# Every wrong call is exit 2 and says what is wrong with it.
try() {
    "$MEMTOOL" "$@" && return
    echo "exit $?" >&2
}
try complete
try completoin bash
try completion
try completion bash zsh
try conf --jsn bash
try conf --f bash
try conf --limit
try conf -n x bash
try conf -n -1 bash
try conf --unit=KB bash
try conf --json=yes bash
try conf -z bash
try simulate --json -z3
try completion "$(printf 'a\033[31mb\n')"
try --no-such completion bash
