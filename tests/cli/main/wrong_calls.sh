# Every wrong call is exit 2 and says what is wrong with it.
try() {
    "$MEMTOOL" "$@" && return
    echo "exit $?" >&2
}
try complete
try completoin bash
try completion
try completion bash zsh
try completion --jsn bash
try completion --f bash
try completion --limit
try completion -n x bash
try completion -n -1 bash
try completion --unit=KB bash
try completion --json=yes bash
try completion -z bash
try completion "$(printf 'a\033[31mb\n')"
try --no-such completion bash
