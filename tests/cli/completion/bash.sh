# The script names this verb, and a shell accepts it.
"$MEMTOOL" completion bash >script
bash -n script
grep -c '    completion) .*arguments="bash zsh fish"' script
bash -c 'source ./script; COMP_WORDS=(memtool completion z); COMP_CWORD=2; _memtool; echo "${COMPREPLY[@]}"'
bash -c 'source ./script; COMP_WORDS=(memtool completion --color a); COMP_CWORD=3; _memtool; echo "${COMPREPLY[@]}"'
