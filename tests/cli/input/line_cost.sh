# SPDX-License-Identifier: MIT
# One line of many prints of memory: a progress bar's, a message that names 100,000 processes, and a list of
# 60,000 memory_stats().
oom='CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.'
awk -v oom="$oom" 'BEGIN { for (i = 0; i < 200000; i++) printf "step %d loss 1 mem %d MiB\r", i, i; print oom }' >bar.log
awk -v oom="$oom" 'BEGIN { printf "%s", oom; for (i = 0; i < 100000; i++) printf " Process %d has 7.98 GiB memory in use.", i; print "" }' >processes.log
for log in bar processes; do
    (ulimit -t 4 && "$MEMTOOL" triage -q $log.log >/dev/null)
    echo "$log: exit $?"
done 2>&1
awk 'BEGIN { for (i = 0; i < 60000; i++)
    printf "%s{\"allocated_bytes.all.current\": %d, \"reserved_bytes.all.current\": 99999}", i ? ", " : "[", i; print "]" }' >stats.json
for verb in triage stats summary leaks; do
    (ulimit -t 4 && "$MEMTOOL" $verb -q stats.json >/dev/null)
    echo "$verb of figures: exit $?"
done 2>&1
