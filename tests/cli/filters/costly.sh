# SPDX-License-Identifier: MIT
# An expression that would eat memory or time is refused at once, with its text.
[ -n "${ASAN_OPTIONS:-}" ] || ulimit -v 1000000 # the address sanitizer takes terabytes of addresses
[ -n "${ASAN_OPTIONS:-}" ] || ulimit -t 5
for e in '((a{1,200}){1,200}){1,200}' '(a*)*\1b' "$(printf '%0200d' 0 | tr 0 '(')"; do
    "$MEMTOOL" memory --frame "$e" "$TESTDATA/good/graphs.pickle"
    echo "exit $?"
done
