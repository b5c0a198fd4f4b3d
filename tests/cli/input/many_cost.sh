# SPDX-License-Identifier: MIT
# 4,000 of one thing in a file, by the verbs that do most with it: 2 s of user time each. Prints what took more,
# or ended as it should not; that it is too much work is an answer, which names the limit.
command -v python3 >/dev/null || exit 0
python3 "$TESTDATA/../tests/support/many.py" . 4000
python3 - "$MEMTOOL" <<'PYTHON'
import concurrent.futures, glob, os, resource, subprocess, sys
VERBS = ["simulate --capacity 1GiB", "triage", "stats --json", "leaks", "trace_plot -f -o "]
SECONDS = 60 if "ASAN_OPTIONS" in os.environ else 2


def run(path, verb):
    line = verb + path + ".svg" if verb.endswith(" ") else verb
    hard = (10 * SECONDS, 10 * SECONDS)
    child = subprocess.Popen([sys.argv[1], *line.split(), "-q", path], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, hard))
    said = child.stderr.read().decode()
    status, used = os.wait4(child.pid, 0)[1:]
    child.returncode = code = os.waitstatus_to_exitcode(status)
    too_much = code == 6 and ": too much work: " in said and "hint: the limit is " in said
    if code not in (0, 1) and not too_much or used.ru_utime > SECONDS:
        return f"{path} {verb}: {code}, {used.ru_utime:.1f} s: {said}"


with concurrent.futures.ThreadPoolExecutor(2) as two:
    for wrong in two.map(lambda job: run(*job), [(p, v) for p in sorted(glob.glob("*.pickle")) for v in VERBS]):
        if wrong:
            print(wrong)
PYTHON
