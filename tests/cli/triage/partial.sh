#!/bin/sh
# SPDX-License-Identifier: MIT
# What can be read gives the verdict, and the exit status tells that it was not all.
first() {
    "$MEMTOOL" triage "$@" 2>&1 >out
    echo "exit $?"
    sed -n '/^VERDICT/,/confidence/p' out
}
cp "$TESTDATA/logs/leak.log" train.log
gzip -dc "$TESTDATA/good/mlp.pickle.gz" >whole.pickle
: >empty.pickle
head -c 300 whole.pickle >cut.pickle
mkdir folder
first train.log empty.pickle
first empty.pickle train.log
first train.log cut.pickle
first train.log folder
first train.log missing.pickle
first missing.log whole.pickle
printf '\001\002\003\004\005\006\000\000\000\000' >binary.log
first binary.log train.log
first missing.log empty.pickle
first --exit-code train.log empty.pickle
first -q train.log empty.pickle
gzip whole.pickle
first whole.pickle
"$MEMTOOL" info whole.pickle.gz.gz 2>&1
"$MEMTOOL" info whole 2>&1
