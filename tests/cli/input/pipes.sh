# A named pipe can be read once only; each verb gives the answer that it gives for the file.
mkdir file pipe
mkfifo pipe/in
snap=$TESTDATA/good/graphs.pickle
try() { # FILE VERB...
    cp "$1" file/in
    shift
    (cd file && "$MEMTOOL" "$@" in >../of_file 2>&1)
    cat file/in >pipe/in 2>/dev/null &
    (cd pipe && timeout 10 "$MEMTOOL" "$@" in >../of_pipe 2>&1)
    echo "$?: $*"
    cmp of_file of_pipe
    wait
}
for verb in info stats peak leaks frag segments memory trace summary conf simulate ranks triage segment_plot; do
    try "$snap" "$verb"
done
try "$snap" check --max-peak 1GiB
try "$snap" estimate --params 7M --against
try "$snap" convert -o - --format json
"$MEMTOOL" peak --json "$snap" >results.json
try results.json ranks
try "$TESTDATA/logs/limit.log" triage
{
    echo 'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64'
    echo done
} >job.log
try job.log conf
# and standard input
"$MEMTOOL" triage - <"$snap" | head -2
"$MEMTOOL" conf - <job.log | head -2
"$MEMTOOL" ranks - <results.json | head -1
# without a verb: triage reads any kind from a pipe, and its first bytes are still in it
cp "$snap" file/in
cat "$snap" >pipe/in &
(cd file && "$MEMTOOL" triage in) >of_file
(cd pipe && timeout 10 "$MEMTOOL" -q in) >of_pipe
cmp of_file of_pipe && echo same
