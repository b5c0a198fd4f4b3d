# SPDX-License-Identifier: MIT
# top without a card and without a process; what is wrong with a call.
"$MEMTOOL" top --once --interval 100ms | sed -n '1s/[0-9:]*$/NOW/p'
"$MEMTOOL" top --once --interval 100ms --json | sed -n 's/:.*//; /^	"/p'
"$MEMTOOL" top --interval 1ms 2>&1
"$MEMTOOL" top --pid here --once 2>&1
"$MEMTOOL" top file 2>&1
"$MEMTOOL" top --once --interval 100ms --prometheus nowhere/x.prom 2>&1
"$MEMTOOL" top --once --interval 100ms --prometheus x.prom >/dev/null && grep -c '^# TYPE' x.prom
