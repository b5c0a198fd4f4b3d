# SPDX-License-Identifier: MIT
# On terminals of 80 and 40 columns only what is pasted or named by the user goes beyond the edge:
# commands, code, file names; and headings, on the narrower one.
cp "$TESTDATA/demo/snap.pickle.gz" s
cp "$TESTDATA/demo/train.log" l
cp "$TESTDATA/good/record_train.pickle" r
cat >wide.py <<'P'
import fcntl, os, pty, struct, sys, termios, unicodedata
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
calls = ["info s", "info -v s", "info r", "peak s", "peak --by category s", "simulate s",
         "simulate r", "simulate --conf expandable_segments:True s", "ranks s s", "memory s",
         "frag s", "stats s", "stats r", "compare s s", "estimate --params 7B", "conf expandable_segments:True",
         "explain", "--help", "peak --help"]
for width in 80, 40:
    for call in calls:
        for line in run(width, call.split()):
            code = call.startswith("triage") and line.startswith(" " * 6)
            if len(line) > width and not code:
                print(width, call, line, sep=" | ")
P
python3 wide.py
