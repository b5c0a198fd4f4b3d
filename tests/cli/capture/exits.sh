# SPDX-License-Identifier: MIT
# The program's exit code and signals are memtool's own; its streams are passed through.
try() {
    ("$MEMTOOL" capture -q "$@")
    echo "exit $?"
}
try -- sh -c 'exit 7' 2>&1
try -- sh -c 'kill -TERM $$' 2>/dev/null
echo input | try -- cat
try -- /nonexistent/program 2>&1
touch there.pickle
try -o there.pickle -- true 2>&1
try 2>&1
: >out
# A signal sent to memtool reaches the program.
"$MEMTOOL" capture -q -- sh -c 'trap "echo got it; exit 3" USR1; echo ready; while :; do sleep 0.05; done' >out &
until grep -q ready out; do sleep 0.05; done
kill -USR1 $!
wait $!
echo "exit $?"
cat out
