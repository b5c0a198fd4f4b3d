# SPDX-License-Identifier: MIT
# Files of 150 KB, or 750 KB with a name of 600 KB, that name far more than they hold, by every verb that reads one: 5 s of processor
# time and 1 GiB of addresses each (but for the address sanitizer). Prints what ended otherwise than
# with 0, and which files no verb reads.
command -v python3 >/dev/null || exit 0
python3 "$TESTDATA/../tests/support/hostile.py" . 150000
python3 - "$MEMTOOL" <<'PYTHON'
import glob, os, resource, subprocess, sys
VERBS = """info; stats; stats --not-frame a.*b; triage; peak; peak --by folder; peak --by annotation; leaks; frag; simulate; trace; segments; memory; summary; check --max-peak 1GiB
simulate -o a.pickle; convert -o b.pickle --max-output 32MiB; convert -o c.json --max-output 32MiB; convert --events 0:3 -o d.pickle --max-output 32MiB
convert --format folded -o e; convert --format speedscope -o f; convert --format pprof -o g
convert --format perfetto -o h --max-output 32MiB; convert --format csv -o i; trace_plot -o j.svg; trace_plot -o k.html
trace_plot --ascii; segment_plot -o l.svg""".replace("\n", "; ").split("; ")


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60) if "ASAN_OPTIONS" in os.environ else (5, 5))
    if not os.environ.get("ASAN_OPTIONS"):
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


for path in sorted(glob.glob("*[a-z]?.pickle")):
    for verb in VERBS:
        done = subprocess.run([sys.argv[1], *verb.split(), "-q", path, *["-f"] * ("-o" in verb)],
                              preexec_fn=limit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            print(path, verb, done.returncode, done.stderr.decode().split("\n")[0])
        if done.returncode == 6 and verb == "info":
            break
PYTHON
