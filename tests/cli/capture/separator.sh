#!/bin/sh
# SPDX-License-Identifier: MIT
# Options behind the program need a -- before it, whether memtool knows them or not.
for args in "sh -c :" "-q sh -c :" "echo -o x.pickle" "echo --json"; do
    # shellcheck disable=SC2086 # words
    "$MEMTOOL" capture $args 2>&1
    echo "exit $?"
done
"$MEMTOOL" capture -q -- echo -o x 2>&1
"$MEMTOOL" capture -q echo x 2>&1
"$MEMTOOL" -q capture echo y 2>&1
