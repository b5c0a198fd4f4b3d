# SPDX-License-Identifier: MIT
# 8,000 of one thing in a file, by the verbs that do most with it: 3 s of processor time each. Prints what took more,
# or ended as it should not; that it is too much work is an answer.
command -v python3 >/dev/null || exit 0
python3 "$TESTDATA/../tests/support/many.py" . 8000
python3 - "$MEMTOOL" <<'PYTHON'
import glob, os, resource, subprocess, sys
VERBS = ["simulate --capacity 1GiB", "triage", "stats --json", "leaks", "trace_plot -f -o a.svg"]
SECONDS = 60 if "ASAN_OPTIONS" in os.environ else 3


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


for path in sorted(glob.glob("*.pickle")):
    for verb in VERBS:
        done = subprocess.run([sys.argv[1], *verb.split(), "-q", path], preexec_fn=limit,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        too_much = done.returncode == 6 and b": too much work: " in done.stderr
        if done.returncode not in (0, 1) and not too_much:
            print(path, verb, done.returncode, done.stderr.decode().split("\n")[0])
PYTHON
