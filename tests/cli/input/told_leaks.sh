# SPDX-License-Identifier: MIT
# Growth in files beside snapshots: by the ranges of a trace, by what repeats in a log of RMM. What such
# a file does not tell of reserved memory is not said, and ranks refuses what has no sums.
{
    echo 'Thread,Time,Action,Pointer,Size,Stream'
    for i in $(seq 1 12); do
        s=$((i + 10))
        echo "1,10:00:$s:000001,allocate,0x$((i + 10))000000,2000000,0x0"
        echo "1,10:00:$s:000002,allocate,0x100,5000,0x0"
        echo "1,10:00:$s:000003,allocate,0x9000,70000,0x0"
        echo "1,10:00:$s:000004,free,0x100,5000,0x0"
        echo "1,10:00:$s:000005,free,0x9000,70000,0x0"
    done
} > rmm.csv
"$MEMTOOL" leaks --period 5 rmm.csv
"$MEMTOOL" leaks --json --period 5 rmm.csv | grep -e verdict -e bytes_per_step | head -n 4
{
    printf '{"traceEvents":['
    for i in $(seq 1 9); do
        t=$((i * 1000))
        printf '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":1,"tid":1,"ts":%d,"dur":900},' $i $t
        printf '{"ph":"X","cat":"python_function","name":"train.py(7): keep","pid":1,"tid":1,"ts":%d,"dur":100},' $((t + 10))
        printf '{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":%d,"args":{"Bytes":2000000,"Addr":%d,"Device Id":0,"Device Type":1,"Total Allocated":%d,"Total Reserved":%d}},' $((t + 20)) $((i * 9000000)) $((i * 2000000)) $((i * 4000000))
    done
    printf '{}]}'
} > trace.json
"$MEMTOOL" leaks trace.json
"$MEMTOOL" ranks rmm.csv
