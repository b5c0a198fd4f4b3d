#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types into a real shell, with the TAB key, and compares what memtool was called with.

usage: complete_in.py bash|zsh|fish PREFIX       (PREFIX: where memtool is installed)

The shell runs in a terminal of its own, in a home of its own, and finds the completion as a user's
would: under PREFIX/share. A memtool that only notes its arguments stands in front of the real one.
"""
import os
import pathlib
import pty
import select
import signal
import sys
import tempfile
import time

SECONDS = 30  # until the shell has answered; it takes a fraction of one

TYPED = [
    ("memtool -\t\x15", None),  # nothing to complete, and ^U: the line is gone, the shell is not
    ("memtool sta\t--js\t", "stats --json"),
    ("memtool completion z\t", "completion zsh"),
    ("memtool -q pe\tsna\t", "-q peak snap.pickle"),
    ("memtool --color never pe\tsna\t", "--color never peak snap.pickle"),
    ("memtool explain fragm\t", "explain fragmentation"),
    ("memtool help sta\t", "help stats"),
    ("memtool peak --at oo\tsna\t", "peak --at oom snap.pickle"),
    ("memtool capture --mode re\t-- progr\t", "capture --mode record -- program_of_mine"),
    ("memtool trace_plot --the\tda\tsna\t", "trace_plot --theme dark snap.pickle"),
]

START = {
    "bash": ["bash", "--noprofile", "--rcfile", "RC", "-i"],
    "zsh": ["zsh", "-i"],
    "fish": ["fish", "-i", "-C", "function fish_prompt; echo 'READY> '; end; function fish_greeting; end"],
}
# How a user's shell comes by the file: bash-completion loads it on demand, zsh through fpath.
BASH_RC = """PS1='READY> '
HISTFILE=
loader=/usr/share/bash-completion/bash_completion
if [ -r $loader ]; then . $loader; else . 'PREFIX/share/bash-completion/completions/memtool'; fi
"""
ZSH_RC = """PS1='READY> '
fpath=('PREFIX/share/zsh/site-functions' $fpath)
autoload -Uz compinit && compinit -u -D
"""


class Terminal:
    def __init__(self, command, folder, environment):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                pass

    def wait(self, done):
        end = time.monotonic() + SECONDS
        while not done() and time.monotonic() < end:
            self.read(0.05)
        return done()

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def prepare(home, prefix):
    """A home with the shells' start files, a memtool that notes its arguments, and a snapshot."""
    (home / "bin").mkdir()
    (home / "work").mkdir()
    (home / "work/snap.pickle").touch()
    note = home / "bin/memtool"
    note.write_text(f"#!/bin/sh\necho \"$*\" >'{home}/new' && mv '{home}/new' '{home}/called'\n")
    note.chmod(0o755)
    (home / "bin/program_of_mine").symlink_to(note)
    (home / "rc").write_text(BASH_RC.replace("PREFIX", prefix))
    (home / ".zshrc").write_text(ZSH_RC.replace("PREFIX", prefix))
    kept = {k: v for k, v in os.environ.items() if k in ("LANG", "LC_ALL", "TMPDIR")}
    return {**kept, "HOME": str(home), "ZDOTDIR": str(home), "TERM": "xterm", "PS1": "READY> ",
            "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home / "data"),
            "XDG_DATA_DIRS": f"{prefix}/share:/usr/local/share:/usr/share",
            "PATH": f"{home}/bin:{os.environ['PATH']}"}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in START:
        sys.exit(__doc__)
    shell, prefix = sys.argv[1], os.path.abspath(sys.argv[2])
    wrong = []
    with tempfile.TemporaryDirectory(prefix="memtool-complete.", ignore_cleanup_errors=True) as d:
        home = pathlib.Path(d)
        environment = prepare(home, prefix)
        command = [word.replace("RC", str(home / "rc")) for word in START[shell]]
        terminal = Terminal(command, home / "work", environment)
        called = home / "called"
        if not terminal.wait(lambda: b"READY" in terminal.seen):
            wrong.append("no prompt")
        for text, expected in [] if wrong else TYPED:
            terminal.type(text)
            if expected is None:
                continue
            terminal.type("\r")
            terminal.wait(called.exists)
            got = called.read_text().strip() if called.exists() else "nothing"
            called.unlink(missing_ok=True)
            if got != expected:
                wrong.append(f"{text!r} became {got!r}, not {expected!r}")
        terminal.type("exit\r")
        terminal.close()
        if wrong:
            sys.exit("\n".join(wrong) + "\n" + terminal.seen.decode(errors="replace")[-2000:])


main()
