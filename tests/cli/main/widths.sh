# SPDX-License-Identifier: MIT
# On terminals of 80, 60 and 40 columns only what is pasted or has no blanks goes beyond the edge:
# commands, code, file names, the table of memory_summary(). No line ends in blanks either.
cp "$TESTDATA/demo/snap.pickle.gz" s
cp "$TESTDATA/demo/train.log" l
cp "$TESTDATA/good/record_train.pickle" r
cp "$TESTDATA/good/frag_oom.pickle" f
cp "$TESTDATA/good/graphs.pickle" g
cp "$TESTDATA/good/streams.pickle" p
cp "$TESTDATA/good/newest_keys.pickle" k
cp "$TESTDATA/good/no_traces.pickle" n
cp "$TESTDATA/good/leak.pickle.gz" m
cp "$TESTDATA/good/torch20_history_oom.pickle.gz" h
cat >wide.py <<'P'
import fcntl, os, pty, re, struct, termios
def run(width, arguments):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 200, width, 0, 0))
        os.execv(os.environ["MEMTOOL"], ["memtool", "--no-pager"] + arguments)
    text = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.waitpid(pid, 0)
    return text.decode().replace("\r", "").split("\n")
calls = """
info s; info -v s; info r; info k; info n; peak s; peak --by category s; peak --stack full -n 4 h
simulate s; simulate r; simulate --conf expandable_segments:True s; ranks s r; memory s
memory --stack full -n 3 h; frag s; frag -v f; frag g; frag --at oom s; stats s; stats r; stats -v g
stats --exact p; compare s s; compare --segments --stack 3 g p; estimate --params 7B
estimate --params 7B --zero 3 --ranks 8 --card 80GiB; estimate --table; conf expandable_segments:True
conf max_split_size_mb:1; conf s; explain; explain allocated; explain myths; explain event
trace -n 20 p; trace -v -n 20 k; trace --exact --events 490: f; trace n; segments -n 5 p
segments -v -n 5 p; segments -v -n 3 g; leaks m; leaks --pending --temporary p; leaks g
triage l; triage -v l; triage f; triage l s; triage r; summary s; check --max-peak 1GiB s
check -v --max-frag 5% --max-reserved 1GiB s; segment_plot p; segment_plot --at oom f; trace_plot f
--help; peak --help; convert -h; summary -h; estimate -h
"""
for width in 80, 60, 40:
    for call in calls.replace("\n", ";").split(";"):
        for line in run(width, call.split()) if call.strip() else []:
            plain = re.sub("\x1b\\[[0-9;]*m", "", line)
            code = plain.startswith("|") or plain.startswith(" " * 6) and "triage" in call
            code |= re.match(" *(memtool|export|next: memtool|--[a-z]+) ", plain) is not None
            if len(plain) > width and len(plain.split()) > 1 and not code or plain != plain.rstrip():
                print(width, call, plain, sep=" | ")
P
python3 wide.py
echo "all lines were looked at"
