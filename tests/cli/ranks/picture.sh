# Memory over time, a row a rank, beside the peaks; ranks that were recorded together have one axis, others each its own; many
# ranks share rows.
"$MEMTOOL" ranks "$TESTDATA"/ranks/*.gz -o a.svg
tr '<>' '\n\n' <a.svg | grep -i "rank\|odd\|median\|own first\|in use\|reserved\|MiB"
for i in 0 1 2; do cp "$TESTDATA/good/frag_oom.pickle" rank$i.pickle; done
"$MEMTOOL" ranks rank?.pickle --capacity 2GiB -o b.svg
tr '<>' '\n\n' <b.svg | grep "[0-9] m*s$\|capacity"
i=0
while [ $i -lt 300 ]; do cp "$TESTDATA/good/graphs.pickle" many$i.pickle; i=$((i + 1)); done
"$MEMTOOL" ranks many*.pickle -o c.svg
tr '<>' '\n\n' <c.svg | grep "^[0-9]*-[0-9]*$\|most" | sed -n '1,3p;$p'
"$MEMTOOL" peak --json rank0.pickle rank1.pickle | "$MEMTOOL" ranks - -o d.png && echo "without curves too"
