# Stages of a pipeline: from names or the grid; a rank is compared with those of its stage, and a stage with the one before.
snap() { "$MEMTOOL" peak --json "$TESTDATA/ranks/mem_rank0.pickle.gz" | tr -d '\n\t' | sed "s|\"file\":\"[^\"]*\"|\"file\":\"$1\"|; s/\"peak_requested_bytes\":[0-9]*/\"peak_requested_bytes\":$2/"; echo; }
{
    snap r0_pp0 9000000000; snap r1_pp0 9010000000
    snap r2_pp1 7000000000; snap r3_pp1 7010000000
    snap r4_pp2 8800000000; snap r5_pp2 8810000000
    snap r6_pp3 9900000000; snap r7_pp3 9910000000
} >job
"$MEMTOOL" ranks job
sed 's/r\([0-9]\)_pp[0-9]/rank\1/; s/8800000000/5000000000/; s/9910000000/6000000000/' job >plain
"$MEMTOOL" ranks plain --pp 4 | tail -14
"$MEMTOOL" ranks plain --tp 2 --dp 2 --json | sed -n '/"stages"/,/]/p' | tr -d '\n\t'
echo
"$MEMTOOL" ranks plain --pp 4 --csv | head -n 4
"$MEMTOOL" ranks plain --pp 3
# A rank on the device of another one, where the others have one each.
"$MEMTOOL" convert --format json "$TESTDATA/good/graphs.pickle" -o g.json
for i in 0 1 2 3; do
    d=$i; [ $i = 3 ] && d=2
    empty=
    for k in 1 2 3; do [ $k -le $d ] && empty="$empty[], "; done
    sed "s/\"device\": *0/\"device\": $d/g; s/\"device_traces\": *\[/&$empty/" g.json >rank$i.json
done
"$MEMTOOL" ranks rank?.json | tail -4
# The dumps that memtool capture made of one process are one rank.
cp "$TESTDATA/good/frag_oom.pickle" rank1.exit.pickle
cp "$TESTDATA/good/frag_oom.pickle" rank1.pickle
cp "$TESTDATA/good/graphs.pickle" rank0.signal.2.pickle
cp "$TESTDATA/good/graphs.pickle" rank0.pickle
"$MEMTOOL" ranks rank?.signal* rank?.exit* rank?.pickle | head -8
# Two jobs in one folder.
"$MEMTOOL" ranks "$TESTDATA"/jobs/ddp_rank?.pickle.gz "$TESTDATA"/jobs/fsdp_rank?.pickle.gz | sed -n 1,2p
