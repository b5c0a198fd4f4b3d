# SPDX-License-Identifier: MIT
# What bash offers: behind common options too, words of verbs and options, another program's behind capture.
"$MEMTOOL" completion bash >script
cat >type.sh <<'B'
source ./script
try() {
    COMP_WORDS=(memtool "$@")
    COMP_CWORD=$#
    _memtool
    echo "$*: $(printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' ')"
}
try explain fragm
try help st
try peak --at ''
try peak --at = o
try -q pe
try --color never pe
try --color = ne
try capture --mode ''
try capture --mode re
try capture --js
try completion --js
try trace-plot --theme d
PATH=$PWD/bin
try capture -- progr
try capture --mode record -o x.pickle progr
try capture -- program_of_mine --js
B
mkdir bin
printf '#!/bin/sh\n' >bin/program_of_mine
for program in sort tr; do ln -s "$(command -v $program)" bin/; done
chmod +x bin/program_of_mine
bash type.sh
"$MEMTOOL" completion fish | grep -e 'capture.*-l mode' | cut -c 1-160
