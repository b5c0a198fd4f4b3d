# A signal while an output file is being written leaves nothing of it, whatever the signal.
exec 2>/dev/null # the shell's own "Killed"
mkfifo pipe
sleep 20 >pipe &
holder=$!
for signal in HUP INT TERM KILL; do
    timeout -s "$signal" 0.5 "$MEMTOOL" stats pipe -o out.txt
    echo "$signal: $?"
done
kill "$holder"
rm pipe
ls -A
