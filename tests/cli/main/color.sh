# --color wins over MEMTOOL_COLOR, which wins over NO_COLOR, which wins over CLICOLOR_FORCE.
colored() { "$MEMTOOL" "$@" -h | grep -q "$(printf '\033')" && echo yes || echo no; }
colored completion
colored completion --color=always
CLICOLOR_FORCE=1 colored completion
NO_COLOR=1 CLICOLOR_FORCE=1 colored completion
NO_COLOR=1 MEMTOOL_COLOR=always colored completion
MEMTOOL_COLOR=always colored completion --color=never
