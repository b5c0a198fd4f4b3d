#!/bin/sh
# SPDX-License-Identifier: MIT
# A log may be packed with gzip, named as it likes, cut off, or come through a pipe; what unpacks to
# a snapshot is one.
gzip -nc <"$TESTDATA/logs/leak.log" >job.log.gz
"$MEMTOOL" triage job.log.gz >whole
cat job.log.gz | "$MEMTOOL" triage - | sed 's/^-:/job.log.gz:/' | cmp - whole && echo "the same through a pipe"
gzip -nc <job.log.gz | gzip -nc >thrice.gz
"$MEMTOOL" triage thrice.gz | sed 's/^thrice.gz:/job.log.gz:/' | cmp - whole && echo "the same packed thrice"
# a wrong checksum is said, and what was unpacked before it counts
{
    head -c -8 job.log.gz
    printf '\1\2\3\4\5\6\7\10'
} >job.bad.gz
"$MEMTOOL" triage job.bad.gz >bad.out
echo "exit $?"
sed 's/^job.bad.gz:/job.log.gz:/' bad.out | cmp - whole && echo "the same in spite of its checksum"
cp "$TESTDATA/logs/leak.log" job.log.gz
"$MEMTOOL" triage job.log.gz | cmp - whole && echo "the same unpacked"
{
    cat "$TESTDATA/logs/fragmented.log"
    seq 100000
} | gzip -nc >job.err.gz
head -c 60000 job.err.gz >cut
"$MEMTOOL" triage cut >cut.out
echo "exit $?"
sed -n '/^VERDICT/,/^WHY/p' cut.out
gzip -nc <"$TESTDATA/good/frag_oom.pickle" >snap
"$MEMTOOL" triage - <snap | head -2
"$MEMTOOL" triage snap | head -1
for i in 1 2 3 4 5 6 7 8 9; do head -c 16777216 /dev/zero | tr '\0' '\n' | gzip -n; done >bomb.log.gz
"$MEMTOOL" triage bomb.log.gz
echo "exit $?"
"$MEMTOOL" summary bomb.log.gz
echo "exit $?"
gzip -nc <bomb.log.gz | "$MEMTOOL" triage -
echo "exit $?"
gzip -nc <"$TESTDATA/logs/limit.log" >table.gz
"$MEMTOOL" summary table.gz | head -3
"$MEMTOOL" summary - <table.gz | head -3
