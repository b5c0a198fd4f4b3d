# SPDX-License-Identifier: MIT
# capture --pid and --modules: what is wrong with a call is said before a process is touched.
try() {
    "$MEMTOOL" capture "$@" 2>&1 | grep -v '^hint: memtool capture --help'
}
try --pid 0
try --pid 1 -- true
try --tensors -- true
try --now --pid 1 --for 3s
try --pid 1 --for 0s
try --pid 1 --mode record
try --mode record --modules -- true
try --pid 2147480000
try --pid $$ -o x.json
